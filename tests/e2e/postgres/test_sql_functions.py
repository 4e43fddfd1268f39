"""claim, complete, release and guard in an application's own transactions: who executes, whose effect
commits, and what the others see meanwhile."""

import threading
import time

import pytest

from harness.peers.sql_app import effects, lease_runs_out, raises, state

AT_ONCE_SECONDS = 0.5  # a wait for a foreign transaction would be as long as the test lets it
ANSWER = (201, [["Content-Type", "text/plain"]], b"made")


# The way it is meant


def test_effect_and_record_commit_together_and_the_retry_replays(world, app):
    a, b = app(), app()
    claim = a.claim(fingerprint=b"tea")
    assert (claim.verdict, claim.attempt, len(claim.record), len(claim.token)) == ("execute", 1, 32, 16)
    a.effect()
    a.complete(claim.held, *ANSWER)
    a.commit()
    again = b.claim(fingerprint=b"tea")
    assert (again.verdict, again.status, again.headers, again.body) == ("replay", *ANSWER)
    assert again.record == claim.record and again.token is None
    assert b.claim(fingerprint=b"coffee").verdict == "mismatch"
    assert effects(world) == 1


def test_a_rollback_undoes_the_claim_with_the_effect(world, app):
    a, b = app(), app()
    claim = a.claim()
    a.effect()
    a.complete(claim.held)
    a.rollback()
    assert b.claim().verdict == "execute"
    assert effects(world) == 0


def test_a_released_claim_is_taken_again(world, app):
    a, b = app(), app()
    claim = a.claim()
    a.commit()
    a.release(claim.held, "the shop is closed")
    a.commit()
    assert state(world) == "released"
    assert "the shop is closed" in world.one("SELECT noted FROM semel.records")
    again = b.claim()
    assert (again.verdict, again.attempt) == ("execute", 2)
    assert again.token != claim.token


def test_every_header_of_an_object_or_a_list_comes_back(world, app):
    a = app()
    for number, headers in enumerate(({"X-A": "1", "X-B": "zwölf: 12"},
                                      [["X-A", "1"], ["X-A", "2"], ["X-Empty", ""]], {}, [])):
        claim = a.claim(str(number))
        a.complete(claim.held, 200, headers)
        pairs = sorted(headers.items()) if isinstance(headers, dict) else headers
        assert a.claim(str(number)).headers == [list(pair) for pair in pairs]


def test_headers_of_the_moment_are_not_kept(world, app):
    a = app()
    claim = a.claim()
    a.complete(claim.held, 200, [["Date", "now"], ["SET-COOKIE", "s=1"], ["Content-Length", "4"], ["ETag", '"1"'],
                                 ["X-RateLimit-Left", "1"], ["Transfer-Encoding", "chunked"],
                                 ["Authorization", "Bearer a"], ["proxy-authorization", "Basic b"],
                                 ["Authentication-Info", "c"], ["Proxy-Authentication-Info", "d"],
                                 ["Set-Cookie2", "e"], ["Clear-Site-Data", "*"]])
    assert a.claim().headers == [["ETag", '"1"']]


def test_a_body_of_any_bytes_comes_back(world, app):
    a = app()
    body = bytes(range(256)) * 400
    a.complete(a.claim().held, 200, [], body)
    assert a.claim().body == body


def test_a_derived_key_is_what_the_library_says(world):
    """Uses the vectors of tests/core/derive_test.cc."""
    assert world.one("SELECT semel.derive_key(%s, '')", bytes(32)) == "AeOt-dyqLbzaZrsgiRliywmWO6Nd_pyKUrdS9sEfNBE"
    assert world.one("SELECT semel.derive_key(%s, 'ledger')", bytes(32)) == "nIL7kcHK8xDQ0QrdLV2D-BAFkOyvbznc24RrluQC0AA"
    assert world.one("SELECT semel.derive_key(semel.record_id('default', 'shop', 'charges', 'order-1001'), "
                     "'upstream')") == "Zh29DOVQlnjujKTj6wBrgBPvElDFZ5cKLFcEkZY7FQk"


# Many at once


