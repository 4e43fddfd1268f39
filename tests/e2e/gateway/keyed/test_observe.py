"""docs/spec.md 16: mode observe changes nothing. Every request reaches the executor as without
Semel, whatever is wrong with it; what enforcing would have done is counted and logged."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import Background, assert_replay, break_store, eventually, new_key
from harness.peers.upstream_control import field

BODY = {"amount": 100}


@pytest.fixture
def gateway(start_gateway):
    return start_gateway({"name": "pay", "path": "/pay", "mode": "observe",
                          "key": {"required": True}, "max_request_body": "64KiB"},
                         {"name": "wait", "path": "/wait", "mode": "observe",
                          "in_progress": "wait"},
                         {"name": "body", "path": "/body", "mode": "observe",
                          "key": {"from": "pointer", "pointer": "/key"}})


def would(gateway, what, count=1, route="pay"):
    """Waits for the report, which comes after the answer."""
    name = f"semel_observed_total{{route={route},would={what}}}"
    assert eventually(lambda: gateway.metrics().get(name, 0) >= count)
    assert gateway.metrics()[name] == count, what


def post(gateway, key, path="/pay", body=BODY, **more):
    answer = gateway.post(path, json=body, key=key, **more)
    for name in ("Idempotency-Replayed", "Idempotency-Key", "Idempotency-Expires", "Age"):
        assert answer.header(name) is None, answer
    return answer


def test_every_request_is_executed_and_a_replay_is_only_reported(gateway, upstream, key):
    answers = []
    for n in range(3):
        answers.append(post(gateway, key))
        would(gateway, "executed")
        recorded(gateway, "completed")
        if n:
            would(gateway, "replayed", n)
    assert len({a.effect for a in answers}) == 3 and upstream.effects(key) == 3
    assert all(field(r, "Semel-Attempt") is None for r in upstream.requests(key))
    assert eventually(lambda: "observed route=pay would=replayed" in gateway.stderr())


def test_a_hash_key_guards_the_fingerprints_of_observed_requests(start_gateway, key, tmp_path):
    hash_keys = tmp_path / "hash-keys"
    hash_keys.write_text(f"first {'5a' * 32}\n")
    hash_keys.chmod(0o600)
    gateway = start_gateway({"name": "pay", "path": "/pay", "mode": "observe"},
                            hash_key_file=str(hash_keys))
    post(gateway, key)
    would(gateway, "executed")
    recorded(gateway, "completed")
    post(gateway, key)
    would(gateway, "replayed")
    assert gateway.record(key)["recipe"]["hash_key_id"] == "first"


@pytest.mark.parametrize("what, key, more", [
    ("key-missing", None, {}),
    ("key-invalid", "bad\tkey", {}),
    ("key-invalid", '"unterminated', {}),
    ("key-invalid", None, {"headers": {"Idempotency-Key": ["a" * 20, "b" * 20]}}),
    ("body-too-large", "k" * 20, {"body": b"x" * 100_000}),
])
def test_what_would_have_been_refused_goes_through(gateway, upstream, what, key, more):
    body = more.pop("body", b"{}")
    answer = gateway.post("/pay", body, key=key, **more)
    assert answer.status == 200 and upstream.effects() == 1
    assert upstream.last()["bytes"] == len(body)
    if key:
        assert field(upstream.last(), "Idempotency-Key") == key
    would(gateway, what)


def test_a_mismatch_goes_through(gateway, upstream, key):
    post(gateway, key)
    would(gateway, "executed")
    recorded(gateway, "completed")
    assert post(gateway, key, body={"amount": 101}).status == 200
    would(gateway, "mismatch")
    assert upstream.effects(key) == 2
    assert eventually(lambda: 'why="differs in body"' in gateway.stderr())


def test_an_unknown_tenant_goes_through(start_gateway, upstream, key):
    gateway = start_gateway({"name": "pay", "path": "/pay", "mode": "observe"},
                            tenant={"from": "authorization"})
    assert post(gateway, key).status == 200
    would(gateway, "tenant-unknown")
    assert upstream.effects(key) == 1


def test_a_store_that_is_down_holds_nothing_up(start_gateway, upstream):
    gateway = start_gateway({"name": "pay", "path": "/pay", "mode": "observe"},
                            store="embedded", inherit_signals=True)
    break_store(gateway)
    for n in (1, 2):
        answer = post(gateway, new_key())
        assert answer.status == 200 and answer.header("Idempotency-Degraded") is None
    would(gateway, "store-unavailable", 2)
    assert upstream.effects() == 2


@pytest.mark.parametrize("path, what", [("/pay", "conflict"), ("/wait", "waited")])
def test_duplicates_in_flight_run_side_by_side(gateway, upstream, key, path, what):
    both = [Background(post, gateway, key, path, test="gate=o") for _ in range(2)]
    upstream.wait_effects(2, key)  # neither waits for the other
    upstream.open_gate("o")
    assert {b.result().status for b in both} == {200}
    would(gateway, what, route=path[1:])
    would(gateway, "executed", route=path[1:])


def recorded(gateway, state):
    """Until the last one's record is in that state: a retry before that would be in flight."""
    assert eventually(lambda: f"to={state}" in gateway.stderr())


def test_a_release_is_told_apart(gateway, upstream, key):
    assert post(gateway, key, test="status=503").status == 503
    recorded(gateway, "released")
    assert post(gateway, key).status == 200
    would(gateway, "executed", 2)
    assert upstream.effects(key) == 2


def test_an_unknown_outcome_is_told_apart_and_leaves_nothing_to_resolve(gateway, upstream, key):
    assert post(gateway, key, test="close=reset").status == 502
    recorded(gateway, "completed")
    assert post(gateway, key).status == 200
    would(gateway, "unknown")
    assert gateway.metrics()["semel_unknown_records"] == 0
    assert upstream.effects(key) == 2


def test_a_key_in_the_body_is_seen_while_it_streams(gateway, upstream, key):
    for n in (1, 2):
        body = {**BODY, "key": key}
        with gateway.connect() as connection:
            wire = request_bytes("POST", "/body", json=body, chunked=True)
            connection.send(wire[:-8])
            upstream.wait_arrived(n, path="/body")  # streamed on before it is whole
            connection.send(wire[-8:])
            assert connection.read_response().status == 200
        would(gateway, "executed", route="body")
        recorded(gateway, "completed")
    would(gateway, "replayed", route="body")


def test_switched_to_enforce_nothing_observed_is_replayed(start_gateway, upstream, key):
    gateway = start_gateway({"name": "pay", "path": "/pay", "mode": "observe"})
    observed = post(gateway, key)
    would(gateway, "executed")
    gateway.restart(routes=[{**gateway.config["routes"][0], "mode": "enforce"}])
    first = gateway.post("/pay", json=BODY, key=key)
    assert first.status == 200 and not first.replayed and first.effect != observed.effect
    assert_replay(gateway.post("/pay", json=BODY, key=key), first)
    assert upstream.effects(key) == 2


def test_the_client_going_away_is_no_reason_to_do_otherwise_than_without(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/pay", json=BODY, key=key, test="gate=away"))
        upstream.wait_effects(1, key)
        connection.reset()
    upstream.open_gate("away")
    assert eventually(lambda: post(gateway, key).status == 200)
    assert upstream.effects(key) == 2
