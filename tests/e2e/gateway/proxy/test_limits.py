"""Limits on the cost of one client: connections, slow senders, large bodies and executions are
bounded, and a client over a bound is told so."""

import os
import resource
import socket
import time

import pytest

from harness.clients.http_client import Connection, ConnectionEnded, request_bytes
from harness.semel import (TIME_SCALE, Background, Gateway, assert_problem, eventually, new_key,
                           scaled)

BODY = {"amount": 100}
LIMIT = 64 * 1024


@pytest.fixture(scope="module")
def slow(module_gateway):
    """Impatient with slow clients, and with large keyed bodies."""
    return module_gateway({"name": "keyed", "path": "/keyed", "max_request_body": "64KiB"},
                          {"name": "everything", "path": "/*"},
                          limits={"header_timeout": scaled(500), "body_timeout": scaled(500)})


def test_a_header_that_does_not_come_is_408(slow, upstream):
    with slow.connect() as connection:
        connection.send(b"POST /keyed HTTP/1.1\r\nHost: h\r\n")
        assert connection.read_response().status == 408
        assert connection.ended()
    assert upstream.arrived() == 0


def test_a_header_that_drips_is_408_too(slow, upstream):
    """The limit is on the whole header, not on the pause between two bytes."""
    with slow.connect() as connection:
        connection.send(b"POST /keyed HTTP/1.1\r\nHost: h\r\n")
        connection.socket.settimeout(0.1)
        status = b""
        for _ in range(int(50 * TIME_SCALE)):
            try:
                connection.send(b"x")
                status = connection.socket.recv(4096)
                break
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                break
        else:
            raise AssertionError("still waiting for the header")
        assert status.startswith(b"HTTP/1.1 408") or status == b""
    assert upstream.arrived() == 0


def drip(connection, drop=b"x"):
    """Sends drop by drop, each well in time, until the gateway has enough. What it says then."""
    connection.socket.settimeout(0.1 * TIME_SCALE)
    for _ in range(50):
        try:
            connection.send(drop)
            return connection.socket.recv(4096)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return b""
    raise AssertionError("still waiting for the body")


def test_a_body_that_drips_is_408_too(slow, upstream, key):
    """Each byte comes in time, but the whole would take for ever."""
    with slow.connect() as connection:
        connection.send(b"POST /keyed HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n"
                        b"Idempotency-Key: " + key.encode() + b"\r\n\r\n")
        status = drip(connection)
        assert status.startswith(b"HTTP/1.1 408") or status == b""
    assert upstream.arrived() == 0


@pytest.mark.parametrize("framing, drop", [("Content-Length: 1000", b"x"),
                                           ("Content-Length: 1000000", b"x"),
                                           ("Transfer-Encoding: chunked", b"1\r\nx\r\n")])
def test_a_plain_body_that_drips_is_408_too(slow, upstream, framing, drop):
    with slow.connect() as connection:
        connection.send(f"POST /plain HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n".encode())
        status = drip(connection, drop)
        assert status.startswith(b"HTTP/1.1 408") or status == b""
    assert upstream.effects() == 0


def test_short_plain_bodies_that_do_not_come_take_no_place(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 4})
    crowd = [gateway.connect() for _ in range(12)]
    try:
        for connection in crowd:
            connection.send(b"POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\nx")
        eventually(lambda: gateway.metrics()["semel_connections"] >= len(crowd))
        for key in (None, new_key()):
            assert gateway.post("/other", json=BODY, key=key).status == 200
        crowd[0].send(b"x" * 59_999)
        assert crowd[0].read_response().status == 200
        assert upstream.last(path="/slow")["bytes"] == 60_000
        assert upstream.arrived(path="/slow") == 1
    finally:
        for connection in crowd:
            connection.close()


def test_a_connection_without_a_request_is_closed(slow, upstream):
    with slow.connect() as connection:
        try:
            assert connection.read_response().status == 408
        except ConnectionEnded:
            pass


@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_keyed_body_that_does_not_come_is_408_and_claims_nothing(slow, upstream, key, framing):
    with slow.connect() as connection:
        connection.send(f"POST /keyed HTTP/1.1\r\nHost: h\r\nIdempotency-Key: {key}\r\n{framing}"
                        "\r\n\r\n5\r\nhel".encode())
        assert connection.read_response().status == 408
        assert connection.ended()
    assert upstream.arrived() == 0
    assert slow.post("/keyed", json=BODY, key=key).status == 200


