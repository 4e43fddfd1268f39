"""docs/admin.md: finding records, their story, their answer; and what an operator decides about them and about
queued work."""

import base64

import pytest

from harness.clients.http_client import Connection, request_bytes
from harness.clients.webhook_senders import Stripe, new_event, route
from harness.peers.probe_service import ProbeService
from harness.semel import Background, eventually, let_pass, new_key

BODY = {"amount": 100}
QUICK = {"min": "10ms", "max": "20ms"}
SLOW = {"min": "1h", "max": "1h"}
PATH = "/hooks/stripe"
CHARGE = 'body=%7B"data"%3A%7B"id"%3A"ch_77"%7D%7D'


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "charges", "path": "/charges", "resource": {"type": "charge", "id": "/data/id"},
         "max_stored_body": "64KiB", "max_spilled_body": "4MiB", "describe": ["/amount", "/payee"]},
        {"name": "brief", "path": "/brief", "ttl": "2s"})


@pytest.fixture
def stripe():
    return Stripe()


def get(gateway, target, **more):
    answer = gateway.admin(target, **more)
    assert answer.status == 200, answer
    return answer.json()


def ids(gateway, query):
    return [one["id"] for one in get(gateway, f"/api/keys?{query}")["keys"]]


# --- finding --------------------------------------------------------------------------------------


def test_a_record_is_found_by_prefix_resource_and_text(gateway, upstream):
    key, other = new_key(), new_key()
    gateway.post("/charges", json=BODY, key=key, test=CHARGE)
    gateway.post("/charges", json=BODY, key=other)
    record = gateway.record(key)
    assert record["resource"] == {"type": "charge", "id": "ch_77"}
    for query in (f"record={record['id'][:12]}", "resource=ch_77", f"q={key}", "q=ch_77",
                  f"q={record['id'][:12]}", f"q={record['id']}", f"record={record['id']}&state=completed"):
        found = get(gateway, f"/api/keys?{query}")
        assert [one["id"] for one in found["keys"]] == [record["id"]], query
        assert found["next"] is None
        assert found["keys"][0]["resource"]["id"] == "ch_77"
    assert ids(gateway, f"record={record['id'][:12]}&state=unknown") == []
    assert ids(gateway, "q=nothing-like-it") == []


def test_a_record_is_found_by_what_was_asked_for(gateway, upstream):
    key = new_key()
    gateway.post("/charges", json={"amount": 4711, "payee": "Ann"}, key=key)
    record = gateway.record(key)
    assert record["request"]["described"] == {"/amount": "4711", "/payee": '"Ann"'}
    for query in ("described=/amount=4711", "described=/payee=Ann", "described=/payee=%22Ann%22",
                  "described=/amount=4711&state=completed"):
        assert ids(gateway, query) == [record["id"]], query
    for query in ("described=/amount=471", "described=/payee=ann", "described=/other=4711"):
        assert ids(gateway, query) == [], query


@pytest.mark.parametrize("query, said", [("described=amount", "/amount=4200"), ("record=abc", "4 to 64"), ("record=ABCD", "lower-case"), ("q=", "empty"),
                                         ("wrong=1", "described"), ("cursor=id.12", "cursor")])
def test_a_bad_search_is_refused_with_a_sentence(gateway, query, said):
    answer = gateway.admin(f"/api/keys?{query}")
    assert answer.status == 400 and said in answer.json()["detail"]


