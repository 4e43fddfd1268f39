"""docs/spec.md 8: duplicates of a request that still runs. None of them executes, however it
ends."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import (Background, assert_problem, assert_replay, eventually, let_pass, new_key)

BODY = {"amount": 100}
WAITERS = 8


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "conflict", "path": "/conflict"},
        {"name": "wait", "path": "/wait", "in_progress": "wait", "wait_timeout": "60s"},
        {"name": "short-wait", "path": "/short-wait", "in_progress": "wait",
         "wait_timeout": "300ms"},
        {"name": "short-lease", "path": "/short-lease", "lease": "1s"})


class First:
    """A request whose execution waits behind the gate until finish()."""

    def __init__(self, gateway, upstream, path, key, test=""):
        self.upstream, self.gate = upstream, "first-" + key
        self.connection = gateway.connect()
        self.connection.send(request_bytes("POST", path, json=BODY, key=key,
                                           test=f"gate={self.gate}; {test}"))
        upstream.wait_effects(1, key)

    def finish(self):
        self.upstream.open_gate(self.gate)
        with self.connection:
            return self.connection.read_response()


def test_conflict(gateway, upstream, key):
    first = First(gateway, upstream, "/conflict", key)
    for _ in range(3):
        problem = assert_problem(gateway.post("/conflict", json=BODY, key=key), 409, "in-progress")
        assert problem["new_key_safe"] is False
    assert gateway.metrics()["semel_in_progress"] >= 1
    done = first.finish()
    assert done.status == 200
    assert_replay(gateway.post("/conflict", json=BODY, key=key), done)
    assert upstream.arrived(key) == 1


def waiting(gateway, key, path, count=WAITERS, others=0):
    calls = [Background(gateway.post, path, json=BODY, key=key) for _ in range(count)]
    eventually(lambda: gateway.metrics()["semel_waiting"] == count + others)
    assert not any(call.done for call in calls), "a duplicate did not wait"
    return calls


def test_all_who_wait_get_the_one_answer(gateway, upstream, key):
    first = First(gateway, upstream, "/wait", key, "header.X-Kept=yes")
    calls = waiting(gateway, key, "/wait")
    done = first.finish()
    assert done.status == 200
    for call in calls:
        answer = call.result()
        assert (answer.status, answer.body) == (200, done.body)
        assert answer.header("X-Kept") == "yes"
        assert answer.header("Idempotency-Key") == f'"{key}"'
    assert upstream.arrived(key) == 1


@pytest.mark.parametrize("how, status", [
    ("status=503; body=later", 503), ("status=429; header.Retry-After=9", 429),
    ("status=502", 502), ("status=504", 504), ("close=reset", 502), ("close=mid", 502),
    ("status=402", 402),
])
def test_whatever_the_outcome_all_who_wait_get_it_and_none_executes(gateway, upstream, key, how,
                                                                    status):
    first = First(gateway, upstream, "/wait", key, how)
    calls = waiting(gateway, key, "/wait")
    done = first.finish()
    assert done.status == status
    for call in calls:
        answer = call.result()
        assert (answer.status, answer.body) == (status, done.body)
        assert answer.header("Retry-After") == done.header("Retry-After")
    assert upstream.arrived(key) == 1


def test_a_crowd_that_waits_for_a_failure_does_not_execute_in_turn(gateway, upstream, key):
    first = First(gateway, upstream, "/wait", key, "status=503")
    crowd = [gateway.connect() for _ in range(200)]
    try:
        for connection in crowd:
            connection.send(request_bytes("POST", "/wait", json=BODY, key=key))
        eventually(lambda: gateway.metrics()["semel_waiting"] == len(crowd))
        assert first.finish().status == 503
        assert [connection.read_response().status for connection in crowd] == [503] * len(crowd)
    finally:
        for connection in crowd:
            connection.close()
    assert upstream.arrived(key) == 1


def test_who_waits_in_vain_gets_a_conflict(gateway, upstream, key):
    first = First(gateway, upstream, "/short-wait", key)
    assert_problem(gateway.post("/short-wait", json=BODY, key=key), 409, "in-progress")
    done = first.finish()
    assert_replay(gateway.post("/short-wait", json=BODY, key=key), done)
    assert upstream.arrived(key) == 1


def test_a_waiter_that_goes_away_disturbs_nobody(gateway, upstream, key):
    first = First(gateway, upstream, "/wait", key)
    gone = [gateway.connect() for _ in range(4)]
    for connection in gone:
        connection.send(request_bytes("POST", "/wait", json=BODY, key=key))
    calls = waiting(gateway, key, "/wait", 2, others=len(gone))
    gone[0].close()
    for connection in gone[1:]:
        connection.reset()
    done = first.finish()
    assert [call.result().body for call in calls] == [done.body] * 2
    assert upstream.arrived(key) == 1


def test_a_slow_execution_is_not_overtaken_when_its_lease_runs_out(gateway, upstream, key):
    first = First(gateway, upstream, "/short-lease", key)
    for _ in range(3):
        let_pass(0.6)
        assert_problem(gateway.post("/short-lease", json=BODY, key=key), 409, "in-progress")
    done = first.finish()
    assert done.status == 200
    assert_replay(gateway.post("/short-lease", json=BODY, key=key), done)
    assert upstream.arrived(key) == 1


@pytest.mark.parametrize("goes", ["close", "reset"])
def test_the_client_going_away_does_not_stop_the_execution(gateway, upstream, key, goes):
    with gateway.connect() as client:
        client.send(request_bytes("POST", "/conflict", json=BODY, key=key, test="gate=abandoned"))
        upstream.wait_effects(1, key)
        getattr(client, goes)()
    assert_problem(gateway.post("/conflict", json=BODY, key=key), 409, "in-progress")
    upstream.open_gate("abandoned")
    replay = eventually(lambda: (a := gateway.post("/conflict", json=BODY, key=key)).status == 200
                        and a)
    assert replay.replayed and upstream.arrived(key) == 1
    assert replay.effect == upstream.last(key)["effect"]


@pytest.mark.parametrize("goes", ["close", "reset"])
def test_a_client_that_goes_away_at_once_leaves_one_effect_at_most(gateway, upstream, goes):
    keys = [new_key() for _ in range(20)]
    for key in keys:
        with gateway.connect() as client:
            client.send(request_bytes("POST", "/conflict", json=BODY, key=key))
            getattr(client, goes)()
    for key in keys:
        eventually(lambda: gateway.post("/conflict", json=BODY, key=key).status == 200)
        assert upstream.effects(key) == 1


def test_half_a_body_claims_nothing(gateway, upstream, key):
    wire = request_bytes("POST", "/conflict", json=BODY, key=key)
    for goes in ("close", "reset"):
        with gateway.connect() as client:
            client.send(wire[:-5])
            getattr(client, goes)()
    first = gateway.post("/conflict", json=BODY, key=key)
    assert first.status == 200 and not first.replayed
    assert [r["attempt"] for r in upstream.requests(key)] == ["1"]


def test_an_execution_finishes_under_its_own_key_whatever_follows_on_the_connection(
        gateway, upstream):
    """The key and fingerprint of a request are its own, also when the next one is already read."""
    keys = [new_key() for _ in range(5)]
    with gateway.connect() as connection:
        connection.send(b"".join(
            request_bytes("POST", "/conflict", json={"n": n}, key=key)
            for n, key in enumerate(keys)))
        answers = [connection.read_response() for _ in keys]
    assert [a.json()["key"] for a in answers] == keys
    for n, key in enumerate(keys):
        assert_replay(gateway.post("/conflict", json={"n": n}, key=key), answers[n])
