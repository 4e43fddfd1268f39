"""docs/admin.md: how the gateway is set up, which processes share its store, and what it would do with a request."""

import psycopg2
import pytest

from harness.clients.http_client import request_bytes
from harness.clients.webhook_senders import SECRET, Stripe, route
from harness.ports import free_port
from harness.semel import Gateway, break_store, eventually

BODY = {"amount": 100}


def get(gateway, target, **more):
    answer = gateway.admin(target, **more)
    assert answer.status == 200, answer
    return answer.json()


def explain(gateway, **request):
    return gateway.admin("/api/explain", method="POST", json=request)


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "charges", "path": "/charges", "key": {"required": True}, "circuit": {"failures": 3}, "ttl": "7d"},
        {"name": "gone", "path": "/gone", "upstream": f"http://127.0.0.1:{free_port()}", "in_progress": "wait",
         "fail_after": 1},
        {"name": "watched", "path": "/watched", "mode": "observe"})


def test_routes_say_in_words_what_they_do(gateway):
    charges, gone, watched = get(gateway, "/api/routes")["routes"]
    assert (charges["name"], charges["path"], charges["mode"], charges["ttl_seconds"]) == (
        "charges", "/charges", "enforce", 7 * 24 * 3600)
    assert "A key is required, in the header Idempotency-Key." in charges["words"]
    assert "Answers are kept for 7d." in charges["words"]
    assert any("waits up to 5s" in sentence for sentence in gone["words"])
    assert watched["mode"] == "observe" and watched["words"][0].startswith("Only observes")
    assert charges["circuit"] == "closed" and gone["circuit"] is None
    assert charges["upstreams"][0]["state"] == "unchecked" and not charges["probe"]


def test_an_upstream_that_is_left_out_says_why(gateway, key):
    gateway.post("/gone", json=BODY, key=key)
    gone = eventually(lambda: (r := get(gateway, "/api/routes")["routes"][1]["upstreams"][0])["state"] == "ejected" and r)
    assert gone["why"] == "connections to it failed" and gone["url"].startswith("http://127.0.0.1:")
    assert any("gone" in note for note in get(gateway, "/api/status")["store"]["notes"])


def test_routes_count_what_runs_and_what_is_unknown(gateway, upstream, key):
    assert get(gateway, "/api/routes")["routes"][0]["unknown"] == 0
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g; close=reset"))
        upstream.wait_effects(1, key)
        assert get(gateway, "/api/routes")["routes"][0]["in_progress"] == 1
        upstream.open_gate("g")
        connection.read_response()
    eventually(lambda: [r["unknown"] for r in get(gateway, "/api/routes")["routes"]] == [1, 0, 0])
    assert get(gateway, "/api/routes")["routes"][0]["in_progress"] == 0


def test_explain_says_what_would_happen_and_what_the_store_holds(gateway, upstream, key):
    request = {"method": "POST", "target": "/charges?a=1", "headers": {"Idempotency-Key": key,
               "Content-Type": "application/json"}, "body": '{"amount": 100}'}
    said = explain(gateway, **request).json()
    assert (said["route"], said["result"], said["now"]) == ("charges", "executed once per key", None)
    assert upstream.arrived(key) == 0
    gateway.post("/charges?a=1", json=BODY, key=key)
    held = explain(gateway, **request).json()
    assert held["now"]["id"] == held["record"] == said["record"] == gateway.record(key)["id"]
    assert held["now"]["state"] == "completed"
    refused = explain(gateway, method="POST", target="/charges").json()
    assert (refused["result"], refused["code"], refused["now"]) == ("refused", "key-missing", None)
    assert upstream.arrived(key) == 1


@pytest.mark.parametrize("body, said", [
    ({"target": "/"}, "method: required"), ({"method": "POST"}, "target: required"),
    ({"method": "POST", "target": "/", "headers": {"A": "b\r\nC: d"}}, "on one line"),
    ({"method": "POST", "target": "/", "headers": ["x"]}, "headers: must be an object"),
    ({"method": "POST", "target": "/", "what": "x"}, "unknown")])
def test_a_bad_explain_is_refused_with_a_sentence(gateway, body, said):
    answer = explain(gateway, **body)
    assert answer.status == 400 and said in answer.json()["detail"]


def test_explain_takes_json_of_bounded_size_and_no_web_page(gateway):
    page = gateway.admin("/api/explain", method="POST", body=b"{}", headers=[("Content-Type", "text/plain")])
    assert page.status == 415
    large = gateway.admin("/api/explain", method="POST", json={"method": "POST", "target": "/", "body": "x" * (1 << 20)})
    assert large.status == 413
    assert gateway.admin("/api/explain", method="POST", json={}, host="evil.example").status == 421


