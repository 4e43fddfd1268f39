"""docs/spec.md 16: what an operator sees. Every result moves its counter, and the admin listener
answers only those who address it by its own name."""

import re

import pytest

from harness.clients.http_client import Connection, request_bytes
from harness.semel import Background, eventually, let_pass, new_key, settle

BODY = {"amount": 100}
HISTOGRAMS = ["semel_store_swap_seconds", "semel_store_batch_size", "semel_upstream_seconds"]
NAMES = ["semel_requests_total", "semel_replay_ratio", "semel_in_progress",
         "semel_oldest_in_progress_seconds", "semel_unknown_records",
         "semel_oldest_unknown_seconds", "semel_lease_renewals_lost_total",
         "semel_purged_records_total", "semel_weak_keys_total", "semel_connections", "semel_up",
         "semel_build_info", "semel_upstream_up", "semel_upstream_ejected",
         "semel_upstream_failures_total", "semel_upstream_connections", "semel_circuit_open",
         "semel_circuit_opened_total", "semel_circuit_refused_total"] + [name + part for name in HISTOGRAMS
                                for part in ("_bucket", "_sum", "_count")]


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "charges", "path": "/charges", "circuit": {"failures": 1000}},
        {"name": "waiting", "path": "/waiting", "in_progress": "wait"},
        {"name": "short", "path": "/short", "ttl": "1s", "tombstone": "1h"})


class Counter:
    """How far one counter has moved since it was made."""

    def __init__(self, gateway, result, route="charges"):
        self._read = lambda: gateway.result_count(route, result)
        self._before = self._read()

    def moved(self, by=1):
        return eventually(lambda: self._read() == self._before + by)

    def has_moved(self):
        return eventually(lambda: self._read() > self._before)


def test_health_and_readiness(gateway):
    for path in ("/healthz", "/readyz"):
        assert gateway.admin(path).status == 200
        assert gateway.admin(path, method="HEAD").status in (200, 405)


def test_every_documented_metric_is_there(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key="1")
    gateway.post("/charges", json=BODY, key=key)
    answer = gateway.admin("/metrics")
    assert answer.status == 200
    assert answer.header("Content-Type").startswith("text/plain")
    text = answer.body.decode()
    for name in NAMES:
        assert re.search(rf"^{name}(\{{[^}}]*\}})? ", text, re.M), f"{name} is missing"
        family = next((h for h in HISTOGRAMS if name.startswith(h)), name)
        assert re.search(rf"^# TYPE {family} ", text, re.M), f"{family} has no type"
        assert re.search(rf"^# HELP {family} ", text, re.M), f"{family} has no help"
    metrics = gateway.metrics()
    assert metrics["semel_up"] == 1
    assert any(name.startswith("semel_build_info{version=") for name in metrics)
    assert any(name.startswith("semel_upstream_seconds_count{") and "route=charges" in name
               for name in metrics)


def test_executed_and_replayed(gateway, upstream, key):
    executed, replayed = Counter(gateway, "executed"), Counter(gateway, "replayed")
    for _ in range(3):
        gateway.post("/charges", json=BODY, key=key)
    assert executed.moved(1) and replayed.moved(2)
    assert 0 < gateway.metrics()["semel_replay_ratio"] < 1


def test_mismatch(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key)
    mismatch = Counter(gateway, "mismatch")
    gateway.post("/charges", json={}, key=key)
    assert mismatch.moved()


def test_conflict_and_the_age_of_what_runs(gateway, upstream, key):
    conflict = Counter(gateway, "conflict")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        gateway.post("/charges", json=BODY, key=key)
        assert conflict.moved()
        assert gateway.metrics()["semel_in_progress"] == 1
        eventually(lambda: gateway.metrics()["semel_oldest_in_progress_seconds"] > 0)
        upstream.open_gate("g")
        connection.read_response()
    eventually(lambda: gateway.metrics()["semel_in_progress"] == 0)
    assert gateway.metrics()["semel_oldest_in_progress_seconds"] == 0


def test_waited(gateway, upstream, key):
    waited = Counter(gateway, "waited", "waiting")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/waiting", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        duplicate = Background(gateway.post, "/waiting", json=BODY, key=key)
        eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
        upstream.open_gate("g")
        connection.read_response()
    assert duplicate.result().status == 200
    assert waited.moved()


def test_expired(gateway, upstream, key):
    gateway.post("/short", json=BODY, key=key)
    let_pass(1.1)
    expired = Counter(gateway, "expired", "short")
    assert gateway.post("/short", json=BODY, key=key).status == 410
    assert expired.moved()


def test_unknown_and_its_age(gateway, upstream, key):
    before = gateway.metrics()["semel_unknown_records"]
    unknown = Counter(gateway, "unknown")
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    assert gateway.post("/charges", json=BODY, key=key).status == 409
    assert unknown.has_moved()
    eventually(lambda: gateway.metrics()["semel_unknown_records"] == before + 1)
    eventually(lambda: gateway.metrics()["semel_oldest_unknown_seconds"] > 0)


