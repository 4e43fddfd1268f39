"""docs/spec.md 7: executions that ended without an answer. Nobody knows whether the effect
happened, and Semel never pretends to."""

import pytest

from harness.clients.http_client import ConnectionEnded, request_bytes
from harness.semel import (assert_problem, assert_replay, eventually, let_pass, new_key, scaled,
                           settle)

BODY = {"amount": 100}
LOST = ["close=before", "close=reset", "close=mid", "close=midreset", "chunked; close=mid",
        "badchunk", "garbage"]


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "hold", "path": "/hold"},
        {"name": "retry", "path": "/retry", "unknown": "retry"},
        {"name": "fail", "path": "/fail", "unknown": "fail"},
        {"name": "held-for", "path": "/held-for", "hold_for": "1s"},
        {"name": "slow", "path": "/slow", "upstream_timeout": scaled(300), "late_answer": "60s"},
        {"name": "slow-fail", "path": "/slow-fail", "upstream_timeout": scaled(300),
         "late_answer": "300ms", "unknown": "fail"},
        {"name": "deaf", "path": "/deaf", "upstream_timeout": scaled(300), "late_answer": "300ms"})


def refused_for_now(answer):
    """409, and no new key may be tried: the first attempt may have done its work or do it yet."""
    assert answer.status == 409, answer
    assert answer.json()["code"] in ("in-progress", "outcome-unknown"), answer
    assert answer.json()["new_key_safe"] is False, answer
    assert int(answer.header("Retry-After")) >= 1, answer


@pytest.mark.parametrize("how", LOST)
def test_an_answer_lost_on_the_way_back_is_held(gateway, upstream, key, how):
    first = gateway.post("/hold", json=BODY, key=key, test=how)
    assert first.status == 502, first
    assert first.json()["new_key_safe"] is False
    for _ in range(2):
        problem = assert_problem(gateway.post("/hold", json=BODY, key=key), 409, "outcome-unknown")
        assert problem["new_key_safe"] is False
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("how", ["close=reset", "close=mid", "status=502", "status=504"])
def test_the_retry_policy_executes_again_under_the_same_key(gateway, upstream, key, how):
    assert gateway.post("/retry", json=BODY, key=key, test=how).status in (502, 504)
    second = gateway.post("/retry", json=BODY, key=key)
    assert second.status == 200 and not second.replayed
    assert [(r["attempt"], r["key"]) for r in upstream.requests(key)] == [("1", key), ("2", key)]
    assert_replay(gateway.post("/retry", json=BODY, key=key), second)


@pytest.mark.parametrize("how", ["close=reset", "close=mid", "status=502; body=from behind",
                                 "status=504"])
def test_the_fail_policy_gives_every_client_the_one_answer(gateway, upstream, key, how):
    first = gateway.post("/fail", json=BODY, key=key, test=how)
    assert first.status in (502, 504)
    for _ in range(2):
        again = gateway.post("/fail", json=BODY, key=key)
        assert (again.status, again.body) == (first.status, first.body)
    assert upstream.effects(key) == 1


def test_what_is_held_for_a_time_is_gone_after_it_and_never_runs_again(gateway, upstream, key):
    assert gateway.post("/held-for", json=BODY, key=key, test="close=reset").status == 502
    assert_problem(gateway.post("/held-for", json=BODY, key=key), 409, "outcome-unknown")
    let_pass(1.0)
    gone = eventually(lambda: (a := gateway.post("/held-for", json=BODY, key=key)).status == 410
                      and a)
    assert_problem(gone, 410, "key-expired")
    assert upstream.effects(key) == 1


# --- time outs and late answers -------------------------------------------------------------------


def test_a_late_answer_is_recorded_and_replays(gateway, upstream, key):
    first = gateway.post("/slow", json=BODY, key=key, test="gate=late; header.X-Late=yes")
    assert assert_problem(first, 504, "upstream-timeout")["new_key_safe"] is False
    refused_for_now(gateway.post("/slow", json=BODY, key=key))
    upstream.open_gate("late")

    def replay():
        answer = gateway.post("/slow", json=BODY, key=key)
        if answer.status == 200:
            return answer
        refused_for_now(answer)
        return None
    answer = eventually(replay)
    assert answer.replayed and answer.header("X-Late") == "yes"
    assert answer.effect == upstream.last(key)["effect"]
    assert upstream.effects(key) == 1


def test_a_late_retry_answer_releases_the_key(gateway, upstream, key):
    first = gateway.post("/slow", json=BODY, key=key, test="gate=late; status=503")
    assert_problem(first, 504, "upstream-timeout")
    upstream.open_gate("late")
    second = eventually(lambda: (a := gateway.post("/slow", json=BODY, key=key)).status == 200
                        and a)
    assert not second.replayed
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]


