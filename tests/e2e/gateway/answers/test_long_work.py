"""docs/spec.md 8: `in_progress: accept`, `Prefer: respond-async` and the status resource. What was
answered with 202 is executed exactly once, or can be seen to wait."""

import base64
import re

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import (Background, assert_problem, assert_replay, break_store, eventually,
                           new_key)
from harness.peers.upstream_control import field

BODY = {"amount": 100}
ASYNC = [("Prefer", "respond-async")]
TENANT = {"from": "authorization"}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "accept", "path": "/accept", "in_progress": "accept"},
        {"name": "brief", "path": "/brief", "in_progress": "accept", "ttl": "1s",
         "tombstone": "1h"},
        {"name": "conflict", "path": "/conflict"})


def queue(gateway, key, path="/accept", test="", headers=(), body=None):
    """The Location of what was accepted."""
    answer = gateway.post(path, json=body or BODY, key=key, test=test,
                          headers=ASYNC + list(headers))
    assert answer.status == 202, answer
    assert answer.header("Preference-Applied") == "respond-async"
    assert answer.header("Idempotency-Key") == f'"{key}"'
    assert int(answer.header("Retry-After")) >= 1
    assert answer.json()["state"] == "queued"
    return answer.header("Location")


def status(gateway, location, wait="20s", **more):
    answer = gateway.get(location + (f"?wait={wait}" if wait else ""), **more)
    assert answer.status == 200, answer
    assert answer.header("Cache-Control") == "no-store"
    return answer.json()


# --- Prefer: respond-async -------------------------------------------------------------------


def test_the_first_request_is_accepted_and_done_in_the_background(gateway, upstream, key):
    location = queue(gateway, key, test="status=201; header.X-Kept=yes; gate=g-" + key)
    upstream.wait_effects(1, key)
    running = gateway.get(location)
    assert running.header("Retry-After") and running.json()["state"] == "in_progress"
    assert running.json()["attempt"] == 1 and "response" not in running.json()
    upstream.open_gate("g-" + key)
    done = status(gateway, location)
    assert (done["state"], done["result"], done["attempt"]) == ("completed", "succeeded", 1)
    assert done["reason"] == "status 201" and done["age_seconds"] >= 0
    assert re.search(r'"age_seconds":\d+(\.\d{1,3})?,', gateway.get(location).body.decode())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", done["created_at"])
    assert done["created_at"] <= done["updated_at"] < done["expires_at"]
    assert done["response"]["status"] == 201
    assert ["X-Kept", "yes"] in done["response"]["headers"]
    replay = gateway.post("/accept", json=BODY, key=key)
    assert replay.replayed and replay.status == 201
    assert replay.body.decode() == done["response"]["body"]
    assert upstream.effects(key) == 1


def test_the_executor_gets_the_request_as_it_was_sent(gateway, upstream, key):
    body = bytes(range(256)) * 8
    answer = gateway.post("/accept?a=1&b=%20", body, key=key,
                          headers=ASYNC + [("Content-Type", "application/octet-stream"),
                                           ("X-Mine", "one"), ("X-Mine", "two"),
                                           ("Connection", "X-Hop"), ("X-Hop", "gone"),
                                           ("Prefer", 'return=minimal; foo="a, b"')])
    assert answer.status == 202
    upstream.wait_effects(1, key)
    got = upstream.last(key)
    assert (got["method"], got["target"]) == ("POST", "/accept?a=1&b=%20")
    assert got["bytes"] == len(body) and got["attempt"] == "1"
    assert field(got, "X-Mine") == "one, two" and field(got, "X-Hop") is None
    assert field(got, "Host") == "semel.test"
    assert field(got, "X-Forwarded-For") == "127.0.0.1"
    # Semel removes the preference that it has honoured itself, and passes the others on.
    assert field(got, "Prefer") == 'return=minimal; foo="a, b"'


