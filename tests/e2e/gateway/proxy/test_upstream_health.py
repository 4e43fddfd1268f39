"""Checks of Semel's own: an upstream that says that it is not well gets no requests, and names are followed."""

import threading

from harness.semel import Background, eventually, new_key, scaled

CHECKS = {"path": "/healthz?deep=1", "interval": scaled(100), "timeout": scaled(1000), "unhealthy_after": 2,
          "healthy_after": 2}


class Patient:
    """Answers requests with its name, and checks with what the test says about its health."""

    def __init__(self, name, raw_upstream):
        self.name, self.status = name, 200
        self.served, self.checks, self.heads = 0, 0, []
        self.hangs = threading.Event()
        self.upstream = raw_upstream(self.serve)
        self.url = self.upstream.url

    def serve(self, peer, number):
        while request := peer.read_request():
            if request.startswith(b"GET /healthz?deep=1 "):
                self.checks += 1
                self.heads.append(request)
                if self.hangs.is_set():
                    peer.wait_closed()
                    return
                peer.answer(b"", status=self.status)
            else:
                self.served += 1
                peer.answer(self.name.encode())


def up(gateway, patient):
    return gateway.metrics()[f"semel_upstream_up{{route=/*,upstream={patient.url}}}"]


def spread(gateway, count):
    """Returns who answered so many requests."""
    return [gateway.post("/", key=new_key()).body.decode() for _ in range(count)]


def test_an_upstream_that_is_not_well_gets_nothing_until_it_is(start_gateway, raw_upstream):
    ill, well = Patient("ill", raw_upstream), Patient("well", raw_upstream)
    gateway = start_gateway({"path": "/*", "upstream": [ill.url, well.url], "health": CHECKS}, workers=2)
    assert set(spread(gateway, 8)) == {"ill", "well"}
    for fault in ("status", "silence"):
        ill.status = 503 if fault == "status" else 200
        if fault == "silence":
            ill.hangs.set()
        eventually(lambda: up(gateway, ill) == 0)
        assert "route /*: 1 of 2 upstreams left out" in gateway.admin("/readyz").body.decode()
        assert set(spread(gateway, 8)) == {"well"}
        ill.status = 200
        ill.hangs.clear()
        eventually(lambda: up(gateway, ill) == 1)
        assert set(spread(gateway, 8)) == {"ill", "well"}
    eventually(lambda: gateway.stderr().count("upstream is up") >= 2)
    assert gateway.stderr().count("upstream is down") >= 2
    host = ill.url.removeprefix("http://")
    assert f"host: {host}\r\n".encode() in ill.heads[0].lower()


def test_if_none_is_well_all_are_used(start_gateway, raw_upstream):
    both = [Patient(name, raw_upstream) for name in "ab"]
    for one in both:
        one.status = 500
    gateway = start_gateway({"path": "/*", "upstream": [one.url for one in both], "health": CHECKS})
    eventually(lambda: [up(gateway, one) for one in both] == [0, 0])
    assert set(spread(gateway, 8)) == {"a", "b"}


def test_after_a_reload_without_checks_nobody_is_asked(start_gateway, raw_upstream):
    one = Patient("one", raw_upstream)
    one.status = 500
    gateway = start_gateway({"path": "/*", "upstream": one.url, "health": CHECKS})
    eventually(lambda: up(gateway, one) == 0)
    assert gateway.reload(routes=[{"path": "/*", "upstream": one.url}])
    assert up(gateway, one) == 1
    other = Patient("other", raw_upstream)
    assert gateway.reload(routes=[{"path": "/*", "upstream": other.url, "health": CHECKS}])
    before = one.checks
    eventually(lambda: other.checks >= 5)
    assert one.checks <= before + 1  # one may have been on its way


def test_every_address_of_a_name_is_an_endpoint(start_gateway, upstream):
    """localhost has an address at which nobody listens on many machines, and one at which somebody does on all."""
    port = upstream.address[1]
    gateway = start_gateway({"path": "/*", "upstream": f"http://localhost:{port}", "eject_for": "1h"}, workers=2)
    name = f"semel_upstream_up{{route=/*,upstream=http://localhost:{port} (127.0.0.1)}}"
    eventually(lambda: name in gateway.metrics())
    for n in range(24):
        assert gateway.post("/", key=new_key() if n % 2 else None).status == 200
    assert upstream.effects() == 24
    metrics = gateway.metrics()
    assert metrics[name] == 1
    for other in (m for m in metrics if m.startswith("semel_upstream_up") and m != name):
        assert metrics[other] == 0  # refused three times, and left out since
    assert f"semel_upstream_up{{route=/*,upstream=http://localhost:{port}}}" not in metrics


def test_a_name_that_nobody_knows_is_unreachable(start_gateway):
    gateway = start_gateway({"path": "/*", "upstream": "http://nowhere.invalid:1"})
    assert Background(gateway.post, "/", key=new_key()).result().status == 502
    eventually(lambda: "upstream not resolved" in gateway.stderr())