def test_passed(gateway, upstream):
    passed = Counter(gateway, "passed")
    gateway.post("/charges", json=BODY)
    gateway.get("/charges")
    assert passed.moved(2)


def test_refused(gateway, upstream):
    refused = Counter(gateway, "refused")
    gateway.post("/charges", json=BODY, key="a,b")
    assert refused.moved()


def test_failed(start_gateway, raw_upstream):
    closed = raw_upstream(lambda peer, number: None, listening=False)
    gateway = start_gateway({"name": "charges", "path": "/charges", "upstream": closed.url})
    failed = Counter(gateway, "failed")
    assert gateway.post("/charges", json=BODY).status == 502
    assert failed.moved()


def test_weak_keys_are_counted(gateway, upstream):
    def weak():
        return gateway.metrics().get("semel_weak_keys_total{route=charges}", 0)
    before = weak()
    gateway.post("/charges", json=BODY, key=new_key())
    assert weak() == before
    gateway.post("/charges", json={"another": 1}, key="17")
    eventually(lambda: weak() == before + 1)


def test_histograms_count_what_happened(gateway, upstream, key):
    def counts():
        metrics = gateway.metrics()
        return [sum(v for n, v in metrics.items() if n.split("{")[0] == f"{name}_count")
                for name in HISTOGRAMS]
    before = counts()
    gateway.post("/charges", json=BODY, key=key)
    eventually(lambda: all(now > then for now, then in zip(counts(), before)))


def test_a_foreign_host_is_refused(gateway):
    port = gateway.admin_address[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example"):
        for path in ("/metrics", "/healthz", "/"):
            assert gateway.admin(path, host=host).status in (400, 403, 421)
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert gateway.admin("/metrics", host=host).status == 200


def test_an_unknown_path_is_404_and_nothing_can_be_changed(gateway):
    nothing = gateway.admin("/nothing")
    assert nothing.status == 404
    assert nothing.header("Content-Type") == "application/problem+json"
    assert nothing.json()["code"] == "no-such-path" and "/healthz" in nothing.json()["detail"]
    assert gateway.admin("/metrics", method="POST").status in (401, 403, 404, 405)


def test_the_admin_pages_are_not_on_the_public_listener(gateway, upstream):
    for path in ("/metrics", "/healthz", "/readyz"):
        assert gateway.get(path).status == 404


def test_the_admin_listener_survives_garbage(gateway):
    for wire in (b"\x00\xff\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n",
                 b"GET " + b"x" * 100_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"):
        with Connection(gateway.admin_address) as connection:
            try:
                connection.send(wire)
                connection.some(1 << 16)
            except ConnectionError:
                pass
    assert gateway.admin("/healthz").status == 200


@pytest.mark.parametrize("wire, status", [
    (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 200),
    (b"POST /api/keys/release HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", 401),
    (b"garbage\r\n\r\n", 400),
], ids=["asked to close", "no token", "garbage"])
def test_those_who_were_answered_and_stay_do_not_keep_a_probe_out(start_gateway, wire, status):
    gateway = start_gateway({"path": "/*"})
    crowd = [Connection(gateway.admin_address) for _ in range(256)]
    try:
        for connection in crowd:
            connection.send(wire)
        for connection in crowd:
            assert connection.read_response().status == status
        for _ in range(3):
            assert gateway.admin("/healthz").status == 200
    finally:
        for connection in crowd:
            connection.close()


def test_those_who_never_send_the_rest_do_not_keep_a_probe_out(start_gateway):
    gateway = start_gateway({"path": "/*"})
    wire = request_bytes("POST", "/api/keys/release", host="localhost", headers=[
        ("Authorization", "Bearer " + gateway.admin_token()),
        ("Content-Type", "application/json"), ("Content-Length", "9")])
    crowd = [Connection(gateway.admin_address) for _ in range(256)]
    try:
        for connection in crowd:
            connection.send(wire)
        settle()
        for _ in range(3):
            assert gateway.admin("/healthz").status == 200
    finally:
        for connection in crowd:
            connection.close()


def test_keys_are_shortened_in_the_log(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/charges"}, log={"level": "debug"})
    gateway.post("/charges", json={"card": "4242424242424242"}, key=key)
    gateway.post("/charges", json={"card": "4242424242424242"}, key=key)
    gateway.stop()
    assert key not in gateway.stderr() and "4242424242" not in gateway.stderr()
    gateway.config["log"] = {"level": "debug", "keys": "full", "format": "json"}
    gateway.start()
    gateway.post("/charges", json=BODY, key="full-" + key)
    gateway.stop()
    assert "full-" + key in gateway.stderr()


def test_the_memory_store_says_so_in_the_log(start_gateway, upstream):
    gateway = start_gateway({"path": "/charges"}, store="memory")
    eventually(lambda: "memory" in gateway.stderr().lower())