def test_each_match_of_a_text_comes_once_over_many_pages(start_gateway, upstream):
    """A tenant whose name begins some of the ids as well."""
    gateway = start_gateway({"name": "charges", "path": "/charges"}, tenant={"from": "header", "name": "X-Tenant"},
                            trusted_proxies=["127.0.0.1"])
    with gateway.connect() as connection:
        made = [connection.request("POST", "/charges", json=BODY, key=new_key(), headers=[("X-Tenant", "acme")])
                for _ in range(40)]
    assert all(answer.status == 200 for answer in made)
    all_ids = ids(gateway, "limit=1000")
    tenant = all_ids[20][:4]
    with gateway.connect() as connection:
        for _ in range(30):
            connection.request("POST", "/charges", json=BODY, key=new_key(), headers=[("X-Tenant", tenant)])
    wanted = sorted(set(ids(gateway, f"tenant={tenant}")) | {i for i in ids(gateway, "limit=1000") if i.startswith(tenant)})
    assert len(wanted) >= 31
    found, cursor = [], ""
    while cursor is not None:
        page = get(gateway, f"/api/keys?q={tenant}&limit=7" + (f"&cursor={cursor}" if cursor else ""))
        assert len(page["keys"]) <= 7
        found += [one["id"] for one in page["keys"]]
        cursor = page["next"]
    assert found[0].startswith(tenant)  # those of the id come first
    assert sorted(found) == wanted and len(set(found)) == len(found)


def test_the_timeline_tells_the_story(gateway, upstream, key):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    gateway.post("/charges", json=BODY, key=key, test="status=503", headers=[("Traceparent", trace)])
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    record = gateway.record(key)
    assert gateway.change(f"/api/keys/{record['id']}/release", {"reason": "checked: it did nothing"}).status == 200
    gateway.post("/charges", json=BODY, key=key)
    story = gateway.record(key)["timeline"]
    assert [(e["what"], e["state"], e["attempt"]) for e in story] == [
        ("claimed", "in_progress", 1), ("released", "released", 1), ("claimed again", "in_progress", 2),
        ("outcome unknown", "unknown", 2), ("released", "released", 2), ("claimed again", "in_progress", 3),
        ("completed", "completed", 3)]
    assert story[0]["trace"] == trace and story[1]["why"] == "status 503" and story[1]["who"] is None
    assert (story[4]["who"], story[4]["why"]) == ("admin", "checked: it did nothing")
    assert [e["at"] for e in story] == sorted(e["at"] for e in story)


# --- answers --------------------------------------------------------------------------------------


def show_answer(gateway, key, **more):
    headers = [("Authorization", "Bearer " + gateway.admin_token())]
    return gateway.admin(f"/api/keys/{gateway.record(key)['id']}/answer", headers=headers, **more)


def test_an_answer_is_shown_to_those_who_have_a_token_and_that_is_logged(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key, test="status=201; header.X-Kept=1; body=secret words")
    target = f"/api/keys/{gateway.record(key)['id']}/answer"
    refused = gateway.admin(target)
    assert refused.status == 401 and b"secret words" not in refused.body
    shown = show_answer(gateway, key).json()
    assert (shown["status"], shown["body"], shown["body_note"]) == (201, "secret words", "kept")
    assert ["X-Kept", "1"] in shown["headers"]
    line = next(l for l in gateway.stderr().splitlines() if "answer shown" in l)
    assert gateway.record(key)["id"] in line and "who=admin" in line
    assert "secret words" not in gateway.stderr()
    assert b"secret words" not in gateway.admin(target.removesuffix("/answer")).body


def test_a_large_answer_is_put_together_and_bytes_are_base64(gateway, upstream, key):
    first = gateway.post("/charges", json=BODY, key=key, test=f"size={3 << 18}")
    shown = show_answer(gateway, key).json()
    body = shown["body"].encode() if "body" in shown else base64.b64decode(shown["body_base64"])
    assert body == first.body and shown["body_note"] == "spilled"


