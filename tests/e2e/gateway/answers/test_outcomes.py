"""docs/spec.md 7: what an execution's end means for the next request with the key. A retry too many
is a second charge; one too few is an operation that never happens."""

import pytest

from harness.semel import assert_problem, assert_replay, new_key

BODY = {"amount": 100}
FINAL = [200, 201, 202, 203, 204, 206, 226, 303, 400, 402, 404, 405, 406, 409, 410, 411, 412,
         413, 415, 416, 418, 422, 423, 424, 426, 428, 451, 499]
RETRY = [300, 301, 302, 304, 305, 307, 308, 401, 403, 407, 408, 425, 429, 500, 501, 503, 505, 507,
         511, 520, 599]
UNKNOWN = [502, 504]


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "standard", "path": "/standard"},
        {"name": "cautious", "path": "/cautious", "outcomes": "cautious"},
        {"name": "listed", "path": "/listed",
         "outcomes": {"final": ["2xx", "500", "409"], "retry": ["404", "5xx"],
                      "unknown": ["418", "507"]}})


def expect(gateway, upstream, path, status, outcome, test=""):
    """One answer with that status, then what the next request gets."""
    key = new_key()
    first = gateway.post(path, json=BODY, key=key, test=f"status={status}; {test}")
    assert first.status == status and not first.replayed, first
    assert first.header("Idempotency-Outcome") is None
    second = gateway.post(path, json=BODY, key=key)
    if outcome == "final":
        assert_replay(second, first)
        assert second.header("Idempotency-Outcome") is None
        assert upstream.effects(key) == 1
    elif outcome == "retry":
        assert second.status == 200 and not second.replayed, second
        assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]
    else:
        assert assert_problem(second, 409, "outcome-unknown")["new_key_safe"] is False
        assert upstream.effects(key) == 1
    return first


@pytest.mark.parametrize("status", FINAL)
def test_final_by_default(gateway, upstream, status):
    expect(gateway, upstream, "/standard", status, "final")


@pytest.mark.parametrize("status", RETRY)
def test_retry_by_default(gateway, upstream, status):
    expect(gateway, upstream, "/standard", status, "retry")


@pytest.mark.parametrize("status", UNKNOWN)
def test_unknown_by_default(gateway, upstream, status):
    expect(gateway, upstream, "/standard", status, "unknown")


def test_the_answer_of_a_retry_outcome_passes_unchanged(gateway, upstream):
    first = expect(gateway, upstream, "/standard", 503, "retry",
                   "header.Retry-After=7; header.Stripe-Should-Retry=true; body=try later")
    assert first.header("Retry-After") == "7"
    assert first.header("Stripe-Should-Retry") == "true"
    assert first.body == b"try later"


@pytest.mark.parametrize("status", [409, 423])
def test_a_conflict_in_answer_to_a_later_attempt_is_not_the_answer(gateway, upstream, key, status):
    """A deduplicating executor says so of its first attempt: it is not the operation's result."""
    gateway.post("/standard", json=BODY, key=key, test="status=503")
    assert gateway.post("/standard", json=BODY, key=key, test=f"status={status}").status == status
    third = gateway.post("/standard", json=BODY, key=key)
    assert third.status == 200 and not third.replayed
    assert upstream.last(key)["attempt"] == "3"


@pytest.mark.parametrize("status, said", [
    (200, "retry"), (404, "retry"), (503, "final"), (502, "final"), (502, "retry"),
    (200, "unknown"), (503, "unknown"), (401, "final"),
])
def test_the_executor_decides_for_itself(gateway, upstream, status, said):
    expect(gateway, upstream, "/standard", status, said, f"outcome={said}")


@pytest.mark.parametrize("status, outcome", [(200, "final"), (503, "retry"), (502, "unknown")])
def test_a_word_nobody_knows_decides_nothing(gateway, upstream, status, outcome):
    expect(gateway, upstream, "/standard", status, outcome, "outcome=perhaps")


@pytest.mark.parametrize("status, outcome", [
    (200, "final"), (404, "final"), (429, "retry"), (503, "retry"), (500, "unknown"),
    (501, "unknown"), (502, "unknown"), (504, "unknown"), (505, "unknown"), (599, "unknown"),
])
def test_cautious(gateway, upstream, status, outcome):
    expect(gateway, upstream, "/cautious", status, outcome)


@pytest.mark.parametrize("status, outcome", [
    (200, "final"), (500, "final"), (404, "retry"), (502, "retry"), (503, "retry"),
    (418, "unknown"), (507, "unknown"), (400, "final"), (401, "retry"),
])
def test_configured_lists(gateway, upstream, status, outcome):
    expect(gateway, upstream, "/listed", status, outcome)


def test_a_listed_409_is_final_for_later_attempts_too(gateway, upstream, key):
    gateway.post("/listed", json=BODY, key=key, test="status=503")
    second = gateway.post("/listed", json=BODY, key=key, test="status=409")
    assert_replay(gateway.post("/listed", json=BODY, key=key), second)


def test_a_failure_replays_like_a_success(gateway, upstream, key):
    first = gateway.post("/standard", json=BODY, key=key,
                         test="status=402; body=card declined; header.X-Code=declined")
    replay = gateway.post("/standard", json=BODY, key=key)
    assert_replay(replay, first)
    assert replay.header("X-Code") == "declined"