@pytest.mark.parametrize("prefer,applied", [
    ("respond-async", True), ("Respond-Async", True), ("respond-async, wait=10", True),
    ("return=minimal, respond-async; foo=bar", True), ('respond-async=""', True),
    ('foo="respond-async"', False), ('foo="a, respond-async"', False), ("respond-asynchronous", False),
    ("respond-async=no", False), ("", False), ('foo="', False), (",,;=", False)])
def test_preferences_are_read_as_rfc_7240_says(gateway, upstream, prefer, applied):
    key = new_key()
    answer = gateway.post("/accept", json=BODY, key=key, headers=[("Prefer", prefer)])
    assert answer.status == (202 if applied else 200)
    assert (answer.header("Preference-Applied") == "respond-async") is applied
    upstream.wait_effects(1, key)


def test_elsewhere_the_preference_is_the_executors_business(gateway, upstream, key):
    answer = gateway.post("/conflict", json=BODY, key=key, headers=ASYNC)
    assert answer.status == 200 and answer.header("Preference-Applied") is None
    assert field(upstream.last(key), "Prefer") == "respond-async"


def test_a_body_too_large_to_be_kept_is_executed_at_once(gateway, upstream, key):
    answer = gateway.post("/accept", b"x" * (1024 * 1024 + 1), key=key, headers=ASYNC)
    assert answer.status == 200 and answer.header("Preference-Applied") is None
    assert upstream.last(key)["bytes"] == 1024 * 1024 + 1


def test_a_body_that_was_spooled_is_kept_whole(gateway, upstream, key):
    body = bytes(range(256)) * 2400  # 600 KiB
    answer = gateway.post("/accept", body, key=key, headers=ASYNC)
    assert answer.status == 202
    assert status(gateway, answer.header("Location"))["state"] == "completed"
    assert upstream.last(key)["bytes"] == len(body)


def test_a_finished_operation_is_replayed_whatever_is_preferred(gateway, upstream, key):
    first = gateway.post("/accept", json=BODY, key=key)
    assert_replay(gateway.post("/accept", json=BODY, key=key, headers=ASYNC), first)
    assert upstream.effects(key) == 1


def test_another_request_under_a_queued_key_is_refused(gateway, upstream, key):
    location = queue(gateway, key, test="gate=g-" + key)
    for headers in ([], ASYNC):
        answer = gateway.post("/accept", json={"amount": 1}, key=key, headers=headers)
        assert_problem(answer, 422, "key-reused")
    upstream.open_gate("g-" + key)
    assert status(gateway, location)["state"] == "completed"
    assert upstream.effects(key) == 1


def test_many_at_once_under_one_key_are_one(gateway, upstream, key):
    calls = [Background(gateway.post, "/accept", json=BODY, key=key, headers=ASYNC)
             for _ in range(12)]
    answers = [call.result() for call in calls]
    locations = {a.header("Location") for a in answers if a.status == 202}
    assert len(locations) == 1
    assert all(a.status == 202 or a.replayed for a in answers)
    assert status(gateway, locations.pop())["state"] == "completed"
    assert upstream.effects(key) == 1


# --- in_progress: accept ---------------------------------------------------------------------