def test_a_record_without_an_answer_has_none_to_show(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    assert show_answer(gateway, key).json()["code"] == "no-answer"


# --- decisions ------------------------------------------------------------------------------------


def test_a_record_can_be_kept_for_longer(gateway, upstream, key):
    first = gateway.post("/brief", json=BODY, key=key)
    target = f"/api/keys/{gateway.record(key)['id']}/extend"
    for body, said in (({"reason": "x"}, "ttl: required"), ({"reason": "x", "ttl": "0s"}, "at least 1s"),
                       ({"ttl": "1h"}, "reason: required"), ({"reason": "x", "ttl": "1h", "force": True}, "force")):
        refused = gateway.change(target, body)
        assert refused.status == 400 and said in refused.json()["detail"]
    assert gateway.admin(target, method="POST", json={"reason": "x", "ttl": "1h"}).status == 401
    done = gateway.change(target, {"reason": "audit", "ttl": "1h"})
    assert done.status == 200 and done.json()["timeline"][-1]["what"] == "extended"
    let_pass(2.2)
    again = gateway.post("/brief", json=BODY, key=key)
    assert again.replayed and again.body == first.body and upstream.effects(key) == 1
    assert gateway.change("/api/keys/extend", {"reason": "x", "ttl": "1h", "where": {"key": key}}).status == 404


def test_a_record_is_not_made_to_expire_sooner(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key)
    record = gateway.record(key)
    refused = gateway.change(f"/api/keys/{record['id']}/extend", {"reason": "x", "ttl": "1h"})
    assert refused.status == 409 and "already lives longer" in refused.json()["detail"]
    assert gateway.record(key)["expires_at"] == record["expires_at"]


def test_a_decision_is_about_the_attempt_that_was_seen(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key, test="status=503; first=1")
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    record = gateway.record(key)
    assert (record["state"], record["attempt"]) == ("unknown", 2)
    target = f"/api/keys/{record['id']}/release"
    stale = gateway.change(target, {"reason": "x", "attempt": 1})
    assert (stale.status, stale.json()["code"]) == (409, "other-attempt") and "attempt 2 now" in stale.json()["detail"]
    for wrong in ("2", -1, 1.5, None):
        assert gateway.change(target, {"reason": "x", "attempt": wrong}).status == 400
    many = {"reason": "x", "attempt": 2, "where": {"key": key}}
    assert gateway.change("/api/keys/release", many).status == 400
    assert gateway.record(key)["history"] == record["history"]
    assert gateway.change(target, {"reason": "x", "attempt": 2}).json()["state"] == "released"


def test_the_executor_is_asked_at_once(start_gateway, upstream, key):
    service = ProbeService()
    try:
        gateway = start_gateway(
            {"name": "charges", "path": "/charges", "unknown": "probe", "probe": {"url": service.url + "/o?key={key}"}},
            {"name": "held", "path": "/held"})
        gateway.post("/charges", json=BODY, key=key, test="close=reset")
        target = f"/api/keys/{gateway.record(key)['id']}/probe"
        assert gateway.admin(target, method="POST", json={}).status == 401
        assert gateway.change(target, {"reason": "x"}).status == 400
        for _ in range(2):  # an operator does not wait for the pause between two questions
            asked = eventually(lambda: (a := gateway.change(target, {})).status == 200 and a.json())
            assert (asked["asked"], asked["outcome"], asked["record"]["state"]) == (True, "unknown", "unknown")
        service.says_final(201, b"done")
        asked = eventually(lambda: (a := gateway.change(target, {})).json().get("code") != "being-asked" and a)
        if asked.status == 200:  # otherwise it was asked in the background just before
            assert (asked.json()["outcome"], asked.json()["record"]["state"]) == ("final", "completed")
        assert gateway.post("/charges", json=BODY, key=key).body == b"done"
        assert gateway.change(target, {}).json()["code"] == "not-unknown"
        held = new_key()
        gateway.post("/held", json=BODY, key=held, test="close=reset")
        assert gateway.change(f"/api/keys/{gateway.record(held)['id']}/probe", {}).json()["code"] == "no-probe"
    finally:
        service.stop()


ONE = ["keys/{id}/resolve", "keys/{id}/release", "keys/{id}/forget", "keys/{id}/extend", "keys/{id}/probe",
       "queue/{id}/retry", "queue/{id}/drop"]
MANY = ["keys/resolve", "keys/release", "keys/forget", "queue/retry", "queue/drop"]


@pytest.mark.parametrize("path", ONE + MANY)
def test_every_change_needs_a_token_json_and_bounds(gateway, upstream, key, path):
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    record = gateway.record(key)
    target = "/api/" + path.format(id=record["id"])
    for headers in ([], [("Authorization", "Bearer 0123456789abcdef")], [("Authorization", "Basic YTpi")]):
        refused = gateway.admin(target, method="POST", json={"reason": "x"}, headers=headers)
        assert refused.status == 401 and refused.header("WWW-Authenticate")
    token = [("Authorization", "Bearer " + gateway.admin_token())]
    assert gateway.admin(target, method="POST", body=b"{}", headers=token).status == 415
    assert gateway.admin(target, method="POST", json={}, headers=token, host="evil.example").status == 421
    large = [*token, ("Content-Type", "application/json"), ("Content-Length", str((16 << 20) + 1))]
    with Connection(gateway.admin_address) as connection:
        connection.send(request_bytes("POST", target, headers=large, host="localhost"))
        assert connection.read_response().status == 413
    assert gateway.change(target, {"reason": "x", "nonsense": 1}).status == 400
    assert gateway.record(key)["history"] == record["history"]


# --- queued work ----------------------------------------------------------------------------------


def queue(sender, backoff=QUICK, **webhook):
    webhook = {"mode": "queue", "backoff": backoff, **webhook}
    return {**route(sender, PATH, unknown="hold", webhook=webhook), "name": "hooks"}


def deliver(gateway, sender, test):
    event = new_event()
    body = sender.body(event)
    assert gateway.post(PATH, body, headers=sender.sign(event, body), test=test).status == 202
    return event


def items(gateway, query=""):
    return get(gateway, "/api/queue" + query)["items"]


def test_a_dead_letter_is_listed_retried_and_dropped(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, max_attempts=2))
    first = deliver(gateway, stripe, "status=503; first=2")
    second = deliver(gateway, stripe, "status=503")
    dead = eventually(lambda: len(found := items(gateway, "?state=dead")) == 2 and found)
    one = next(item for item in dead if item["key"] == first)
    assert (one["kind"], one["operation"], one["attempt"], one["state"]) == ("webhook", "hooks", 2, "dead")
    assert one["reason"] == "dead letter after 2 attempts: status 503" and one["next_try_at"] is None
    assert (one["method"], one["path"]) == ("POST", PATH)
    assert items(gateway, "?state=queued") == [] and items(gateway, "?operation=other") == []
    other = next(item for item in dead if item["key"] == second)
    for verb in ("retry", "drop"):
        assert gateway.admin(f"/api/queue/{one['id']}/{verb}", method="POST", json={"reason": "x"}).status == 401
        assert gateway.admin(f"/api/queue/{verb}", method="POST",
                             json={"reason": "x", "where": {"state": "dead"}}).status == 401
    assert gateway.change(f"/api/queue/{one['id']}/retry", {"reason": "it is well again"}).status == 200
    eventually(lambda: gateway.record(first)["state"] == "completed")
    assert gateway.change(f"/api/queue/{other['id']}/drop", {"reason": "not wanted"}).status == 200
    assert gateway.record(second)["state"] == "released"
    assert gateway.record(second)["timeline"][-1]["who"] == "admin"
    assert items(gateway) == [] and upstream.arrived(second) == 2 and upstream.arrived(first) == 3
    refused = gateway.change(f"/api/queue/{other['id']}/retry", {"reason": "x"})
    assert refused.status == 409 and "queued" in refused.json()["detail"]


