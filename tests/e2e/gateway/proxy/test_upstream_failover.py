"""Several upstreams of which some cannot be reached. The promise: a request of which nothing was sent goes to another
one, and a request of which something was sent goes to none."""

import collections
import hashlib
import socket
import threading

import pytest

from harness.clients.http_client import ConnectionEnded
from harness.ports import free_port
from harness.semel import Background, assert_problem, assert_replay, eventually, new_key, scaled

BODY = {"amount": 100}
CLIENTS = 8


def refused():
    """A URL at which nobody listens."""
    return f"http://127.0.0.1:{free_port()}"


def of(name, url, route="/*"):
    return f"{name}{{route={route},upstream={url}}}"


def test_one_of_three_is_killed_under_load(start_gateway, mortal_upstreams):
    ups = mortal_upstreams(3)
    gateway = start_gateway({"path": "/*", "upstream": [up.url for up in ups]})
    answers, cut_off, enough, killed = [], [], threading.Event(), threading.Event()

    def send(client):
        """Sends requests with a key and without one, until the kill was a while ago."""
        left = 40
        while left:
            left -= killed.is_set()
            name = new_key()
            key = name if len(answers) % 2 else None
            try:
                answers.append((name, key, gateway.post(f"/{name}", json=BODY, key=key)))
            except ConnectionEnded:
                cut_off.append(key)
            if len(answers) > 150:
                enough.set()
    clients = [Background(send, n) for n in range(CLIENTS)]
    assert enough.wait(60)
    ups[0].kill9()
    killed.set()
    for client in clients:
        client.result()

    arrivals = collections.Counter(path for up in ups for _, path in up.journal())
    assert max(arrivals.values()) == 1  # nothing was sent twice, counted where it arrives
    failed = [(key, answer) for _, key, answer in answers if answer.status != 200]
    assert len(failed) + len(cut_off) <= CLIENTS  # what was on its way at that moment, at most
    assert not any(cut_off)  # without a key, the answer passes through as it comes
    for key, answer in failed:
        problem = assert_problem(answer, 502, "upstream-unreachable")
        assert key is None or not problem["new_key_safe"]  # it had been sent
    for name, _, answer in answers:
        assert answer.status != 200 or arrivals[f"/{name}"] == 1
    assert gateway.metrics()[of("semel_upstream_failures_total", ups[0].url)] >= 1
    for name, key, answer in answers[-20:]:
        if key and answer.status == 200:
            assert_replay(gateway.post(f"/{name}", json=BODY, key=key), answer)


@pytest.mark.parametrize("balance", ["round_robin", "least_connections"])
def test_what_was_not_sent_goes_to_the_next_one(start_gateway, upstream, balance):
    dead = refused()
    gateway = start_gateway({"path": "/*", "upstream": [dead, refused(), upstream.url], "fail_after": 0,
                             "balance": balance}, workers=1)
    for n in range(6):
        key = new_key()
        assert gateway.post("/keyed", json=BODY, key=key).status == 200
        assert gateway.post("/plain", json=BODY).status == 200
        assert gateway.get("/read").status == 200
        assert upstream.last(key=key)["attempt"] == "1"
        assert gateway.record(key)["state"] == "completed"
    assert upstream.effects() == 12
    assert gateway.metrics()[of("semel_upstream_failures_total", dead)] >= 6
    assert gateway.metrics()[of("semel_upstream_up", dead)] == 1  # fail_after: 0


def test_a_failed_handshake_leads_to_the_next_one(start_gateway, upstream, certificates):
    """The first has a certificate that nobody trusts."""
    unknown = upstream.listen_tls(certificates.server)
    gateway = start_gateway({"path": "/*", "upstream": [unknown, upstream.url], "fail_after": 0}, workers=1)
    for _ in range(4):
        assert gateway.post("/", json=BODY, key=new_key()).status == 200
        assert gateway.post("/", json=BODY).status == 200
    assert gateway.metrics()[of("semel_upstream_failures_total", unknown)] >= 4
    assert upstream.effects() == 8