def test_an_answer_later_than_late_is_not_waited_for(gateway, upstream, key):
    first = gateway.post("/deaf", json=BODY, key=key, test="gate=never")
    assert_problem(first, 504, "upstream-timeout")
    let_pass(1.0)  # late_answer, and some
    upstream.open_gate("never")
    settle()
    assert_problem(gateway.post("/deaf", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects(key) == 1


def test_a_time_out_under_the_fail_policy_is_the_one_answer(gateway, upstream, key):
    first = gateway.post("/slow-fail", json=BODY, key=key, test="gate=never")
    assert_problem(first, 504, "upstream-timeout")
    again = eventually(lambda: (a := gateway.post("/slow-fail", json=BODY, key=key)).status != 409
                       and a)
    assert (again.status, again.body) == (first.status, first.body)
    assert upstream.effects(key) == 1


def test_the_client_is_gone_when_the_late_answer_comes(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=late"))
        upstream.wait_effects(1, key)
        connection.reset()
    upstream.open_gate("late")
    answer = eventually(lambda: (a := gateway.post("/slow", json=BODY, key=key)).status == 200
                        and a)
    assert answer.replayed and upstream.effects(key) == 1


# --- the executor provably did not get it ---------------------------------------------------------


def test_a_refused_connection_releases_the_key(start_gateway, raw_upstream, key):
    seen = []

    def serve(peer, number):
        while request := peer.read_request():
            seen.append(request)
            peer.answer()
    later = raw_upstream(serve, listening=False)
    gateway = start_gateway({"path": "/charges", "upstream": later.url})
    for _ in range(2):
        problem = assert_problem(gateway.post("/charges", json=BODY, key=key), 502,
                                 "upstream-unreachable")
        assert later.url.rsplit(":", 1)[1] not in str(problem)
    later.listen()
    first = gateway.post("/charges", json=BODY, key=key)
    assert first.status == 200 and not first.replayed
    assert b"semel-attempt: 3\r\n" in seen[0].lower()
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert len(seen) == 1


def test_without_a_key_a_refused_connection_is_a_502(start_gateway, raw_upstream):
    closed = raw_upstream(lambda peer, number: None, listening=False)
    gateway = start_gateway({"path": "/*", "upstream": closed.url})
    assert gateway.post("/charges", json=BODY).status == 502
    assert gateway.get("/charges").status == 502


def test_an_accepting_upstream_that_closes_at_once_is_unknown(start_gateway, raw_upstream, key):
    """Bytes may have been taken: only a refused connection proves they were not."""
    hangs_up = raw_upstream(lambda peer, number: peer.read_request())
    gateway = start_gateway({"path": "/charges", "upstream": hangs_up.url})
    assert gateway.post("/charges", json=BODY, key=key).status == 502
    assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    assert hangs_up.accepted == 1


# --- the fence ------------------------------------------------------------------------------------


def test_a_late_first_attempt_never_overwrites_the_second(start_gateway, upstream, key):
    """Attempt 1 outlives its time out; whatever runs next, one answer is recorded and stays."""
    gateway = start_gateway({"path": "/charges", "unknown": "retry", "late_answer": "60s",
                             "upstream_timeout": scaled(300)})
    first = gateway.post("/charges", json=BODY, key=key, test="gate=zombie; header.X-From=first")
    assert_problem(first, 504, "upstream-timeout")
    second = gateway.post("/charges", json=BODY, key=key, test="header.X-From=second")
    upstream.open_gate("zombie")
    settled = eventually(lambda: (a := gateway.post("/charges", json=BODY, key=key)).status == 200
                         and a)
    if second.status == 200:
        assert settled.body == second.body and settled.header("X-From") == "second"
    else:
        refused_for_now(second)
        assert settled.header("X-From") == "first" and upstream.effects(key) == 1
    for _ in range(3):
        again = gateway.post("/charges", json=BODY, key=key)
        assert again.replayed and again.body == settled.body


def test_a_lost_answer_does_not_disturb_the_connection_to_the_client(gateway, upstream, key):
    with gateway.connect() as connection:
        lost = connection.request("POST", "/hold", json=BODY, key=key, test="close=mid")
        assert lost.status == 502
        assert connection.request("POST", "/hold", json=BODY, key=new_key()).status == 200


def test_a_plain_answer_cut_half_way_is_cut_for_the_client_too(gateway, upstream):
    """Without a key the answer streams: a short body must not look complete."""
    with pytest.raises(ConnectionEnded):
        gateway.post("/hold", json=BODY, test="close=mid; size=2000000")
