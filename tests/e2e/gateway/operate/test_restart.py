"""The embedded store across the end of the process, orderly or not. What was acknowledged is there;
what was running is unknown at once, and is not run again."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import (DEFAULT_STORE, TIME_SCALE, assert_problem, assert_replay, eventually,
                           new_key)

BODY = {"amount": 100}


@pytest.fixture
def gateway(start_gateway):
    lease = {} if DEFAULT_STORE == "embedded" else {"lease": "1s"}
    return start_gateway({"name": "hold", "path": "/hold", **lease},
                         {"name": "retry", "path": "/retry", "unknown": "retry", **lease},
                         {"name": "fail", "path": "/fail", "unknown": "fail", **lease})


def kill_while_running(gateway, upstream, path, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", path, json=BODY, key=key, test="gate=killed"))
        upstream.wait_effects(1, key)
        gateway.kill9()
    gateway.start()
    if DEFAULT_STORE != "embedded":  # others may be alive on it: the lease has to run out
        eventually(lambda: gateway.metrics()["semel_unknown_records"] == 1)


def test_every_state_survives_kill_9(gateway, upstream):
    keys = {name: new_key() for name in ("completed", "failed", "released", "unknown")}
    first = {
        "completed": gateway.post("/hold", json=BODY, key=keys["completed"], test="status=201"),
        "failed": gateway.post("/hold", json=BODY, key=keys["failed"], test="status=402"),
        "released": gateway.post("/hold", json=BODY, key=keys["released"], test="status=503"),
        "unknown": gateway.post("/hold", json=BODY, key=keys["unknown"], test="close=reset"),
    }
    gateway.kill9()
    gateway.start()
    assert gateway.ready_seconds < 2 * TIME_SCALE
    for name in ("completed", "failed"):
        assert_replay(gateway.post("/hold", json=BODY, key=keys[name]), first[name])
    assert_problem(gateway.post("/hold", json={}, key=keys["released"]), 422, "key-reused")
    again = gateway.post("/hold", json=BODY, key=keys["released"])
    assert again.status == 200 and upstream.last(keys["released"])["attempt"] == "2"
    assert_problem(gateway.post("/hold", json=BODY, key=keys["unknown"]), 409, "outcome-unknown")


def test_what_ran_when_it_was_killed_is_unknown_at_once(gateway, upstream, key):
    """Not only when its lease of 30 s would have run out."""
    kill_while_running(gateway, upstream, "/hold", key)
    problem = assert_problem(gateway.post("/hold", json=BODY, key=key), 409, "outcome-unknown")
    assert problem["new_key_safe"] is False
    assert_problem(gateway.post("/hold", json={}, key=key), 422, "key-reused")
    assert gateway.metrics()["semel_unknown_records"] == 1
    assert upstream.effects(key) == 1


def test_under_the_retry_policy_it_runs_again_as_the_next_attempt(gateway, upstream, key):
    kill_while_running(gateway, upstream, "/retry", key)
    second = gateway.post("/retry", json=BODY, key=key)
    assert second.status == 200 and not second.replayed
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]
    assert_replay(gateway.post("/retry", json=BODY, key=key), second)


def test_under_the_fail_policy_it_has_failed(gateway, upstream, key):
    kill_while_running(gateway, upstream, "/fail", key)
    first = gateway.post("/fail", json=BODY, key=key)
    assert first.status in (502, 504) and first.json()["new_key_safe"] is False
    again = gateway.post("/fail", json=BODY, key=key)
    assert (again.status, again.body) == (first.status, first.body)
    assert upstream.effects(key) == 1


def test_a_second_restart_changes_nothing(gateway, upstream, key):
    kill_while_running(gateway, upstream, "/hold", key)
    first = gateway.post("/hold", json=BODY, key="other-" + key)
    gateway.restart()
    assert_problem(gateway.post("/hold", json=BODY, key=key), 409, "outcome-unknown")
    assert_replay(gateway.post("/hold", json=BODY, key="other-" + key), first)
    gateway.kill9()
    gateway.start()
    assert_problem(gateway.post("/hold", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects(key) == 1


def test_the_answer_is_durable_when_the_client_has_it(gateway, upstream):
    """Killed right after each answer, ten times over."""
    answers = {}
    for _ in range(10):
        key = new_key()
        answers[key] = gateway.post("/hold", json=BODY, key=key)
        gateway.kill9()
        gateway.start()
    for key, first in answers.items():
        assert_replay(gateway.post("/hold", json=BODY, key=key), first)
    assert upstream.effects() == 10


def test_durability_crash_survives_kill_9_too(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/charges"}, store="embedded")
    gateway.restart(store={**gateway.config["store"], "durability": "crash"})
    first = gateway.post("/charges", json=BODY, key=key)
    gateway.kill9()
    gateway.start()
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)


def test_nobody_else_reaches_the_data(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/hold"}, store="embedded")
    data = gateway.folder / "data"
    first = gateway.post("/hold", json=BODY, key=key)
    gateway.kill9()
    modes = {path.name: path.stat().st_mode & 0o777 for path in data.iterdir()}
    assert {"CURRENT", "admin-token"} < set(modes) and set(modes.values()) == {0o600}, modes
    data.chmod(0o755)
    for path in data.iterdir():
        path.chmod(0o644 if path.name != "admin-token" else 0o600)
    gateway.start()
    assert data.stat().st_mode & 0o777 == 0o700
    assert "other users could enter it; closed it" in gateway.stderr()
    assert {path.stat().st_mode & 0o777 for path in data.iterdir()} == {0o600}
    assert_replay(gateway.post("/hold", json=BODY, key=key), first)