def test_a_connection_that_is_never_made_leads_to_the_next_one(start_gateway, upstream):
    """A listener with a full queue answers no SYN."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = "http://127.0.0.1:%d" % full.getsockname()[1]
        gateway = start_gateway({"path": "/*", "upstream": [url, upstream.url], "fail_after": 1,
                                 "connect_timeout": scaled(300), "eject_for": "1h"}, workers=1)
        assert gateway.post("/", json=BODY, key=new_key()).status == 200
        assert gateway.post("/", json=BODY).status == 200
        assert gateway.metrics()[of("semel_upstream_ejected", url)] == 1
        for one in waiting:
            one.close()


def test_each_upstream_has_its_own_base_path(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "upstream": [refused() + "/one", upstream.url + "/two"], "fail_after": 0},
                            workers=1)
    for _ in range(2):
        assert gateway.post("/x", json=BODY, key=new_key()).status == 200
        assert gateway.post("/x", json=BODY).status == 200
    assert {r["path"] for r in upstream.requests()} == {"/two/x"}


def test_an_upload_that_was_not_begun_goes_to_the_next_one(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "upstream": [refused(), upstream.url], "fail_after": 0}, workers=1)
    body = bytes(range(256)) * 2048
    for n in range(4):
        assert gateway.post(f"/{n}", body, chunked=n % 2).status == 200
        assert upstream.last(path=f"/{n}")["digest"] == hashlib.sha256(body).hexdigest()
    assert upstream.effects() == 4


@pytest.mark.parametrize("keyed", [True, False])
def test_what_was_sent_goes_nowhere_else(start_gateway, upstream, raw_upstream, keyed):
    """The first reads the request and hangs up: it may have acted on it."""
    seen = []

    def serve(peer, number):
        seen.append(peer.read_request())
        peer.reset()
    rude = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": [rude.url, upstream.url]}, workers=1)
    key = new_key()
    assert_problem(gateway.post("/", json=BODY, key=key if keyed else None), 502, "upstream-unreachable")
    assert (len(seen), upstream.arrived()) == (1, 0)
    if keyed:
        assert_problem(gateway.post("/", json=BODY, key=key), 409, "outcome-unknown")
        assert (len(seen), upstream.arrived()) == (1, 0)


@pytest.mark.parametrize("keyed", [True, False])
def test_what_was_sent_in_part_goes_nowhere_else(start_gateway, upstream, raw_upstream, keyed):
    """The first hangs up in the middle of a body that is larger than all the buffers on the way."""
    seen = []

    def serve(peer, number):
        seen.append(peer.read_head())
        peer.reset()
    rude = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": [rude.url, upstream.url], "max_request_body": "32MiB"},
                            workers=1)
    answer = gateway.post("/", b"x" * (24 << 20), key=new_key() if keyed else None)
    assert_problem(answer, 502, "upstream-unreachable")
    assert (len(seen), upstream.arrived()) == (1, 0)


def test_what_may_be_repeated_goes_to_the_same_one_only(start_gateway, upstream, raw_upstream):
    """A PUT may be sent again to a server that closed an idle connection, but not to another server: the first one may
    have taken it."""
    taken = []

    def serve(peer, number):
        while request := peer.read_request():
            taken.append(request.split(b" ")[1].decode())
            if len(taken) > 1:
                dying.stop_listening()
                return
            peer.answer()
    dying = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": [dying.url, upstream.url]}, workers=1)
    answers = {f"/{n}": gateway.request("PUT", f"/{n}", json=BODY).status for n in range(6)}
    assert len(taken) == 2 and answers[taken[1]] == 502
    assert upstream.arrived() == len(answers) - len(taken)


def test_if_none_can_be_reached_the_key_is_released(start_gateway, mortal_upstreams, key):
    ups = mortal_upstreams(2)
    for up in ups:
        up.kill9()
    gateway = start_gateway({"path": "/*", "upstream": [up.url for up in ups]})
    for _ in range(4):
        problem = assert_problem(gateway.post("/", json=BODY, key=key), 502, "upstream-unreachable")
        assert problem["new_key_safe"]
    assert_problem(gateway.post("/", json=BODY), 502, "upstream-unreachable")
    ups[1].start()
    # Both are ejected by now, and are tried all the same.
    assert gateway.metrics()[of("semel_upstream_ejected", ups[1].url)] == 1
    assert gateway.post("/", json=BODY, key=key).status == 200
    assert ups[1].effects() == 1


def test_an_upstream_that_fails_is_ejected(start_gateway, upstream):
    dead = refused()
    gateway = start_gateway({"path": "/*", "upstream": [dead, upstream.url], "fail_after": 2, "eject_for": "1h"},
                            workers=1)
    for _ in range(20):
        assert gateway.post("/", key=new_key()).status == 200
    metrics = gateway.metrics()
    assert (metrics[of("semel_upstream_up", dead)], metrics[of("semel_upstream_ejected", dead)]) == (0, 1)
    assert metrics[of("semel_upstream_failures_total", dead)] == 2  # and nobody has tried it since
    assert metrics[of("semel_upstream_up", upstream.url)] == 1
    ready = gateway.admin("/readyz")
    assert (ready.status, ready.body) == (200, b"ready\nroute /*: 1 of 2 upstreams left out\n")
    assert "upstream ejected" in gateway.stderr()


def test_an_upstream_returns(start_gateway, mortal_upstreams):
    ups = mortal_upstreams(2)
    gateway = start_gateway({"path": "/*", "upstream": [up.url for up in ups], "fail_after": 2,
                             "eject_for": scaled(200)}, workers=1)

    def sees(up):
        assert gateway.post("/", key=new_key()).status == 200
        return gateway.metrics()[of("semel_upstream_up", ups[0].url)] == up
    ups[0].kill9()
    eventually(lambda: sees(0))
    ups[0].start()
    eventually(lambda: sees(1))
    before = ups[0].arrived()
    for _ in range(10):
        assert gateway.post("/", key=new_key()).status == 200
    assert ups[0].arrived() == before + 5
    assert gateway.admin("/readyz").body == b"ready\n"
    eventually(lambda: "upstream is back" in gateway.stderr())


def test_the_least_busy_one_is_chosen(start_gateway, mortal_upstreams):
    slow, quick = mortal_upstreams(2)
    gateway = start_gateway({"path": "/*", "upstream": [slow.url, quick.url], "balance": "least_connections"},
                            workers=2)
    held = []
    for count in range(1, 9):  # one by one: requests that come at the same moment see the same load
        held.append(Background(gateway.post, "/", key=new_key(), test="gate=g"))
        eventually(lambda: slow.arrived() + quick.arrived() == count)
    assert slow.arrived() == quick.arrived() == 4
    quick.open_gate("g")
    eventually(lambda: gateway.metrics()[of("semel_upstream_connections", quick.url)] == 0)
    assert gateway.metrics()[of("semel_upstream_connections", slow.url)] == 4
    for _ in range(6):
        assert gateway.post("/", key=new_key()).status == 200
    assert (slow.arrived(), quick.arrived()) == (4, 10)
    slow.open_gate("g")
    assert [one.result().status for one in held] == [200] * 8


def test_a_reload_keeps_what_is_known_of_unchanged_upstreams(start_gateway, upstream):
    dead, other = refused(), refused()
    route = {"path": "/*", "upstream": [dead, upstream.url], "fail_after": 1, "eject_for": "1h"}
    gateway = start_gateway(route, workers=1)
    for _ in range(2):
        assert gateway.post("/", key=new_key()).status == 200
    assert gateway.metrics()[of("semel_upstream_ejected", dead)] == 1
    assert gateway.reload(routes=[{**route, "upstream": [other, dead, upstream.url]}])
    metrics = gateway.metrics()
    assert metrics[of("semel_upstream_ejected", dead)] == 1
    assert metrics[of("semel_upstream_ejected", other)] == 0
    assert metrics[of("semel_upstream_failures_total", dead)] == 1
    assert gateway.reload(routes=[{**route, "upstream": upstream.url}])
    assert of("semel_upstream_up", dead) not in gateway.metrics()
    assert gateway.post("/", key=new_key()).status == 200