def test_a_plain_body_that_does_not_come_ends_the_request(slow, upstream):
    with slow.connect() as connection:
        connection.send(b"POST /plain HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nhello")
        upstream.wait_arrived(1)
        assert connection.read_response().status == 408
        assert connection.ended()
    assert upstream.effects() == 0


@pytest.mark.parametrize("chunked", [False, True])
def test_a_keyed_body_that_is_too_large_is_413(slow, upstream, key, chunked):
    with slow.connect() as connection:
        try:
            connection.send(request_bytes("POST", "/keyed", b"x" * (LIMIT + 1), key=key,
                                          chunked=chunked))
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert_problem(connection.read_response(), 413, "body-too-large")
    assert upstream.arrived() == 0


def test_a_body_that_says_it_is_too_large_is_refused_at_once(slow, upstream, key):
    with slow.connect() as connection:
        connection.send(request_bytes("POST", "/keyed", key=key, headers={
            "Content-Length": str(1 << 40), "Expect": "100-continue"}))
        answer = connection.read_response()
        assert_problem(answer, 413, "body-too-large")
        assert answer.interim == []
    assert upstream.arrived() == 0


@pytest.mark.parametrize("chunked", [False, True])
def test_a_keyed_body_of_exactly_the_limit_is_taken(slow, upstream, key, chunked):
    assert slow.post("/keyed", b"x" * LIMIT, key=key, chunked=chunked).status == 200
    assert upstream.last(key)["bytes"] == LIMIT


def test_the_limit_on_bodies_is_for_keyed_requests(slow, upstream):
    assert slow.post("/keyed", b"x" * (4 * LIMIT)).status == 200


def test_more_in_flight_than_allowed_is_503(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 2})
    running = [gateway.connect() for _ in range(2)]
    for connection in running:
        connection.send(request_bytes("POST", "/slow", key=new_key(), test="gate=busy"))
    upstream.wait_effects(2)
    for key in (new_key(), None):
        answer = gateway.post("/more", json=BODY, key=key)
        assert_problem(answer, 503, "overloaded")
    assert upstream.arrived() == 2
    upstream.open_gate("busy")
    assert [connection.read_response().status for connection in running] == [200, 200]
    for connection in running:
        connection.close()
    assert gateway.post("/more", json=BODY, key=new_key()).status == 200


def test_what_was_refused_for_overload_may_be_tried_again(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 1})
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", key=new_key(), test="gate=busy"))
        upstream.wait_effects(1)
        refusal = assert_problem(gateway.post("/more", json=BODY, key=key), 503, "overloaded")
        assert refusal["new_key_safe"] is False  # an earlier try may have got through
        upstream.open_gate("busy")
        connection.read_response()
    first = gateway.post("/more", json=BODY, key=key)
    assert first.status == 200 and not first.replayed
    assert upstream.last(key)["attempt"] == "1"


def test_what_ends_badly_gives_its_place_back(start_gateway, upstream):
    """A leak of one place an aborted request would refuse everybody for good."""
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 4})
    for n in range(40):
        test = ["gate=g", "close=reset", "close=mid", "status=503"][n % 4]
        whole = request_bytes("POST", "/", json=BODY, key=new_key(), test=test)
        with gateway.connect() as connection:
            connection.send(whole if n % 3 else whole[:-3])
            connection.reset()
        upstream.open_gate("g")

    def served():
        return all(gateway.post("/", json=BODY, key=key).status == 200
                   for key in (new_key(), None, None, None))
    eventually(served)


def is_served(connection):
    """Or told at once that it is not."""
    begun = time.monotonic()
    try:
        status = connection.request("GET", "/.semel/policy").status
    except (ConnectionEnded, ConnectionResetError, BrokenPipeError):
        status = 503
    assert status in (200, 503) and time.monotonic() - begun < 5 * TIME_SCALE
    return status == 200