def test_a_duplicate_in_flight_is_told_where_to_look(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/accept", json=BODY, key=key, test="gate=g-" + key))
        upstream.wait_effects(1, key)
        duplicate = gateway.post("/accept", json=BODY, key=key)
        assert duplicate.status == 202 and duplicate.header("Preference-Applied") is None
        assert duplicate.header("Retry-After") and duplicate.json()["state"] == "in_progress"
        again = gateway.post("/accept", json=BODY, key=key, headers=ASYNC)
        assert again.header("Location") == duplicate.header("Location")
        upstream.open_gate("g-" + key)
        first = connection.read_response()
    assert first.status == 200  # who asked for nothing gets the answer
    done = status(gateway, duplicate.header("Location"))
    assert done["response"]["body"] == first.body.decode()
    assert upstream.effects(key) == 1
    assert gateway.result_count("accept", "accepted") >= 2


def test_the_policy_page_says_so(gateway):
    routes = {r["name"]: r for r in gateway.get("/.semel/policy").json()["routes"]}
    assert routes["accept"]["in_progress"] == "accept"
    assert routes["accept"]["respond_async"]["status_at"] == "/.semel/operations/{handle}"
    assert "respond_async" not in routes["conflict"]


# --- the status resource ---------------------------------------------------------------------


def test_wait_is_woken_by_the_end_and_not_before(gateway, upstream, key):
    location = queue(gateway, key, test="gate=g-" + key)
    upstream.wait_effects(1, key)
    waiting = Background(gateway.get, location + "?wait=60s")
    eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
    assert not waiting.done
    upstream.open_gate("g-" + key)
    assert waiting.result().json()["state"] == "completed"


def test_wait_ends_by_itself(gateway, upstream, key):
    location = queue(gateway, key, test="gate=g-" + key)
    upstream.wait_effects(1, key)
    assert status(gateway, location, wait="50ms")["state"] == "in_progress"
    assert status(gateway, location, wait="0")["state"] == "in_progress"
    assert_problem(gateway.get(location + "?wait=soon"), 400, "bad-request")
    upstream.open_gate("g-" + key)


def test_a_failure_is_an_answer(gateway, upstream, key):
    location = queue(gateway, key, test="status=402")
    done = status(gateway, location)
    assert (done["state"], done["result"]) == ("completed", "failed")
    assert done["response"]["status"] == 402


def test_a_retry_outcome_is_told_and_the_client_sends_it_again(gateway, upstream, key):
    location = queue(gateway, key, test="status=503")
    released = status(gateway, location)
    assert (released["state"], released["attempt"]) == ("released", 1)
    assert released["reason"] == "status 503" and "response" not in released
    assert queue(gateway, key) == location
    done = status(gateway, location)
    assert (done["state"], done["attempt"]) == ("completed", 2)
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]


def test_an_unknown_outcome_is_told(gateway, upstream, key):
    location = queue(gateway, key, test="close=reset")
    unknown = status(gateway, location)
    assert unknown["state"] == "unknown" and unknown["new_key_safe"] is False
    assert "reason" not in unknown  # what broke behind it is the operator's business
    assert_problem(gateway.post("/accept", json=BODY, key=key, headers=ASYNC), 409,
                   "outcome-unknown")
    assert upstream.effects(key) == 1


def test_a_body_that_is_not_text_is_given_in_base64(start_gateway, raw_upstream, key):
    body = bytes(range(256))

    def serve(peer, _):
        peer.read_request()
        peer.answer(body)

    binary = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "in_progress": "accept", "upstream": binary.url})
    done = status(gateway, queue(gateway, key, path="/raw"))
    assert base64.b64decode(done["response"]["body_base64"]) == body


def test_a_header_that_is_not_utf8_does_not_spoil_the_json(gateway, upstream, key):
    location = queue(gateway, key, test="header.X-Name=J%F6rg; header.X-Town=K%C3%B6ln")
    headers = status(gateway, location)["response"]["headers"]
    assert ["X-Name", r"J\xf6rg"] in headers and ["X-Town", "Köln"] in headers
    # A repeated request gets the original bytes.
    assert gateway.post("/accept", json=BODY, key=key).header("X-Name") == "J\xf6rg"


def test_an_expired_operation_is_gone(gateway, upstream, key):
    location = queue(gateway, key, path="/brief")
    status(gateway, location)
    eventually(lambda: gateway.get(location).status == 410)


def test_a_handle_that_is_none_is_not_found(gateway, upstream, key):
    location = queue(gateway, key)
    handle = location.rsplit("/", 1)[1]
    assert re.fullmatch(r"[A-Za-z0-9_-]{64,}", handle)
    assert key.encode() not in base64.urlsafe_b64decode(handle + "==")

    def other(letter):
        return "B" if letter == "A" else "A"

    for wrong in (handle[:-1] + other(handle[-1]), other(handle[0]) + handle[1:], handle[:-1], handle + "A",
                  "", "x", handle + "=", "A" * 64):
        answer = gateway.get("/.semel/operations/" + wrong)
        assert answer.status == 404, wrong
    assert gateway.request("POST", location).status == 404
    assert gateway.request("HEAD", location).status == 200