def test_of_64_sessions_that_claim_one_key_at_once_one_executes(world, app):
    sessions = [app() for _ in range(64)]
    ready = threading.Barrier(len(sessions))
    verdicts = []

    def claim(session):
        ready.wait()
        verdict = session.claim().verdict
        if verdict == "execute":
            session.effect()
        session.commit()
        verdicts.append(verdict)
    threads = [threading.Thread(target=claim, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdicts) == ["busy"] * 63 + ["execute"]
    assert effects(world) == 1


def test_of_64_sessions_that_take_over_one_orphan_at_once_one_executes(world, app):
    first = app()
    first.claim()
    first.commit()
    lease_runs_out(world)
    sessions = [app() for _ in range(64)]
    ready = threading.Barrier(len(sessions))
    attempts = []

    def claim(session):
        ready.wait()
        got = session.claim(unknown="retry")
        session.commit()
        if got.verdict == "execute":
            attempts.append(got.attempt)
        else:
            assert got.verdict == "busy"
    threads = [threading.Thread(target=claim, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert attempts == [2]


def test_a_claim_in_an_open_transaction_is_busy_to_others_at_once(world, app):
    a, b, c = app(), app(), app()
    claim = a.claim()
    begun = time.monotonic()
    assert b.claim().verdict == "busy"
    assert time.monotonic() - begun < AT_ONCE_SECONDS
    b.rollback()
    a.rollback()
    assert c.claim().verdict == "execute"
    assert claim.verdict == "execute"


def test_a_completion_in_an_open_transaction_is_busy_to_others_at_once(world, app):
    a, b, c = app(), app(), app()
    claim = a.claim()
    a.commit()
    lease_runs_out(world)
    a.effect()
    a.complete(claim.held)
    for policy in ("hold", "retry", "fail"):  # the lease is over, but the row is not to be had
        begun = time.monotonic()
        assert b.claim(unknown=policy).verdict == "busy"
        assert time.monotonic() - begun < AT_ONCE_SECONDS
        b.rollback()
    a.commit()
    assert c.claim().verdict == "replay"


def test_replays_do_not_block_each_other(world, app):
    a, b, c = app(), app(), app()
    a.complete(a.claim().held)
    a.commit()
    assert [b.claim().verdict, c.claim().verdict] == ["replay", "replay"]  # both in open transactions


def test_a_claim_waits_for_nobody_even_when_the_record_is_being_removed(world, app):
    a, b = app(), app()
    a.claim()
    a.commit()
    lease_runs_out(world)
    a.run("DELETE FROM semel.records")
    begun = time.monotonic()
    assert b.claim(unknown="retry").verdict == "busy"
    assert time.monotonic() - begun < AT_ONCE_SECONDS
    b.rollback()
    a.commit()
    assert b.claim().attempt == 1


# Only the holder's effect commits


def test_a_zombie_cannot_commit_its_effect(world, app):
    zombie, winner = app(), app()
    first = zombie.claim()
    zombie.commit()
    lease_runs_out(world)
    second = winner.claim(unknown="retry")
    assert (second.verdict, second.attempt) == ("execute", 2)
    winner.effect()
    winner.complete(second.held, *ANSWER)
    winner.commit()
    zombie.effect()
    with raises("SM001"):
        zombie.complete(first.held, *ANSWER)
    zombie.commit()  # an aborted transaction: this is a rollback
    assert effects(world) == 1


def test_a_zombie_that_completes_while_the_winner_works_cannot_either(world, app):
    zombie, winner = app(), app()
    first = zombie.claim()
    zombie.commit()
    lease_runs_out(world)
    second = winner.claim(unknown="retry")
    winner.commit()
    zombie.effect()
    with raises("SM001") as raised:
        zombie.complete(first.held)
    assert "another attempt" in str(raised.value) and "Roll back" in raised.value.diag.message_hint
    zombie.rollback()
    with raises("SM001"):
        zombie.release(first.held)
    zombie.rollback()
    winner.effect()
    winner.complete(second.held)
    winner.commit()
    assert effects(world) == 1


def test_trap_24_a_savepoint_that_swallows_the_stale_error_does_not_get_past_the_guard(world, app):
    zombie, winner = app(), app()
    first = zombie.claim()
    zombie.commit()
    zombie.guard(first.held)  # in the transaction of the effect, before the savepoint
    zombie.effect()
    lease_runs_out(world)
    winner.complete(winner.claim(unknown="retry").held)
    winner.commit()
    zombie.run("SAVEPOINT s")
    with raises("SM001"):
        zombie.complete(first.held)
    zombie.run("ROLLBACK TO SAVEPOINT s")  # the error is gone …
    with raises("SM001") as raised:
        zombie.commit()  # … and the effect cannot be committed all the same
    assert "guarded" in str(raised.value)
    assert effects(world) == 0
    assert world.one("SELECT count(*) FROM semel.guards") == 0


def test_without_a_guard_a_swallowed_error_does_slip_through(world, app):
    """Why guard exists; docs/sql.md says so too."""
    zombie, winner = app(), app()
    first = zombie.claim()
    zombie.commit()
    lease_runs_out(world)
    winner.complete(winner.claim(unknown="retry").held)
    winner.commit()
    zombie.effect()
    zombie.run("SAVEPOINT s")
    with raises("SM001"):
        zombie.complete(first.held)
    zombie.run("ROLLBACK TO SAVEPOINT s")
    zombie.commit()
    assert effects(world) == 1


def test_an_exception_block_that_swallows_the_error_does_not_get_past_the_guard(world, app):
    zombie, winner = app(), app()
    first = zombie.claim()
    zombie.commit()
    lease_runs_out(world)
    winner.claim(unknown="retry")
    winner.commit()
    with raises("SM001"):  # the guard itself sees it, if it is too late already
        zombie.guard(first.held)
    zombie.rollback()

    third = app()
    held = third.claim("another")
    third.guard(held.held)  # a claim of the same transaction can be guarded as well
    third.effect()
    third.run("""DO $$ BEGIN
                   PERFORM semel.complete(record => decode(%s, 'hex'), token => '\\x00000000000000000000000000000001', status => 200);
                 EXCEPTION WHEN OTHERS THEN NULL; END $$""", held.record.hex())
    with raises("SM001"):
        third.commit()
    assert effects(world) == 0


def test_a_guarded_transaction_that_completes_commits_and_leaves_nothing_behind(world, app):
    a = app()
    for key in ("one", "two"):
        claim = a.claim(key)
        a.guard(claim.held)
        a.run("SAVEPOINT s")
        a.effect()
        a.complete(claim.held)
        a.run("RELEASE SAVEPOINT s")
        a.guard(claim.held)  # after the completion it is as good
        a.commit()
    assert effects(world) == 2
    assert world.one("SELECT count(*) FROM semel.guards") == 0


def test_a_completion_undone_by_a_savepoint_is_noticed_by_the_guard(world, app):
    a = app()
    claim = a.claim()
    a.guard(claim.held)
    a.effect()
    a.run("SAVEPOINT s")
    a.complete(claim.held)
    a.run("ROLLBACK TO SAVEPOINT s")
    with raises("SM001"):
        a.commit()
    assert effects(world) == 0


def test_a_transaction_that_is_repeated_because_the_reply_to_its_commit_was_lost_acts_once(world, app):
    """The token is still current and the answer the same: only that it is another transaction tells."""
    a = app()
    claim = a.claim()
    a.commit()
    for attempt in (1, 2):
        a.effect()
        a.complete(claim.held, *ANSWER) if attempt == 1 else None
        if attempt == 1:
            a.commit()  # it is committed; say that the application never hears of it
    with raises("SM003") as raised:
        a.complete(claim.held, *ANSWER)
    assert "already" in str(raised.value)
    a.rollback()
    assert effects(world) == 1


def test_the_guard_does_not_take_an_earlier_transactions_completion_for_this_ones(world, app):
    a, b = app(), app()
    claim = a.claim()
    a.commit()
    b.guard(claim.held)
    b.effect()
    a.effect()
    a.complete(claim.held)
    a.commit()
    with raises("SM001"):
        b.commit()
    with raises("SM003"):
        b.guard(claim.held)
    b.rollback()
    assert effects(world) == 1


def test_a_call_of_age_does_not_make_another_transactions_completion_this_ones(world, app):
    """age() fixes the number that it counts from: here the very one that the next transaction gets."""
    a, b = app(), app()
    claim = a.claim()
    a.commit()
    b.run("SELECT age('3'::xid)")
    a.effect()
    a.complete(claim.held, *ANSWER)
    a.commit()
    assert b.run("SELECT age(xmin) FROM semel.records") == [(0,)]
    b.run("SAVEPOINT s")
    with raises("SM003"):
        b.guard(claim.held)
    b.run("ROLLBACK TO SAVEPOINT s")
    b.effect()
    with raises("SM003"):
        b.complete(claim.held, *ANSWER)
    b.rollback()
    assert effects(world) == 1


def test_a_number_that_came_with_a_restored_dump_does_not_make_a_completion_this_transactions(world, app):
    a, b = app(), app()
    claim = a.claim()
    a.complete(claim.held, *ANSWER)
    a.commit()
    a.run("UPDATE semel.records SET completed_in = (pg_current_xact_id()::text::bigint + 1)::text::xid8")
    a.commit()
    b.effect()
    assert b.run("SELECT completed_in = pg_current_xact_id() FROM semel.records") == [(True,)]
    with raises("SM003"):
        b.complete(claim.held, *ANSWER)
    b.rollback()


@pytest.mark.parametrize("savepoint", [False, True])
def test_within_one_transaction_a_completion_may_be_repeated(world, app, savepoint):
    a = app()
    claim = a.claim()
    if savepoint:
        a.run("SAVEPOINT s")
    a.complete(claim.held, *ANSWER)
    if savepoint:
        a.run("RELEASE SAVEPOINT s")
    a.complete(claim.held, *ANSWER)
    a.run("SAVEPOINT other")
    with raises("SM001"):  # but not with another answer
        a.complete(claim.held, 500)
    a.run("ROLLBACK TO SAVEPOINT other")
    a.commit()
    assert state(world) == "completed"


def test_a_claim_repeated_by_its_token_is_the_same_claim(world, app):
    """Its reply was lost, and nobody knows whether it was committed: claiming again settles it."""
    a, b = app(), app()
    token = b"0123456789abcdef"
    assert a.claim(token=token).attempt == 1
    a.commit()
    lease_runs_out(world)
    again = b.claim(token=token)
    assert (again.verdict, again.attempt, again.token) == ("execute", 1, token)
    b.commit()
    assert world.one("SELECT lease_until > semel.now_ms() FROM semel.records")
    assert a.claim(token=b"another one 1234").verdict == "busy"
    assert a.claim(token=token, fingerprint=b"other").verdict == "mismatch"


def test_a_late_completion_is_taken_while_nobody_else_has_claimed(world, app):
    a, b = app(), app()
    claim = a.claim()
    a.commit()
    lease_runs_out(world)
    assert b.claim().verdict == "unknown"
    b.commit()
    a.effect()
    a.complete(claim.held)
    a.commit()
    assert state(world) == "completed"


def test_a_record_locked_for_long_is_a_retriable_error_and_not_a_wait(world, app):
    a, b = app(), app()
    claim = a.claim()
    a.commit()
    b.run("SELECT FROM semel.records FOR UPDATE")
    begun = time.monotonic()
    a.effect()
    with raises("55P03") as raised:
        a.complete(claim.held)
    assert 1 < time.monotonic() - begun < 10
    assert "locked by another transaction" in str(raised.value)
    a.rollback()
    b.rollback()
    a.effect()
    a.complete(claim.held)
    a.commit()
    assert effects(world) == 1
    assert a.run("SHOW lock_timeout") == [("0",)]  # the application's own setting is left alone


def test_a_record_locked_for_a_moment_is_waited_for(world, app):
    """A gateway renews the lease as the application completes."""
    a, b = app(), app()
    claim = a.claim()
    a.commit()
    b.run("UPDATE semel.records SET version = nextval('semel.versions'), lease_until = lease_until + 1000")
    release = threading.Timer(0.2, b.commit)
    release.start()
    a.complete(claim.held)
    a.commit()
    release.join()
    assert state(world) == "completed"


def test_a_transaction_that_began_before_the_takeover_goes_by_the_moment_of_the_call(world, app):
    """now() would be the transaction's beginning, and the lease still good then."""
    a, b = app(), app()
    b.run("SELECT 1")  # b's transaction begins
    a.claim(lease="1 second")
    a.commit()
    assert b.claim(unknown="retry").verdict == "busy"
    while world.one("SELECT lease_until >= semel.now_ms() FROM semel.records"):
        time.sleep(0.05)
    assert b.claim(unknown="retry").verdict == "execute"


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_under_stricter_isolation_it_is_once_or_an_error_to_retry(world, app, isolation):
    a, b = app(), app()
    b.connection.set_session(isolation_level=isolation)
    b.run("SELECT 1 FROM semel.records")  # b's snapshot: nothing there
    a.complete(a.claim().held)
    a.commit()
    with raises("40001"):
        b.claim()
    b.rollback()
    assert b.claim().verdict == "replay"
