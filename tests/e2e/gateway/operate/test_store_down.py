"""docs/spec.md 14: when the store takes no writes, nothing is executed that could not be recorded,
and what ran is not acknowledged. The store is made to fail from outside: the process may not write
to files any more (a pipe carries its log)."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import (Gateway, assert_problem, assert_replay, break_store,
                           eventually)

BODY = {"amount": 100}


@pytest.fixture
def gateway(start_gateway):
    # SIGXFSZ is ignored in Python and inherited: a write past the limit fails instead of killing.
    return start_gateway({"name": "refuse", "path": "/refuse"},
                         {"name": "pass", "path": "/pass", "store_down": "pass"},
                         {"name": "cut", "path": "/cut", "store_down": "pass",
                          "circuit": {"failures": 1, "window": "30s", "open_for": "60s"}},
                         store="embedded", inherit_signals=True)


def test_new_work_is_refused_and_nothing_is_executed(gateway, upstream, key):
    break_store(gateway)
    for _ in range(2):
        problem = assert_problem(gateway.post("/refuse", json=BODY, key=key), 503,
                                 "store-unavailable")
        assert problem["new_key_safe"] is False  # an earlier try may have got through
    assert upstream.arrived() == 0


def test_a_route_that_prefers_to_go_on_says_so_on_every_answer(gateway, upstream, key):
    assert gateway.post("/pass", json=BODY, key=key).header("Idempotency-Degraded") is None
    break_store(gateway)
    for n in range(2):
        answer = gateway.post("/pass", json=BODY, key=f"{n}-{key}")
        assert answer.status == 200
        assert answer.header("Idempotency-Degraded") == "true"
        assert not answer.replayed
    assert upstream.effects() == 3


def test_a_circuit_that_opens_meanwhile_does_not_call_a_new_key_safe(gateway, upstream, key):
    """Nobody can see whether the key was executed before."""
    assert gateway.post("/cut", json=BODY, key=key).status == 200
    break_store(gateway)
    assert gateway.post("/cut", json=BODY, key=f"0-{key}", test="status=503").status == 503
    problem = assert_problem(gateway.post("/cut", json=BODY, key=f"1-{key}"), 503, "circuit-open")
    assert problem["new_key_safe"] is False


def test_without_a_key_requests_pass(gateway, upstream):
    break_store(gateway)
    assert gateway.post("/refuse", json=BODY).status == 200


def test_readiness_turns_and_health_does_not(gateway, upstream, key):
    assert gateway.admin("/readyz").status == 200
    break_store(gateway)
    gateway.post("/refuse", json=BODY, key=key)
    eventually(lambda: gateway.admin("/readyz").status == 503)
    assert gateway.admin("/healthz").status == 200


def test_what_cannot_be_recorded_is_not_acknowledged(gateway, upstream, key):
    """The effect happened, its answer is not durable: the client may not be told it is done."""
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/refuse", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        break_store(gateway)
        upstream.open_gate("g")
        answer = connection.read_response()
    assert answer.status in (409, 503, 504), answer
    assert answer.json()["new_key_safe"] is False
    gateway.kill9()
    gateway.start()
    assert_problem(gateway.post("/refuse", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects(key) == 1


def test_after_a_restart_everything_acknowledged_is_there(gateway, upstream, key):
    first = gateway.post("/refuse", json=BODY, key=key)
    break_store(gateway)
    gateway.post("/refuse", json=BODY, key="new-" + key)
    gateway.kill9()
    gateway.start()
    assert_replay(gateway.post("/refuse", json=BODY, key=key), first)
    assert gateway.post("/refuse", json=BODY, key="new-" + key).status == 200
    assert upstream.effects() == 2


def test_a_store_in_use_is_not_opened_twice(gateway, upstream):
    """Two gateways on one embedded store would not see each other's claims."""
    second = Gateway(gateway.config["routes"], store=gateway.config["store"])
    try:
        with pytest.raises(AssertionError, match="exit code [1-9]"):
            second.start()
    finally:
        second.discard()
    assert gateway.post("/refuse", json=BODY).status == 200


def test_a_store_that_cannot_be_opened_ends_the_program(upstream):
    gateway = Gateway([{"path": "/*", "upstream": upstream.url}], store="embedded")
    (gateway.folder / "data").write_text("not a folder")
    try:
        with pytest.raises(AssertionError, match="exit code [1-9]"):
            gateway.start()
    finally:
        gateway.discard()