def test_another_tenant_sees_nothing_and_cannot_tell(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, tenant=TENANT)
    ann, bob = [("Authorization", "Bearer ann")], [("Authorization", "Bearer bob")]
    location = queue(gateway, key, path="/x", headers=ann)
    assert status(gateway, location, headers=ann)["state"] == "completed"
    foreign = gateway.get(location, headers=bob)
    nowhere = gateway.get("/.semel/operations/" + "A" * 64, headers=bob)
    assert foreign.status == nowhere.status == 404
    assert foreign.body == nowhere.body
    assert [n for n, _ in foreign.headers] == [n for n, _ in nowhere.headers]
    assert_problem(gateway.get(location), 401, "tenant-unknown")
    # For another tenant this key is another operation, with another handle.
    assert queue(gateway, key, path="/x", headers=bob) != location
    upstream.wait_effects(2, key)


# --- ends and beginnings of the process ------------------------------------------------------

ONE_AT_A_TIME = {"limits": {"in_flight": 4}}  # a quarter of it runs in the background


def held_back(gateway, upstream, count):
    """One execution that blocks the only place, and `count` more that wait behind it."""
    first, keys = new_key(), [new_key() for _ in range(count)]
    locations = [queue(gateway, first, path="/x", test="gate=g-" + first)]
    upstream.wait_effects(1, first)
    locations += [queue(gateway, key, path="/x", body={"key": key}) for key in keys]
    return first, keys, locations


def test_202_was_sent_and_the_process_died(start_gateway, upstream):
    """DESIGN 6.31: nobody will retry; what answers 202 must have kept the request."""
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, store="embedded",
                            **ONE_AT_A_TIME)
    first, keys, locations = held_back(gateway, upstream, 3)
    assert all(upstream.arrived(key) == 0 for key in keys)
    gateway.kill9()
    gateway.start()
    for key, location in zip(keys, locations[1:]):
        done = status(gateway, location)
        assert (done["state"], done["attempt"]) == ("completed", 1)
        assert upstream.effects(key) == 1
        assert gateway.post("/x", json={"key": key}, key=key).replayed
    # The execution that had begun may have taken effect.
    assert status(gateway, locations[0])["state"] == "unknown"
    assert upstream.effects(first) == 1


def test_a_drain_ends_what_runs_and_leaves_the_rest_to_the_next_run(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, drain_timeout="60s",
                            store="embedded", **ONE_AT_A_TIME)
    first, keys, locations = held_back(gateway, upstream, 2)
    gateway.terminate()
    eventually(lambda: gateway.refuses_connections())
    assert gateway.running
    upstream.open_gate("g-" + first)
    assert gateway.wait() == 0
    assert all(upstream.arrived(key) == 0 for key in keys)
    gateway.start()
    assert status(gateway, locations[0])["state"] == "completed"
    for key, location in zip(keys, locations[1:]):
        assert status(gateway, location)["state"] == "completed"
        assert upstream.effects(key) == 1


def test_a_drain_does_not_wait_for_those_who_look(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, drain_timeout="60s",
                            **ONE_AT_A_TIME)
    first, _, locations = held_back(gateway, upstream, 1)
    looks = Background(gateway.get, locations[1] + "?wait=60s")
    eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
    gateway.terminate()
    assert looks.result().json()["state"] == "queued"
    upstream.open_gate("g-" + first)
    assert gateway.wait() == 0


def test_queued_work_is_bounded(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, store="embedded",
                            **ONE_AT_A_TIME)
    first, keys, locations = held_back(gateway, upstream, 3)
    refused = gateway.post("/x", json=BODY, key=new_key(), headers=ASYNC)
    assert_problem(refused, 503, "overloaded")
    assert refused.header("Retry-After")
    assert gateway.post("/x", json=BODY, key=new_key()).status == 200  # others are not kept out
    upstream.open_gate("g-" + first)
    for location in locations:
        assert status(gateway, location)["state"] == "completed"
    assert status(gateway, queue(gateway, new_key(), path="/x"))["state"] == "completed"


