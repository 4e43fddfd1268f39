"""docs/spec.md 16: SIGTERM. What runs is finished and answered, nothing new is taken, and what does
not finish in time is unknown, not forgotten."""

import signal

import pytest

from harness.clients.http_client import ConnectionEnded, request_bytes
from harness.semel import TIME_SCALE, assert_problem, assert_replay, eventually

BODY = {"amount": 100}


def test_a_running_execution_is_finished_and_answered(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, drain_timeout="60s")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        gateway.terminate()
        eventually(lambda: gateway.refuses_connections())
        assert gateway.running
        upstream.open_gate("g")
        first = connection.read_response()
        assert first.status == 200
        assert connection.ended()
    assert gateway.wait() == 0
    gateway.start()
    assert_replay(gateway.post("/slow", json=BODY, key=key), first)
    assert upstream.effects(key) == 1


def test_ctrl_c_is_as_good(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"})
    assert gateway.post("/").status == 200
    gateway.process.send_signal(signal.SIGINT)
    assert gateway.wait() == 0


def test_a_plain_request_is_finished_too(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, drain_timeout="60s")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", b"x", test="gate=g"))
        upstream.wait_effects(1)
        gateway.terminate()
        eventually(lambda: gateway.refuses_connections())
        upstream.open_gate("g")
        assert connection.read_response().status == 200
    assert gateway.wait() == 0


def test_an_execution_without_its_client_is_finished_too(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, drain_timeout="60s")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        connection.reset()
    gateway.terminate()
    eventually(lambda: gateway.refuses_connections())
    upstream.open_gate("g")
    assert gateway.wait() == 0
    gateway.start()
    assert gateway.post("/slow", json=BODY, key=key).replayed
    assert upstream.effects(key) == 1


def test_idle_connections_do_not_hold_it_up(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, drain_timeout="60s")
    with gateway.connect() as used, gateway.connect() as unused:
        assert used.request("POST", "/").status == 200
        gateway.terminate()
        assert gateway.wait(10 * TIME_SCALE) == 0
        assert used.ended() and unused.ended()


def test_a_request_while_draining_is_served_whole_or_not_at_all(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, drain_timeout="60s")
    with gateway.connect() as busy, gateway.connect() as kept:
        assert kept.request("POST", "/").status == 200
        busy.send(request_bytes("POST", "/slow", test="gate=g"))
        upstream.wait_arrived(1, path="/slow")
        gateway.terminate()
        eventually(lambda: gateway.refuses_connections())
        try:
            answer = kept.request("POST", "/late", json=BODY, key=key)
            assert answer.status in (200, 503)
            assert upstream.effects(key) == (answer.status == 200)
        except (ConnectionEnded, ConnectionResetError, BrokenPipeError):
            assert upstream.effects(key) == 0
        upstream.open_gate("g")
        assert busy.read_response().status == 200
    assert gateway.wait() == 0


@pytest.mark.parametrize("policy, status", [("hold", 409), ("retry", 200)])
def test_what_does_not_finish_in_time_is_unknown_after_the_restart(start_gateway, upstream, key,
                                                                   policy, status):
    gateway = start_gateway({"path": "/*", "unknown": policy}, drain_timeout="500ms",
                            store="embedded")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=never"))
        upstream.wait_effects(1, key)
        gateway.terminate()
        gateway.wait(10 * TIME_SCALE)
        with pytest.raises(ConnectionEnded):
            answer = connection.read_response()
            assert answer.status in (502, 503, 504), answer
            raise ConnectionEnded("answered that it does not know: as good")
    gateway.check_sanitizers()
    gateway.start()
    answer = gateway.post("/slow", json=BODY, key=key)
    assert answer.status == status and not answer.replayed
    if policy == "hold":
        assert_problem(answer, 409, "outcome-unknown")
        assert upstream.effects(key) == 1
    else:
        assert upstream.last(key)["attempt"] == "2"


def test_a_second_signal_does_not_make_it_forget(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, drain_timeout="60s")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        gateway.terminate()
        eventually(lambda: gateway.refuses_connections())
        gateway.terminate()
        try:
            upstream.open_gate("g")
            connection.read_response()
        except ConnectionEnded:
            pass
    gateway.wait()
    gateway.start()
    answer = gateway.post("/slow", json=BODY, key=key)
    assert answer.replayed or answer.json()["code"] == "outcome-unknown"
    assert upstream.effects(key) == 1


def test_a_duplicate_that_still_waits_when_the_drain_gives_up(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*", "in_progress": "wait", "wait_timeout": "60s"},
                            drain_timeout="500ms", store="embedded")
    with gateway.connect() as first, gateway.connect() as second:
        first.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=never"))
        upstream.wait_effects(1, key)
        second.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=never"))
        eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
        gateway.terminate()
        assert gateway.wait() == 0
        try:  # it is told so, if there is time for that
            assert_problem(second.read_response(), 409, "in-progress")
        except (ConnectionEnded, ConnectionResetError):
            pass
    gateway.start()
    assert_problem(gateway.post("/slow", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects(key) == 1
