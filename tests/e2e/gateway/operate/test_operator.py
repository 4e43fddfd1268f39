"""docs/spec.md 7 and 16: what nobody knows is decided by a person. The decision is what every retry
gets, it is fenced against the execution it overrules, and it says who, when and why."""

import json

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import (Background, assert_problem, assert_replay, eventually, new_key, scaled)

BODY = {"amount": 100}
ANSWER = {"status": 201, "headers": {"Content-Type": "application/json", "X-By": "hand"},
          "body": "{\"charge\":\"ch_1\"}"}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "charges", "path": "/charges"},
        {"name": "waiting", "path": "/waiting", "in_progress": "wait", "wait_timeout": "20s"},
        {"name": "slow", "path": "/slow", "upstream_timeout": scaled(300), "late_answer": "60s"})


@pytest.fixture
def unknown(gateway, upstream, key):
    """A key whose answer was lost on its way back."""
    assert gateway.post("/charges", json=BODY, key=key, test="close=reset").status == 502
    assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    return gateway.record(key)


def test_what_is_resolved_with_an_answer_replays_exactly_that(gateway, upstream, key, unknown):
    done = gateway.change(f"/api/keys/{unknown['id']}/resolve",
                          {"reason": "found in the ledger", "answer": ANSWER})
    assert done.status == 200 and done.json()["state"] == "completed", done
    for _ in range(2):
        replay = gateway.post("/charges", json=BODY, key=key)
        assert replay.status == 201 and replay.body == ANSWER["body"].encode()
        assert replay.header("X-By") == "hand" and replay.replayed
        assert replay.header("Content-Length") == str(len(replay.body))
        assert replay.header("Idempotency-Key") == f'"{key}"'
    assert_problem(gateway.post("/charges", json={"amount": 1}, key=key), 422, "key-reused")
    assert upstream.effects(key) == 1


def test_what_is_released_executes_once_more_as_attempt_2(gateway, upstream, key, unknown):
    done = gateway.change(f"/api/keys/{unknown['id']}/release", {"reason": "not in the ledger"})
    assert done.status == 200 and done.json()["state"] == "released", done
    assert_problem(gateway.post("/charges", json={"amount": 1}, key=key), 422, "key-reused")
    second = gateway.post("/charges", json=BODY, key=key)
    assert second.status == 200 and not second.replayed
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]
    assert_replay(gateway.post("/charges", json=BODY, key=key), second)


def test_a_decision_is_made_once(gateway, upstream, key, unknown):
    first = gateway.change(f"/api/keys/{unknown['id']}/resolve",
                           {"reason": "found", "answer": ANSWER})
    assert first.status == 200
    for path, decision in (("release", {"reason": "oops"}),
                           ("resolve", {"reason": "oops", "answer": {"status": 402}})):
        again = gateway.change(f"/api/keys/{unknown['id']}/{path}", {**decision, "force": True})
        assert again.status == 409 and again.json()["code"] == "refused"
        assert "nothing to resolve" in again.json()["detail"]
    assert gateway.post("/charges", json=BODY, key=key).status == 201


def test_who_when_and_why_are_in_the_record_and_in_the_log(gateway, upstream, key, unknown):
    gateway.change(f"/api/keys/{unknown['id']}/release", {"reason": "ticket 4711"})
    history = gateway.record(key)["history"]
    assert [h["state"] for h in history] == ["in_progress", "unknown", "released"]
    assert history[-1]["note"] == "released by admin: ticket 4711"
    assert history[-1]["at"] >= history[-2]["at"]
    line = eventually(lambda: next((x for x in gateway.stderr().splitlines()
                                    if "operator" in x and unknown["id"] in x), None))
    for word in ("did=release", "who=admin", 'why="ticket 4711"', "result=done"):
        assert word in line
    assert gateway.admin_token() not in gateway.stderr()


# --- while it may still run -----------------------------------------------------------------------