def test_out_of_file_descriptors_is_not_the_end(start_gateway, upstream, key):
    """A client that cannot be served is told so at once, and does not wait in the listener's queue."""
    gateway = start_gateway({"path": "/*"}, store="memory")  # which opens no files meanwhile
    before = resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE)
    highest = max(int(n) for n in os.listdir(f"/proc/{gateway.process.pid}/fd"))
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (highest + 2, before[1]))
    first = gateway.connect()
    assert first.request("GET", "/.semel/policy").status == 200
    others = []  # in the gaps between the numbers
    refused = 0
    while refused < 7:
        one_more = gateway.connect()
        if is_served(one_more):
            others.append(one_more)
            assert len(others) < 100
        else:
            one_more.close()
            refused += 1
    first.send(request_bytes("POST", "/", json=BODY, key=key))
    answer = first.read_response()  # it is connected, the executor cannot be
    assert_problem(answer, 502, "upstream-unreachable")
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, before)
    assert first.request("GET", "/").status == 200
    for connection in (first, *others):
        connection.close()
    assert gateway.post("/", json=BODY, key=key).status == 200
    assert [r["attempt"] for r in upstream.requests(key)] == ["2"]


class FewFiles(Gateway):
    """May open only so many files."""

    files = 0

    def command_line(self, config_path):
        return ["prlimit", f"--nofile={self.files}:{self.files}", *super().command_line(config_path)]


def few_files(upstream, files, **limits):
    gateway = FewFiles([{"path": "/*", "upstream": upstream.url}], limits=limits)
    gateway.files = files
    return gateway


def test_limits_are_lowered_to_the_files_that_may_be_opened(upstream, key):
    gateway = few_files(upstream, 1000, connections=2000, in_flight=100)
    gateway.start()
    crowd = []
    try:
        lowered = [line for line in gateway.stderr().splitlines() if "limits lowered" in line]
        assert len(lowered) == 1 and "files=1000" in lowered[0] and "needed=3032" in lowered[0]
        # 168 of 2200 are left for clients: 152 of 2000 connections, 7 of 100 in flight.
        assert "connections=152" in lowered[0] and "in_flight=7" in lowered[0]
        for _ in range(200):
            try:
                crowd.append(gateway.connect())
                crowd[-1].send(b"GET / HTTP/1.1\r\n")
            except (ConnectionResetError, BrokenPipeError):
                pass
        assert "accept failed" not in gateway.stderr()
        assert gateway.admin("/healthz").status == 200
        assert gateway.reload(drain_timeout="6s")  # which lowers them again
        assert gateway.stderr().count("limits lowered") == 2
        for connection in crowd:
            connection.close()
        crowd.clear()

        def served():
            try:
                return gateway.post("/", json=BODY, key=key).status == 200
            except (ConnectionEnded, ConnectionResetError, BrokenPipeError):
                return False
        eventually(served)
    finally:
        for connection in crowd:
            connection.close()
        gateway.discard()


def test_too_few_files_are_refused_at_start(upstream):
    gateway = few_files(upstream, 840, connections=2000, in_flight=100)
    try:
        with pytest.raises(AssertionError, match="exit code 1 before ready"):
            gateway.start()
        assert "may open 840 files" in gateway.stderr() and "need 3032" in gateway.stderr()
    finally:
        gateway.discard()


def held(gateway, upstream, count):
    """Connections whose request is being executed, so that none is idle."""
    crowd = [gateway.connect() for _ in range(count)]
    for connection in crowd:
        connection.send(request_bytes("POST", "/held", test="gate=held"))
    upstream.wait_arrived(count, path="/held")
    return crowd


def refused(gateway, source=None):
    try:
        with gateway.connect(source=source) as connection:
            connection.send(request_bytes("POST", "/one-more"))
            answer = connection.read_response()
            return answer.status == 503 and "connections" in answer.json()["detail"]
    except (ConnectionEnded, ConnectionResetError, BrokenPipeError):
        return True


def test_more_connections_than_allowed_are_closed_at_once(start_gateway, upstream):
    limit = 6
    gateway = start_gateway({"path": "/*"}, limits={"connections": limit, "header_timeout": "60s"})
    crowd = held(gateway, upstream, limit)
    begun = time.monotonic()
    assert refused(gateway)
    assert time.monotonic() - begun < 5 * TIME_SCALE
    assert upstream.arrived(path="/one-more") == 0
    upstream.open_gate("held")
    for connection in crowd:
        connection.close()
    eventually(lambda: gateway.metrics()["semel_connections"] == 0)
    assert gateway.post("/again").status == 200


