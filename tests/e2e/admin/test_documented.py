"""docs/admin.md shows every member of every answer, and no other."""

import json
import re

import psycopg2
import pytest

from harness import ROOT
from harness.clients.http_client import request_bytes
from harness.clients.webhook_senders import Stripe, new_event, route
from harness.semel import eventually, new_key

PAGE = (ROOT / "docs" / "admin.md").read_text()
BODY = {"amount": 100}


def example(title):
    section = PAGE.split(f"### {title}\n", 1)[1].split("\n### ")[0]
    return json.loads(re.search(r"```json\n(.*?)```", section, re.S)[1])


def shape(value):
    """Its members, and those of its first entries; what may be null has no shape."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return None


def assert_same(documented, found, where=""):
    if isinstance(documented, dict) and isinstance(found, dict):
        assert set(documented) == set(found), where
        for name, member in documented.items():
            assert_same(member, found[name], f"{where}/{name}")
    elif documented and found and isinstance(documented, list) and isinstance(found, list):
        assert_same(documented[0], found[0], where + "/0")


@pytest.fixture(scope="module")
def gateway(module_gateway):
    sender = Stripe()
    gateway = module_gateway(
        {"name": "charges", "path": "/charges"},
        {**route(sender, "/hooks", unknown="hold", webhook={"mode": "queue", "max_attempts": 1}), "name": "hooks"},
        store="postgres")
    with psycopg2.connect(gateway.config["store"]["url"]) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT semel.enqueue('mail', 'x'::text, 'k')")
        cursor.execute("INSERT INTO semel.dead_letters VALUES (9, 'mail', NULL, 'x', '{}', NULL, 1, 1, 'why', 2)")
    event = new_event()
    body = sender.body(event)
    gateway.post("/hooks", body, headers=sender.sign(event, body), test="status=503")
    gateway.post("/charges", json=BODY, key=new_key())
    eventually(lambda: gateway.admin("/api/queue?state=dead").json()["items"])
    eventually(lambda: gateway.admin("/api/stats").json()["points"])
    return gateway


@pytest.mark.parametrize("path", ["status", "stats", "decisions", "keys", "queue", "routes", "config", "nodes",
                                  "outbox"])
def test_a_list_has_what_its_example_has(gateway, path):
    found = gateway.admin(f"/api/{path}")
    assert found.status == 200
    assert_same(shape(example(f"GET /api/{path}")), shape(found.json()), path)


def test_a_record_has_a_timeline_and_an_answer_as_shown(gateway, key):
    gateway.post("/charges", json=BODY, key=key)
    record = gateway.record(key)
    assert_same(shape(example("GET /api/keys/{id}")["timeline"]), shape(record["timeline"]))
    token = [("Authorization", "Bearer " + gateway.admin_token())]
    answer = gateway.admin(f"/api/keys/{record['id']}/answer", headers=token).json()
    assert set(answer) == set(example("GET /api/keys/{id}/answer"))


def test_the_bodies_that_are_shown_are_taken(gateway, key):
    gateway.post("/charges", json=BODY, key=key)
    target = f"/api/keys/{gateway.record(key)['id']}"
    assert gateway.change(target + "/extend", example("POST /api/keys/{id}/extend")).status == 200
    many = example("POST /api/queue/{id}/retry, /drop")
    assert gateway.change("/api/queue/retry", many).status == 200
    said = gateway.admin("/api/explain", method="POST", json=example("POST /api/explain"))
    assert said.status == 200 and "now" in said.json()
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=(lost := new_key()), test="close=reset"))
        connection.read_response()
    decision = example("POST /api/keys/{id}/resolve, /release, /forget")
    assert gateway.change(f"/api/keys/{gateway.record(lost)['id']}/resolve", decision).status == 200
    assert gateway.post("/charges", json=BODY, key=lost).body == decision["answer"]["body"].encode()


def test_what_is_served_is_documented():
    served = set(re.findall(r'path == "(/api/\w+)"', (ROOT / "src/admin/admin.cc").read_text())) | {"/api/keys", "/api/queue"}
    assert len(served) >= 9
    for path in served:
        assert re.search(rf"^### (GET|POST) {path}\b", PAGE, re.M), path
