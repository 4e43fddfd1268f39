"""What cannot be is refused with a reason, and changes nothing."""

import pytest

from sql_app import raises, state


@pytest.mark.parametrize("named", [
    {"key": ""}, {"key": "k" * 1025}, {"operation": ""}, {"tenant": None}, {"key": None},
    {"fingerprint": None}, {"lease": "0"}, {"lease": "-1 second"}, {"lease": None}, {"lease": "8 days"},
    {"ttl": "0"}, {"ttl": "46 days"}, {"tombstone": "-1 second"}, {"unknown": "probe"}, {"unknown": None},
    {"token": b"short"}, {"token": bytes(16)}, {"namespace": None}, {"response_version": None}])
def test_a_claim_that_cannot_be_is_refused_with_a_reason(world, app, named):
    with raises("22023") as raised:
        app().claim(**named)
    assert any(word in str(raised.value) for word in named)
    assert world.one("SELECT count(*) FROM semel.records") == 0


@pytest.mark.parametrize("answer, says", [
    ((199, [], b""), "status"), ((100, [], b""), "status"), ((600, [], b""), "status"), ((None, [], b""), "status"),
    ((200, [["X", "a\r\nSet-Cookie: b"]], b""), "line break"), ((200, [["X", "a\nb"]], b""), "line break"),
    ((200, [["X\r\n", "a"]], b""), "name"), ((200, [["", "a"]], b""), "name"), ((200, [["X Y", "a"]], b""), "name"),
    ((200, {"X:": "a"}, b""), "name"), ((200, {"X": 1}, b""), "strings"), ((200, ["X"], b""), "name and a value"),
    ((200, [["X", "a", "b"]], b""), "name and a value"), ((200, "X: a", b""), "headers must be"),
    ((200, None, b""), "headers must be"), ((200, [["X", "a" * 70000]], b""), "64 KiB"), ((200, [], None), "body")])
def test_an_answer_that_cannot_be_is_refused_with_a_reason(world, app, answer, says):
    a = app()
    claim = a.claim()
    a.commit()
    with raises("22023") as raised:
        a.complete(claim.held, *answer)
    assert says in str(raised.value)
    a.rollback()
    assert state(world) == "in_progress"


@pytest.mark.parametrize("held", [(b"short", b"t" * 16), (bytes(32), b"short"), (None, b"t" * 16), (bytes(32), None)])
def test_a_record_or_token_that_cannot_be_one_is_refused(world, app, held):
    a = app()
    for call in (a.complete, a.release, a.guard):
        with raises("22023"):
            call(held)
        a.rollback()