def test_the_configuration_in_force_is_shown_and_its_secrets_are_not(start_gateway):
    gateway = start_gateway({**route(Stripe(), "/hooks"), "name": "hooks"})
    shown = get(gateway, "/api/config")["yaml"]
    assert "name: hooks" in shown and "***" in shown and SECRET not in shown
    assert gateway.reload(routes=[{**gateway.config["routes"][0], "name": "renamed"}])
    assert "name: renamed" in get(gateway, "/api/config")["yaml"]
    assert gateway.admin("/api/config?x=1").status == 400


def test_this_process_is_a_node(gateway):
    node, = get(gateway, "/api/nodes")["nodes"]
    status = get(gateway, "/api/status")
    assert (node["node"], node["run"], node["version"]) == (status["node"], status["run"], status["version"])
    assert node["is_this_process"] and node["claims_held"] == 0 and node["clock_ahead_ms"] is None


def test_another_process_on_the_store_is_seen_while_it_executes(start_gateway, upstream, key):
    first = start_gateway({"name": "charges", "path": "/charges"}, store="postgres")
    second = Gateway([{"name": "charges", "path": "/charges", "upstream": upstream.url}],
                     store=dict(first.config["store"]), admin=dict(first.config["admin"])).start()
    try:
        with second.connect() as connection:
            connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g"))
            upstream.wait_effects(1, key)
            nodes = get(first, "/api/nodes")["nodes"]
            assert [n["is_this_process"] for n in nodes] == [True, False]
            assert nodes[1]["run"] == get(second, "/api/status")["run"] and nodes[1]["claims_held"] == 1
            assert nodes[0]["clock_ahead_ms"] is not None and nodes[1]["last_seen"]
            assert get(first, "/api/nodes")["complete"] is True
            upstream.open_gate("g")
            connection.read_response()
        assert len(get(first, "/api/nodes")["nodes"]) == 2  # it does not walk over the store each time
        assert len(get(second, "/api/nodes")["nodes"]) == 1  # asked for the first time
    finally:
        second.discard()


def test_a_stopped_store_is_said_and_the_rest_still_answers(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"}, store="embedded", inherit_signals=True)
    break_store(gateway)
    gateway.post("/charges", json=BODY, key=key)
    trouble = eventually(lambda: get(gateway, "/api/status")["store"]["trouble"])
    assert trouble
    for path in ("stats", "decisions", "routes", "nodes"):
        get(gateway, "/api/" + path)
    for path in ("keys", "keys?q=abcd", "queue", "keys/" + "0" * 64):
        refused = gateway.admin("/api/" + path)
        assert refused.status == 503 and refused.json()["code"] == "store-unavailable", path
    assert gateway.change("/api/queue/drop", {"reason": "x", "where": {"state": "dead"}}).status == 503
    gateway.kill9()


def test_the_outbox_is_shown_where_the_store_is_postgresql(start_gateway, gateway):
    missing = get(gateway, "/api/outbox")
    assert missing["available"] is False and "PostgreSQL" in missing["why"] and missing["lanes"] == []
    gateway = start_gateway({"path": "/*"}, store="postgres")
    with psycopg2.connect(gateway.config["store"]["url"]) as connection, connection.cursor() as cursor:
        for destination, key in (("mail", None), ("mail", None), ("ledger", "account 7")):
            cursor.execute("SELECT semel.enqueue(%s, 'a message'::text, %s)", (destination, key))
        cursor.execute("INSERT INTO semel.dead_letters (id, destination, ordering_key, payload, headers, enqueued_at, "
                       "attempts, last_error, died_at) VALUES (999, 'mail', NULL, 'x', '{}', 1700000000000, 20, "
                       "'status 410', 1700000001000)")
    shown = get(gateway, "/api/outbox")
    assert shown["available"] and shown["why"] is None
    lanes = {(lane["destination"], lane["ordering_key"]): lane for lane in shown["lanes"]}
    assert lanes["mail", None]["waiting"] == 2 and lanes["ledger", "account 7"]["waiting"] == 1
    assert lanes["mail", None]["next_try_at"] and not lanes["mail", None]["blocked"]
    dead = next(letter for letter in shown["dead"] if letter["id"] == 999)
    assert (dead["id"], dead["attempts"], dead["last_error"]) == (999, 20, "status 410")
    assert dead["died_at"] == "2023-11-14T22:13:21.000Z"
    assert len(get(gateway, "/api/outbox?limit=1")["lanes"]) == 1
    assert "a message" not in gateway.admin("/api/outbox").body.decode()