def test_the_longest_idle_connection_goes_when_another_wants_its_place(start_gateway, upstream):
    limit = 6
    gateway = start_gateway({"path": "/*"}, limits={"connections": limit, "header_timeout": "60s"})
    crowd = held(gateway, upstream, limit - 2)
    idle = [gateway.connect() for _ in range(2)]
    for connection in idle:
        assert connection.request("POST", "/").status == 200
        time.sleep(0.1 * TIME_SCALE)  # idle for longer than the next one, by more than a tick
    with gateway.connect() as newcomer:
        assert newcomer.request("POST", "/new").status == 200
        assert idle[0].ended()
        assert idle[1].request("POST", "/").status == 200
    for connection in (*idle, *crowd):
        connection.close()


def test_one_peer_cannot_take_all_connections(start_gateway, upstream):
    # One worker: each looks for an idle connection among its own.
    gateway = start_gateway({"path": "/*"}, workers=1,
                            limits={"connections": 16, "header_timeout": "60s"})
    crowd = held(gateway, upstream, 12)
    assert refused(gateway)  # the last quarter is the others'
    for source in ("127.0.0.2", "127.0.0.3"):
        with gateway.connect(source=source) as other:
            assert other.request("POST", "/other").status == 200
    # It gets another one for an idle one of its own, and nobody else's goes.
    upstream.open_gate("held")
    for connection in crowd:
        connection.close()
    eventually(lambda: gateway.metrics()["semel_connections"] == 0)
    with gateway.connect(source="127.0.0.2") as other:
        assert other.request("POST", "/other").status == 200
        mine = []
        for _ in range(16):
            mine.append(gateway.connect())
            assert mine[-1].request("POST", "/mine").status == 200
        assert mine[0].ended()
        assert mine[-1].request("POST", "/mine").status == 200
        assert other.request("POST", "/other").status == 200
    for connection in mine:
        connection.close()


def test_a_trusted_proxy_has_no_share(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, limits={"connections": 16, "header_timeout": "60s"},
                            trusted_proxies=["127.0.0.1"])
    crowd = held(gateway, upstream, 15)
    assert gateway.post("/last").status == 200
    for connection in crowd:
        connection.close()


def test_one_peer_cannot_take_all_places_in_flight(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 8})
    crowd = [gateway.connect() for _ in range(6)]
    for connection in crowd:
        connection.send(request_bytes("POST", "/slow", test="gate=busy"))
    upstream.wait_effects(6)
    for key in (None, new_key()):
        assert_problem(gateway.post("/more", json=BODY, key=key), 503, "overloaded")
        assert gateway.post("/more", json=BODY, key=key, source="127.0.0.2").status == 200
    upstream.open_gate("busy")
    assert [connection.read_response().status for connection in crowd] == [200] * 6
    for connection in crowd:
        connection.close()


def test_those_who_ask_nothing_do_not_keep_a_probe_out(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, limits={"connections": 6})
    crowd = [Connection(gateway.admin_address) for _ in range(256)]
    crowd += held(gateway, upstream, 6)
    try:
        crowd[0].send(b"GET /healthz HTTP/1.1\r\n")  # and never the rest
        for _ in range(3):
            assert gateway.admin("/healthz").status == 200
    finally:
        for connection in crowd:
            connection.close()


@pytest.mark.parametrize("target, key", [("/keyed", "too-large"), ("/keyed", "a,b")])
def test_a_refusal_reaches_a_client_that_is_still_sending(slow, upstream, target, key):
    """It sends all it has before it reads: neither a reset nor a broken pipe comes in its way."""
    size = 24 << 20
    with slow.connect() as connection:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        connection.send(request_bytes("POST", target, key=key, headers={"Content-Length": size}))
        sending = Background(connection.send, b"x" * size)
        sending.result()
        answer = connection.read_response()
        assert answer.status == (413 if key == "too-large" else 400)
        assert answer.header("Connection") == "close"
        assert connection.ended() and connection.said_goodbye
    assert upstream.arrived() == 0


def test_every_refused_connection_is_given_back(start_gateway, upstream):
    """A leak of one connection a refusal would shut the gateway for good."""
    gateway = start_gateway({"path": "/*"}, limits={"connections": 16})
    for n in range(100):
        with gateway.connect() as connection:
            connection.send(b"garbage\r\n\r\n" if n % 2 else b"POST / HTTP/1.1\r\n")
            if n % 2:
                assert connection.read_response().status == 400
            else:
                connection.reset()
    eventually(lambda: gateway.metrics()["semel_connections"] <= 2)
    assert gateway.post("/after", key=new_key()).status == 200