def test_refused_while_it_runs_and_the_answer_is_recorded(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        record = gateway.record(key)
        assert record["state"] == "in_progress"
        for path, more in (("release", {}), ("resolve", {"answer": ANSWER})):
            refused = gateway.change(f"/api/keys/{record['id']}/{path}", {"reason": "now", **more})
            assert refused.status == 409 and "may still run" in refused.json()["detail"]
        by_command = gateway.keys("release", record["id"], "--reason", "now")
        assert by_command.returncode == 4 and b"--force" in by_command.stderr
        upstream.open_gate("g")
        first = connection.read_response()
    assert first.status == 200
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1


def test_refused_while_a_late_answer_is_listened_for(gateway, upstream, key):
    first = gateway.post("/slow", json=BODY, key=key, test="gate=late")
    assert_problem(first, 504, "upstream-timeout")
    record = gateway.record(key)
    assert record["state"] == "unknown" and record["unknown_since"]
    refused = gateway.change(f"/api/keys/{record['id']}/release", {"reason": "impatient"})
    assert refused.status == 409 and "may still run" in refused.json()["detail"]
    upstream.open_gate("late")
    eventually(lambda: gateway.post("/slow", json=BODY, key=key).status == 200)
    assert upstream.effects(key) == 1


def test_trap_3_the_executor_answers_after_a_forced_release_and_is_fenced(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=first"))
        upstream.wait_effects(1, key)
        record = gateway.record(key)
        done = gateway.change(f"/api/keys/{record['id']}/release",
                              {"reason": "the executor was switched off", "force": True})
        assert done.status == 200
        second = gateway.post("/charges", json=BODY, key=key)
        assert second.status == 200 and not second.replayed
        upstream.open_gate("first")
        first = connection.read_response()
    # The overruled execution's client is answered from the record, never with its own answer.
    assert first.effect == second.effect and first.replayed
    assert_replay(gateway.post("/charges", json=BODY, key=key), second)
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]
    assert "although it may still run" in json.dumps(gateway.record(key)["history"])


def test_a_late_answer_after_a_forced_resolution_changes_nothing(gateway, upstream, key):
    assert gateway.post("/slow", json=BODY, key=key, test="gate=late").status == 504
    record = gateway.record(key)
    done = gateway.change(f"/api/keys/{record['id']}/resolve",
                          {"reason": "settled by phone", "answer": ANSWER, "force": True})
    assert done.status == 200
    upstream.open_gate("late")
    eventually(lambda: gateway.metrics()["semel_in_progress"] == 0)
    replay = gateway.post("/slow", json=BODY, key=key)
    assert replay.status == 201 and replay.body == ANSWER["body"].encode()


def test_those_who_wait_for_it_get_the_forced_decision_at_once(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/waiting", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        duplicate = Background(gateway.post, "/waiting", json=BODY, key=key)
        eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
        record = gateway.record(key)
        assert gateway.change(f"/api/keys/{record['id']}/resolve",
                              {"reason": "known", "answer": ANSWER, "force": True}).status == 200
        assert duplicate.result().status == 201
        upstream.open_gate("g")
        assert connection.read_response().status == 201
    assert upstream.effects(key) == 1


def test_trap_6_what_a_crash_left_behind_is_seen_and_released(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"}, store="embedded")
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        gateway.kill9()
    gateway.start()
    eventually(lambda: gateway.metrics()["semel_unknown_records"] == 1)
    listed = gateway.keys("ls", "--where", "state=unknown", "--json")
    assert listed.returncode == 0, listed
    [found] = json.loads(listed.stdout)["keys"]
    assert (found["key"], found["attempt"], found["operation"]) == (key, 1, "charges")
    assert gateway.keys("release", found["id"], "--reason", "crashed, no charge").returncode == 0
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]


# --- many at once ---------------------------------------------------------------------------------


def test_what_is_forgotten_is_gone_at_once_and_new_after_a_while(gateway, upstream, key):
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    record = gateway.record(key)
    forgotten = gateway.change(f"/api/keys/{record['id']}/forget", {"reason": "erasure 17"})
    assert forgotten.status == 200 and forgotten.json()["state"] == "tombstone", forgotten
    assert forgotten.json()["answer"] is None
    assert "forgotten by" in forgotten.json()["history"][-1]["note"]
    # No cache of any node may give the answer for longer, and nothing is executed before.
    answer = gateway.post("/charges", json={"amount": 1}, key=key)
    assert_problem(answer, 410, "key-expired")
    assert upstream.effects(key) == 1
    again = gateway.change(f"/api/keys/{record['id']}/forget", {"reason": "erasure 17"})
    assert (again.status, again.json()["code"]) == (409, "refused")
    forced = gateway.change(f"/api/keys/{record['id']}/forget", {"reason": "x", "force": True})
    assert (forced.status, forced.json()["code"]) == (400, "bad-decision")
    eventually(lambda: gateway.post("/charges", json={"amount": 1}, key=key).status == 200,
               timeout=30)
    assert upstream.effects(key) == 2


@pytest.fixture
def crowd(start_gateway, upstream):
    """Three unknown charges, one unknown refund, and a charge that is done."""
    gateway = start_gateway({"name": "charges", "path": "/charges"},
                            {"name": "refunds", "path": "/refunds"})
    lost = [new_key() for _ in range(3)]
    for one in lost:
        gateway.post("/charges", json=BODY, key=one, test="close=reset")
    refund, done = new_key(), new_key()
    gateway.post("/refunds", json=BODY, key=refund, test="close=reset")
    gateway.post("/charges", json=BODY, key=done)
    return gateway, lost, refund, done


def test_many_are_released_by_what_they_have_in_common(crowd, upstream):
    gateway, lost, refund, done = crowd
    where = {"operation": "charges"}
    rehearsal = gateway.change("/api/keys/release",
                               {"where": where, "reason": "x", "dry_run": True}).json()
    assert len(rehearsal["ids"]) == 3 and gateway.record(lost[0])["state"] == "unknown"
    answer = gateway.change("/api/keys/release", {"where": where, "reason": "outage 12"}).json()
    assert answer["release"] == 3 and answer["refused"] == [] and answer["next"] is None
    assert sorted(answer["ids"]) == sorted(rehearsal["ids"])
    for one in lost:
        assert gateway.record(one)["history"][-1]["note"] == "released by admin: outage 12"
    assert gateway.record(refund)["state"] == "unknown"
    assert gateway.record(done)["state"] == "completed"


def test_many_in_batches(crowd, upstream):
    gateway, lost, *_ = crowd
    decision = {"where": {"state": "unknown"}, "reason": "refunded by hand", "limit": 2,
                "answer": {"status": 200, "body": "ok"}}
    first = gateway.change("/api/keys/resolve", decision).json()
    assert first["resolve"] == 2 and first["next"]
    second = gateway.change("/api/keys/resolve", {**decision, "cursor": first["next"]}).json()
    assert second["resolve"] == 2
    assert not set(first["ids"]) & set(second["ids"])
    for one in lost:
        assert gateway.post("/charges", json=BODY, key=one).body == b"ok"


def test_of_many_those_that_run_are_refused_by_name(crowd, upstream, key):
    gateway, *_ = crowd
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        answer = gateway.change("/api/keys/release", {"where": {"state": "in_progress"},
                                                      "reason": "all of them"}).json()
        assert answer["release"] == 0
        assert [r["id"] for r in answer["refused"]] == [gateway.record(key)["id"]]
        assert "may still run" in answer["refused"][0]["why"]
        upstream.open_gate("g")
        assert connection.read_response().status == 200


# --- the command line -----------------------------------------------------------------------------


def test_the_commands_list_show_and_resolve(gateway, upstream, key, unknown):
    listed = gateway.keys("ls", "--where", f"state=unknown,key={key}")
    assert listed.returncode == 0, listed
    assert key in listed.stdout.decode() and unknown["id"][:16] in listed.stdout.decode()
    shown = gateway.keys("show", unknown["id"][:16])
    assert shown.returncode == 0 and b"unknown since" in shown.stdout, shown
    body = bytes(range(256))
    done = gateway.keys("resolve", unknown["id"], "--status", 202, "--header", "X-A: b c",
                        "--header", "X-A: d", "--body", "-", "--reason", "by hand", stdin=body)
    assert done.returncode == 0 and b"completed" in done.stdout, done
    replay = gateway.post("/charges", json=BODY, key=key)
    assert (replay.status, replay.body, replay.all("X-A")) == (202, body, ["b c", "d"])
    shown = gateway.keys("show", unknown["id"], "--json")
    assert json.loads(shown.stdout)["history"][-1]["note"] == "completed by admin: by hand"
    assert "completed by admin: by hand" in gateway.keys("show", unknown["id"]).stdout.decode()


def test_the_exit_codes_mean_something(gateway, upstream, key, unknown):
    (gateway.folder / "other").write_text("someone 0123456789abcdef0123\n")
    (gateway.folder / "other").chmod(0o600)
    reason = ("--reason", "x")
    assert gateway.keys("show", "0" * 64).returncode == 3
    assert gateway.keys("show", "not-an-id").returncode == 2
    assert gateway.keys("release", unknown["id"]).returncode == 2  # no reason
    assert gateway.keys("release", unknown["id"], "--reason", " ").returncode == 2
    assert gateway.keys("release", *reason).returncode == 2  # of what?
    assert gateway.keys("release", "--where", "nonsense", *reason).returncode == 2
    assert gateway.keys("release", unknown["id"], *reason, "--token-file", "other").returncode == 5
    assert gateway.record(key)["state"] == "unknown"
    assert gateway.keys("release", unknown["id"], *reason).returncode == 0
    refused = gateway.keys("release", unknown["id"], *reason)
    assert refused.returncode == 4 and b"nothing to resolve" in refused.stderr


def test_a_list_that_is_refused_has_no_head(gateway):
    refused = gateway.keys("ls", "--where", "colour=red")
    assert (refused.returncode, refused.stdout) == (2, b""), refused
    none = gateway.keys("ls", "--where", "operation=nobody")
    assert none.returncode == 0 and none.stdout.startswith(b"RECORD ")
    assert none.stdout.count(b"\n") == 1


def test_many_by_command(crowd, upstream):
    gateway, lost, refund, _ = crowd
    done = gateway.keys("release", "--where", "state=unknown,operation=charges", "--where",
                        "older=0s", "--reason", "outage 12")
    assert done.returncode == 0 and len(done.stdout.split()) == 3, done
    assert b"3 released, 0 refused" in done.stderr
    assert gateway.record(refund)["state"] == "unknown"
    nothing = gateway.keys("ls", "--where", "state=unknown,older=1h", "--json")
    assert json.loads(nothing.stdout) == {"keys": [], "more": False}