def test_work_that_waits_for_its_next_try_is_tried_at_once(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, backoff=SLOW))
    event = deliver(gateway, stripe, "status=503; first=1")
    waiting = eventually(lambda: (found := items(gateway, "?state=queued")) and found[0]["attempt"] == 1 and found[0])
    assert waiting["next_try_at"] > waiting["updated_at"] and waiting["reason"] == "status 503"
    assert gateway.change(f"/api/queue/{waiting['id']}/retry", {"reason": "now"}).status == 200
    eventually(lambda: gateway.record(event)["state"] == "completed")
    assert upstream.arrived(event) == 2


def test_many_are_retried_or_dropped_at_once(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, max_attempts=1), {"name": "plain", "path": "/plain"})
    events = [deliver(gateway, stripe, "status=503; first=1") for _ in range(5)]
    unknown = new_key()
    gateway.post("/plain", json=BODY, key=unknown, test="close=reset")
    eventually(lambda: len(items(gateway, "?state=dead")) == 5)
    bad = gateway.change("/api/queue/retry", {"reason": "x", "where": {"tenant": "a"}})
    assert bad.status == 400 and "operation or state" in bad.json()["detail"]
    assert gateway.change("/api/queue/retry", {"reason": "x"}).status == 400
    looked = gateway.change("/api/queue/drop", {"reason": "x", "where": {"operation": "hooks"}, "dry_run": True}).json()
    assert looked["drop"] == 5 and looked["dry_run"] and len(looked["ids"]) == 5
    done = gateway.change("/api/queue/retry", {"reason": "all", "where": {"state": "dead"}, "limit": 3}).json()
    assert done["retry"] == 3 and done["refused"] == [] and done["next"]
    eventually(lambda: [gateway.record(e)["state"] for e in events].count("completed") == 3)
    rest = gateway.change("/api/queue/drop", {"reason": "rest", "where": {"state": "dead", "operation": "hooks"}}).json()
    assert rest["drop"] == 2 and items(gateway) == []
    assert gateway.record(unknown)["state"] == "unknown"  # it is no queued work