def test_work_whose_route_is_gone_stays_queued_and_is_logged(start_gateway, upstream):
    gateway = start_gateway({"name": "old", "path": "/x", "in_progress": "accept"},
                            {"name": "rest", "path": "/*"}, store="embedded", **ONE_AT_A_TIME)
    _, keys, locations = held_back(gateway, upstream, 1)
    gateway.kill9()
    old = gateway.config["routes"][0]
    gateway.config["routes"] = gateway.config["routes"][1:]
    gateway.start()
    eventually(lambda: "queued work stays queued" in gateway.stderr())
    assert status(gateway, locations[1], wait=None)["state"] == "queued"
    assert upstream.arrived(keys[0]) == 0
    gateway.config["routes"] = [old] + gateway.config["routes"]
    gateway.restart()
    assert status(gateway, locations[1])["state"] == "completed"
    assert upstream.effects(keys[0]) == 1


def test_a_store_that_fails_accepts_nothing(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*", "in_progress": "accept", "store_down": "pass"},
                            store="embedded", inherit_signals=True)
    break_store(gateway)
    answer = gateway.post("/x", json=BODY, key=key, headers=ASYNC)
    problem = assert_problem(answer, 503, "store-unavailable")
    assert problem["new_key_safe"] is False
    assert upstream.arrived(key) == 0


# --- one tenant's work and the others' -------------------------------------------------------

TENANTS = {"tenant": {"from": "header", "name": "X-Tenant"}, "trusted_proxies": ["127.0.0.1"]}


def of(tenant):
    return [("X-Tenant", tenant)]


def test_one_tenants_queue_leaves_room_for_anothers(start_gateway, upstream):
    """One tenant may have 24 of the 32 places, and 6 of the 8 that run at once."""
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, limits={"in_flight": 32},
                            **TENANTS)
    for _ in range(24):
        queue(gateway, new_key(), path="/x", test="gate=busy", headers=of("greedy"))
    upstream.wait_effects(6)
    answer = gateway.post("/x", json=BODY, key=new_key(), headers=ASYNC + of("greedy"))
    assert_problem(answer, 503, "overloaded")
    location = queue(gateway, new_key(), path="/other", headers=of("modest"))
    assert status(gateway, location, headers=of("modest"))["state"] == "completed"
    assert upstream.arrived(path="/x") == 6
    upstream.open_gate("busy")
    upstream.wait_effects(25)


def test_tenants_take_turns(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, **ONE_AT_A_TIME, **TENANTS)
    queue(gateway, new_key(), path="/first", test="gate=busy", headers=of("greedy"))
    upstream.wait_effects(1)
    for n in range(2):
        queue(gateway, new_key(), path=f"/greedy{n}", headers=of("greedy"))
    queue(gateway, new_key(), path="/modest", headers=of("modest"))
    upstream.open_gate("busy")
    upstream.wait_effects(4)
    assert [r["path"] for r in upstream.requests()] == ["/first", "/greedy0", "/modest", "/greedy1"]


def test_one_peer_under_many_names_leaves_room_in_the_queue(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "in_progress": "accept"}, limits={"in_flight": 8},
                            tenant=TENANT)
    for n in range(6):
        queue(gateway, new_key(), path="/x", test="gate=busy",
              headers=[("Authorization", f"Bearer invented-{n}")])
    mine = ASYNC + [("Authorization", "Bearer mine")]
    answer = gateway.post("/x", json=BODY, key=new_key(), headers=mine)
    assert_problem(answer, 503, "overloaded")
    assert gateway.post("/x", json=BODY, key=new_key(), headers=mine,
                        source="127.0.0.2").status == 202
    upstream.open_gate("busy")
    upstream.wait_effects(7)
