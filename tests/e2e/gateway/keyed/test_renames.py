"""DESIGN 6.21: an edited configuration neither runs again nor refuses what was already done. The
gateway is started again on the same store with a route renamed, moved, re-versioned or with another
recipe."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import assert_problem, assert_replay, eventually, new_key, settle

BODY = {"amount": 100, "at": "09:00"}


def edited(gateway, *routes):
    upstream = gateway.config["routes"][0]["upstream"]
    return gateway.restart(routes=[{"upstream": upstream, **route} for route in routes])


def in_every_state(gateway, path, body=BODY):
    """Keys and first answers of a completed, a failed, a released and an unknown execution."""
    tests = {"completed": "status=201", "failed": "status=402", "released": "status=503",
             "unknown": "close=reset"}
    keys = {state: new_key() for state in tests}
    first = {state: gateway.post(path, json=body, key=keys[state], test=test)
             for state, test in tests.items()}
    return keys, first


def assert_honoured(gateway, upstream, path, keys, first):
    for state in ("completed", "failed"):
        assert_replay(gateway.post(path, json=BODY, key=keys[state]), first[state])
        assert upstream.effects(keys[state]) == 1
    assert_problem(gateway.post(path, json={}, key=keys["completed"]), 422, "key-reused")
    assert_problem(gateway.post(path, json=BODY, key=keys["unknown"]), 409, "outcome-unknown")
    assert_problem(gateway.post(path, json={}, key=keys["released"]), 422, "key-reused")
    again = gateway.post(path, json=BODY, key=keys["released"])
    assert again.status == 200 and upstream.last(keys["released"])["attempt"] == "2"
    assert_replay(gateway.post(path, json=BODY, key=keys["released"]), again)
    assert upstream.effects(keys["unknown"]) == 1


def test_a_renamed_route_honours_the_keys_of_its_old_names(start_gateway, upstream):
    gateway = start_gateway({"name": "pay", "path": "/charges"})
    keys, first = in_every_state(gateway, "/charges")
    edited(gateway, {"name": "payments", "path": "/charges", "aliases": ["pay"]})
    edited(gateway, {"name": "charges", "path": "/charges", "aliases": ["payments", "pay"]})
    assert_honoured(gateway, upstream, "/charges", keys, first)
    fresh = new_key()
    answer = gateway.post("/charges", json=BODY, key=fresh)
    assert_replay(gateway.post("/charges", json=BODY, key=fresh), answer)
    assert upstream.effects(fresh) == 1


@pytest.mark.parametrize("scope", ["operation", "path"])
def test_a_status_outlives_the_name_of_its_route(start_gateway, upstream, key, scope):
    route = {"path": "/x", "in_progress": "accept", "scope": scope}
    gateway = start_gateway({"name": "pay", **route}, store_keys="digest")
    accepted = gateway.post("/x", json=BODY, key=key, headers={"Prefer": "respond-async"})
    assert accepted.status == 202
    upstream.wait_effects(1, key)
    edited(gateway, {"name": "payments", **route, "aliases": ["pay"]})
    status = gateway.get(accepted.header("Location") + "?wait=20s")
    assert status.status == 200 and status.json()["state"] == "completed"


def test_a_widened_path_is_another_name_and_can_be_told_so(start_gateway, upstream):
    """The name is the path unless one is given."""
    gateway = start_gateway({"path": "/v1/charges"})
    keys, first = in_every_state(gateway, "/v1/charges")
    edited(gateway, {"path": "/v1/*", "aliases": ["/v1/charges"]})
    assert_honoured(gateway, upstream, "/v1/charges", keys, first)


def test_a_route_with_scope_path_is_renamed_path_by_path(start_gateway, upstream, key):
    gateway = start_gateway({"name": "old", "path": "/orders/{id}/pay", "scope": "path"})
    first = gateway.post("/orders/1/pay", json=BODY, key=key)
    edited(gateway, {"name": "new", "path": "/orders/{id}/pay", "scope": "path",
                     "aliases": ["old"]})
    assert_replay(gateway.post("/orders/1/pay", json=BODY, key=key), first)
    second = gateway.post("/orders/2/pay", json=BODY, key=key)
    assert second.status == 200 and not second.replayed
    assert upstream.effects(key) == 2


def test_without_the_alias_the_key_is_new(start_gateway, upstream, key):
    gateway = start_gateway({"name": "pay", "path": "/charges"})
    gateway.post("/charges", json=BODY, key=key)
    edited(gateway, {"name": "charges", "path": "/charges"})
    assert not gateway.post("/charges", json=BODY, key=key).replayed
    assert upstream.effects(key) == 2


def test_of_many_at_once_after_a_rename_one_executes(start_gateway, upstream, key):
    gateway = start_gateway({"name": "pay", "path": "/charges"})
    gateway.post("/charges", json=BODY, key=key, test="status=503")  # released
    edited(gateway, {"name": "charges", "path": "/charges", "aliases": ["pay"],
                     "in_progress": "wait"})
    wire = request_bytes("POST", "/charges", json=BODY, key=key, test="gate=go")
    connections = [gateway.connect() for _ in range(20)]
    for connection in connections:
        connection.send(wire)
    upstream.wait_effects(2, key)
    upstream.open_gate("go")
    answers = [connection.read_response() for connection in connections]
    for connection in connections:
        connection.close()
    assert {a.status for a in answers} == {200} and len({a.body for a in answers}) == 1
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]


def test_an_edited_recipe_compares_under_the_one_in_the_record(start_gateway, upstream):
    old = {"body": "json", "exclude": ["/at"]}
    gateway = start_gateway({"name": "pay", "path": "/charges", "fingerprint": old})
    keys, first = in_every_state(gateway, "/charges")
    edited(gateway, {"name": "pay", "path": "/charges",
                     "fingerprint": {"body": "raw", "headers": ["X-Shop"], "query": False}})
    later = {**BODY, "at": "09:01"}  # did not count when the records were made
    assert_replay(gateway.post("/charges", json=later, key=keys["completed"]), first["completed"])
    different = gateway.post("/charges", json={**BODY, "amount": 101}, key=keys["completed"])
    assert assert_problem(different, 422, "key-reused")["differs"] == ["body"]
    assert_honoured(gateway, upstream, "/charges", keys, first)
    fresh = new_key()
    gateway.post("/charges", json=BODY, key=fresh)  # made under the new recipe
    different = gateway.post("/charges", json=later, key=fresh)
    assert assert_problem(different, 422, "key-reused")["differs"] == ["body"]


@pytest.mark.parametrize("policy", ["gone", "new"])
def test_a_bumped_response_version_runs_again_only_if_told_so(start_gateway, upstream, key, policy):
    gateway = start_gateway({"name": "pay", "path": "/charges"})
    gateway.post("/charges", json=BODY, key=key)
    edited(gateway, {"name": "charges", "path": "/charges", "aliases": ["pay"],
                     "response_version": "2", "on_version_change": policy})
    again = gateway.post("/charges", json=BODY, key=key)
    if policy == "gone":
        assert_problem(again, 410, "key-expired")
    else:
        assert again.status == 200 and not again.replayed
        assert_replay(gateway.post("/charges", json=BODY, key=key), again)
    assert_problem(gateway.post("/charges", json={}, key=key), 422, "key-reused")
    assert upstream.effects(key) == (1 if policy == "gone" else 2)


def test_renamed_by_a_reload_while_a_body_arrives_it_is_executed_once(start_gateway, upstream, key):
    """The request began under the old name. Its impatient retry comes first, under the new one."""
    gateway = start_gateway({"name": "pay", "path": "/charges"})
    wire = request_bytes("POST", "/charges", json=BODY, key=key)
    with gateway.connect() as connection:
        connection.send(wire[:-5])
        eventually(lambda: gateway.metrics()["semel_connections"] >= 1)
        settle()
        gateway.reload(routes=[{"upstream": upstream.url, "name": "charges", "path": "/charges",
                                "aliases": ["pay"]}])
        retry = gateway.post("/charges", json=BODY, key=key)
        assert retry.status == 200 and not retry.replayed
        connection.send(wire[-5:])
        assert_replay(connection.read_response(), retry)
    assert upstream.effects(key) == 1
