"""`semel check` on a payments API with one planted fault at a time: each fault is found by the checks that are meant to
find it, and by no other; nothing is found where nothing is wrong."""
import concurrent.futures
import re
import subprocess

import pytest

from conftest import Payments, semel_check, unlocked
from harness.semel import binary

# What must fail, and what may fail as well, where a fault shows in several ways that depend on time.
FAULTS = {
    "check-then-act": {"race/one-effect", "race/mixed"},
    "lock-expires": {"inflight/slow"},
    "loser-gets-500": {"race/answers"},
    "waiter-gets-empty": {"race/answers"},
    "no-retry-after": {"race/retry-after"},
    "one-at-a-time": {"race/many-keys"},
    "duplicate-sticks": {"race/then-replay", "inflight/slow"},
    "mismatch-replays": {"mismatch/refused"},
    "mismatch-executes": {"mismatch/refused", "mismatch/no-effect", "mismatch/in-flight", "race/mixed"},
    "mismatch-poisons": {"mismatch/does-not-poison"},
    "mismatch-clears": {"mismatch/does-not-poison"},
    "mismatch-leaks": {"mismatch/no-leak"},
    "mismatch-409": {"mismatch/422"},
    "mismatch-says-nothing": {"mismatch/says-why"},
    "in-flight-mismatch-executes": {"mismatch/in-flight", "race/mixed"},
    "path-blind": {"mismatch/other-path"},
    "query-blind": {"mismatch/other-query"},
    "method-blind": {"mismatch/other-method"},
    "status-lost": {"retry/status"},
    "headers-lost": {"retry/headers"},
    "body-rebuilt": {"retry/body"},
    "current-state": {"retry/body"},
    "stored-truncated": {"retry/large"},
    "error-status-lost": {"retry/error"},
    "no-marker": {"retry/marker"},
    "cookie-replayed": {"retry/no-cookie"},
    "date-replayed": {"retry/date"},
    "stored-after-sent": {"retry/at-once"},
    "header-fingerprint": {"retry/other-headers"},
    "restart-forgets": {"retry/after-restart"},
    "stuck-after-disconnect": {"lost/client-gone"},
    "gone-forgets": {"lost/client-gone"},
    "unread-forgets": {"lost/answer-cut"},
    "pipelined-executes": {"lost/pipelined"},
    "cut-request-claims": {"lost/request-cut"},
    "key-truncated": {"key/long-distinct"},
    "key-case-folded": {"key/case"},
    "wildcard-key": {"key/prefix-distinct"},
    "quoted-refused": {"key/quoted"},
    "escapes-merged": {"key/escaped"},
    "first-of-many": {"key/repeated"},
    "empty-key-shared": {"key/empty"},
    "bad-key-500": {"key/bad-bytes"},
    "long-key-500": {"key/too-long"},
    "missing-key-passes": {"key/missing"},
    "missing-says-nothing": {"key/missing-link"},
    "name-case-sensitive": {"key/name-case"},
    "get-uses-key": {"key/get-ignores"},
    "tenant-blind": {"tenant/other", "tenant/no-probe"},
    "auth-after-replay": {"tenant/replay-needs-auth"},
    "401-stored": {"tenant/401-not-kept"},
    "503-pinned": {"outcome/retryable"},
    "delete-ignores-key": {"delete/twice"},
}
MAY = {"unread-forgets": {"lost/client-gone"}, "mismatch-clears": {"race/mixed"}, "one-at-a-time": {"race/mixed"}}
# Faults that go to the root: many checks find them, these among others.
DEEP = {
    "keys-ignored": {"retry/one-effect", "retry/ten-times", "mismatch/refused", "race/one-effect", "lost/client-gone"},
    "per-connection": {"retry/one-effect", "retry/new-connection", "retry/ten-times", "race/one-effect"},
    "two-nodes": {"retry/ten-times", "race/one-effect"},
    "body-is-key": {"first/two-keys"},
}
RIGHT = ["right", "waits", "answers-202", "hit-or-miss"]
# Answers as if it had an effect, and has none.
PRETENDS = {"first/executes", "first/two-keys"}
EXPIRY = {"right": set(), "forgets-early": {"expiry/kept-as-said"}, "never-expires": {"expiry/then"}}
AT_ONCE = 12
PROCESSES = 2


def checked(servers, fault, *more):
    payments = servers[hash(fault) % len(servers)]
    return semel_check(payments.url(fault, "/charges"), "--count", payments.url(fault, "/count") + "#/charges/made",
                       "--strict", *unlocked(payments, fault), *more, timeout=300)


