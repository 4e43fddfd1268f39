"""The promise itself: a request delivered any number of times has one effect and one answer. Every
store must show it."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import assert_problem, assert_replay, at_once, new_key

TIMES = 100
CHARGE = {"amount": 100, "currency": "eur"}


@pytest.fixture
def gateway(start_gateway, store):
    return start_gateway(
        {"name": "charges", "path": "/v1/charges"},
        {"name": "waiting", "path": "/v1/waiting", "in_progress": "wait", "wait_timeout": "60s"},
        {"name": "unguarded", "path": "/*"},
        store=store)


def test_the_same_request_100_times_in_sequence_runs_once(gateway, upstream, key):
    first = gateway.post("/v1/charges", json=CHARGE, key=key)
    assert first.status == 200 and not first.replayed
    with gateway.connect() as connection:
        for _ in range(TIMES - 1):
            assert_replay(connection.request("POST", "/v1/charges", json=CHARGE, key=key), first)
    assert upstream.effects(key) == 1
    assert upstream.arrived(key) == 1


def test_the_same_request_100_times_at_once_runs_once(gateway, upstream, key):
    answers = at_once(TIMES, gateway, "/v1/charges", json=CHARGE, key=key)
    done = [a for a in answers if a.status == 200]
    assert done and len({a.body for a in done}) == 1
    for refused in (a for a in answers if a.status != 200):
        assert_problem(refused, 409, "in-progress")
    assert sum(not a.replayed for a in done) == 1
    assert upstream.effects(key) == 1


def test_the_same_request_100_times_at_once_where_duplicates_wait_runs_once(gateway, upstream, key):
    answers = at_once(TIMES, gateway, "/v1/waiting", json=CHARGE, key=key)
    assert [a.status for a in answers] == [200] * TIMES
    assert len({a.body for a in answers}) == 1
    assert upstream.effects(key) == 1


def test_100_while_the_first_runs_all_conflict_and_then_replay(gateway, upstream, key):
    with gateway.connect() as first:
        first.send(request_bytes("POST", "/v1/charges", json=CHARGE, key=key, test="gate=once"))
        upstream.wait_effects(1, key)
        for answer in at_once(TIMES, gateway, "/v1/charges", json=CHARGE, key=key):
            assert_problem(answer, 409, "in-progress")
        upstream.open_gate("once")
        done = first.read_response()
    assert done.status == 200
    for answer in at_once(TIMES, gateway, "/v1/charges", json=CHARGE, key=key):
        assert_replay(answer, done)
    assert upstream.effects(key) == 1


def test_100_different_keys_at_once_run_100_times(gateway, upstream):
    keys = [new_key() for _ in range(TIMES)]
    connections = [gateway.connect() for _ in keys]
    try:
        for connection, key in zip(connections, keys):
            connection.send(request_bytes("POST", "/v1/charges", json=CHARGE, key=key))
        answers = [connection.read_response() for connection in connections]
    finally:
        for connection in connections:
            connection.close()
    assert [a.json()["key"] for a in answers] == keys
    assert len({a.effect for a in answers}) == TIMES
    assert upstream.effects() == TIMES


def test_without_a_key_every_request_runs(gateway, upstream):
    answers = [gateway.post("/v1/charges", json=CHARGE) for _ in range(3)]
    assert len({a.effect for a in answers}) == 3
    assert not any(a.replayed or a.header("Idempotency-Key") for a in answers)


def test_the_basic_table_holds(gateway, upstream, key):
    """docs/spec.md 4 in one story, on every store."""
    retryable = gateway.post("/v1/charges", json=CHARGE, key=key, test="status=503")
    assert retryable.status == 503 and not retryable.replayed
    other = {"amount": 999}
    assert_problem(gateway.post("/v1/charges", json=other, key=key), 422, "key-reused")
    first = gateway.post("/v1/charges", json=CHARGE, key=key)
    assert first.status == 200 and first.json()["attempt"] == "2"
    assert_replay(gateway.post("/v1/charges", json=CHARGE, key=key), first)
    assert_problem(gateway.post("/v1/charges", json=other, key=key), 422, "key-reused")
    assert_replay(gateway.post("/v1/charges", json=CHARGE, key=key), first)
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]


def test_an_unknown_outcome_is_held(gateway, upstream, key):
    assert gateway.post("/v1/charges", json=CHARGE, key=key, test="close=reset").status == 502
    for _ in range(3):
        problem = assert_problem(gateway.post("/v1/charges", json=CHARGE, key=key), 409,
                                 "outcome-unknown")
        assert problem["new_key_safe"] is False
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("method", ["post", "Post", "pOST"])
def test_a_method_in_other_letters_does_not_get_past_the_key(gateway, upstream, key, method):
    """To HTTP it is another method, to many a service it is POST."""
    for _ in range(2):
        assert_problem(gateway.request(method, "/v1/charges", json=CHARGE, key=key), 400, "bad-request")
    assert upstream.arrived() == 0