def test_a_queued_request_shows_and_can_be_dropped_before_it_runs(start_gateway, upstream, stripe):
    gateway = start_gateway({"name": "jobs", "path": "/jobs", "in_progress": "accept"}, limits={"in_flight": 8})
    running = [new_key() for _ in range(2)]  # as many as may run
    for key in running:
        assert gateway.post("/jobs", json=BODY, key=key, test="gate=g", headers=[("Prefer", "respond-async")]).status == 202
    upstream.wait_effects(2)
    key = new_key()
    assert gateway.post("/jobs?a=b", json=BODY, key=key, headers=[("Prefer", "respond-async")]).status == 202
    assert {i["state"] for i in items(gateway, "?operation=jobs")} == {"queued", "running"}
    waiting, = items(gateway, "?state=queued")
    assert (waiting["kind"], waiting["key"], waiting["path"]) == ("request", key, "/jobs")
    running_id = items(gateway, "?state=running")[0]["id"]
    assert gateway.change(f"/api/queue/{running_id}/drop", {"reason": "x"}).status == 409
    assert gateway.change(f"/api/queue/{waiting['id']}/drop", {"reason": "sent by mistake"}).status == 200
    upstream.open_gate("g")
    eventually(lambda: all(gateway.record(k)["state"] == "completed" for k in running))
    assert gateway.record(key)["state"] == "released" and upstream.arrived(key) == 0


# --- large stores and stopped ones ----------------------------------------------------------------


def test_ten_thousand_records_are_paged_and_requests_go_on(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges"}, store={"kind": "memory"}, log={"decisions": "none"},
                            limits={"in_flight": 4000})
    def fill(count):
        with gateway.connect() as connection:
            for _ in range(count):
                assert connection.request("POST", "/charges", json=BODY, key=new_key()).status == 200
    fillers = [Background(fill, 1250) for _ in range(8)]
    for filler in fillers:
        filler.result(timeout=120)
    seen, cursor, pages = set(), "", 0
    while cursor is not None:
        page = get(gateway, "/api/keys?limit=1000" + (f"&cursor={cursor}" if cursor else ""))
        seen |= {one["id"] for one in page["keys"]}
        pages, cursor = pages + 1, page["next"]
    assert len(seen) == 10_000 and pages in (10, 11)
    last = max(seen)
    found = get(gateway, f"/api/keys?record={last[:16]}")
    assert [one["id"] for one in found["keys"]] == [last] and found["examined"] == 1
    assert get(gateway, "/api/keys?q=nobody")["examined"] <= 10_000