def checked_expiry(servers, fault):
    payments = servers[0]
    return semel_check(payments.url(fault, "/short-lived"), "--ttl", "2s", "--only", "expiry", timeout=300)


def checked_by_witness(servers, fault):
    """Without a counter."""
    payments = servers[0]
    return semel_check(payments.url(f"{fault}", "/charges"), "--strict", *unlocked(payments, fault), timeout=300)


@pytest.fixture(scope="module")
def results():
    servers = [Payments() for _ in range(PROCESSES)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {("counted", fault): pool.submit(checked, servers, fault) for fault in [*RIGHT, *FAULTS, *DEEP, "silent"]}
        jobs.update({("expiry", fault): pool.submit(checked_expiry, servers, fault) for fault in EXPIRY})
        jobs["counted", "pretends"] = pool.submit(checked, servers, "pretends", "--only", "first")
        found = {name: job.result() for name, job in jobs.items()}
    for name in ("right", "gone-forgets", "silent", "hit-or-miss"):  # alone: a run before has counted on the same API
        found["witness", name] = checked_by_witness(servers, name)
    for server in servers:
        server.stop()
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_gets_full_marks(results, name):
    result = results["counted", name]
    assert result.why("failed") == {} and result.why("unproven") == {} and result.code == 0
    assert {check for check in result.ids("n/a")} - {"race/retry-after"} == {"expiry/kept-as-said", "expiry/then"}
    grades = result.report["grades"]
    assert grades["safety"]["passed"] == grades["safety"]["graded"] >= 34
    assert grades["draft"]["passed"] == grades["draft"]["graded"] >= 16
    assert result.report["witness"] == ["/id", "Location"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_by_its_check_and_no_other(results, fault):
    result = results["counted", fault]
    failed = result.why("failed")
    assert FAULTS[fault] <= set(failed), (failed, result.why("unproven"))
    assert set(failed) <= FAULTS[fault] | MAY.get(fault, set()), failed
    levels = {check["level"] for check in result.report["checks"] if check["verdict"] == "failed"}
    assert result.code == (3 if "safety" in levels else 1)


@pytest.mark.parametrize("fault", DEEP)
def test_a_fault_at_the_root_is_found(results, fault):
    result = results["counted", fault]
    assert DEEP[fault] <= result.ids("failed"), result.why("unproven")
    assert result.code == 3


def test_an_answer_without_an_effect_is_found(results):
    assert results["counted", "pretends"].ids("failed") == PRETENDS


@pytest.mark.parametrize("fault", EXPIRY)
def test_expiry_is_held_against_what_was_said(results, fault):
    result = results["expiry", fault]
    assert result.ids("failed") == EXPIRY[fault]
    assert result.ids("passed") == {"expiry/kept-as-said", "expiry/then"} - EXPIRY[fault]


def test_without_a_counter_nothing_is_passed_that_was_not_seen(results):
    right = results["witness", "right"]
    assert right.why("failed") == {} and right.code == 0
    assert right.ids("unproven") == {"mismatch/no-effect"}
    # A field that first answers have as well marks a replay by its value.
    assert results["witness", "hit-or-miss"].ids("unproven") == {"mismatch/no-effect"}
    # The effect that was lost shows nowhere; the retry just has no marker.
    forgetful = results["witness", "gone-forgets"]
    assert forgetful.ids("failed") == set() and "lost/client-gone" in forgetful.ids("unproven")


def test_an_endpoint_that_says_nothing_of_its_own_is_judged_by_the_counter(results):
    """It answers 204: there is no witness."""
    counted = results["counted", "silent"]
    assert counted.report["witness"] == [] and counted.why("failed") == {}
    assert {"retry/one-effect", "retry/ten-times", "race/one-effect", "lost/client-gone", "first/two-keys"} <= counted.ids("passed")
    alone = results["witness", "silent"]
    assert alone.why("failed") == {} and alone.code == 0
    assert {"retry/one-effect", "retry/ten-times", "race/one-effect", "first/two-keys"} <= alone.ids("unproven")
    assert {"retry/status", "retry/at-once", "mismatch/refused", "mismatch/422"} <= alone.ids("passed")


def test_each_graded_check_finds_some_fault():
    """A check that no fault sets off may be unable to fail."""
    plan = subprocess.run([binary(), "check", "http://127.0.0.1/", "--dry-run"], capture_output=True, text=True, check=True)
    graded = set(re.findall(r"^  [ –] [SDP] (\S+)", plan.stdout, re.M))
    assert len(graded) > 50
    assert graded == set().union(*FAULTS.values(), *DEEP.values(), *EXPIRY.values(), PRETENDS)
