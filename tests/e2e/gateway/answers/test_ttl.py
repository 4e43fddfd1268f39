"""docs/spec.md 10: how long a key is remembered, what it is afterwards, and where that is
published."""

import re
import time

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import (SANITIZED, TIME_SCALE, assert_problem, assert_replay, eventually,
                           let_pass, new_key)

BODY = {"amount": 100}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "short", "path": "/short", "ttl": "1s"},
        {"name": "buried", "path": "/buried", "ttl": "1s", "tombstone": "1s"},
        {"name": "completion", "path": "/completion", "ttl": "2s"},
        {"name": "creation", "path": "/creation", "ttl": "2s", "ttl_from": "creation"},
        {"name": "charges", "path": "/v1/charges", "ttl": "24h", "key": {"required": True},
         "statuses": {"mismatch": 409, "in_progress": 425}, "max_request_body": "64KiB"})


def test_an_expired_key_is_new(gateway, upstream, key):
    first = gateway.post("/short", json=BODY, key=key)
    assert_replay(gateway.post("/short", json=BODY, key=key), first)
    let_pass(1.1)
    second = gateway.post("/short", json={"other": 1}, key=key)
    assert second.status == 200 and not second.replayed and second.body != first.body
    assert upstream.last(key)["attempt"] == "1"


def test_an_expired_release_is_new(gateway, upstream, key):
    gateway.post("/short", json=BODY, key=key, test="status=503")
    let_pass(1.1)
    assert gateway.post("/short", json={"other": 1}, key=key).status == 200
    assert upstream.last(key)["attempt"] == "1"


def test_a_tombstone_answers_gone_until_it_is_over(gateway, upstream, key):
    gateway.post("/buried", json=BODY, key=key)
    let_pass(1.1)
    assert_problem(gateway.post("/buried", json=BODY, key=key), 410, "key-expired")
    assert upstream.effects(key) == 1
    again = eventually(lambda: (a := gateway.post("/buried", json=BODY, key=key)).status == 200
                       and a)
    assert not again.replayed and upstream.last(key)["attempt"] == "1"


def test_the_ttl_counts_from_completion_or_from_creation(gateway, upstream, key):
    begun = time.monotonic()
    calls = {path: gateway.connect() for path in ("/completion", "/creation")}
    for path, connection in calls.items():
        connection.send(request_bytes("POST", path, json=BODY, key=key, test="gate=slow"))
    upstream.wait_effects(2, key)
    let_pass(1.0)
    upstream.open_gate("slow")
    first = {path: connection.read_response() for path, connection in calls.items()}
    for connection in calls.values():
        connection.close()
    let_pass(max(0, begun + 2.1 - time.monotonic()))
    assert_replay(gateway.post("/completion", json=BODY, key=key), first["/completion"])
    assert not gateway.post("/creation", json=BODY, key=key).replayed
    assert upstream.effects(key) == 3


def test_an_execution_in_progress_outlives_every_ttl(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/short", json=BODY, key=key, test="gate=slow"))
        upstream.wait_effects(1, key)
        let_pass(1.5)
        assert_problem(gateway.post("/short", json=BODY, key=key), 409, "in-progress")
        upstream.open_gate("slow")
        first = connection.read_response()
    assert_replay(gateway.post("/short", json=BODY, key=key), first)
    assert upstream.arrived(key) == 1


def test_an_unknown_outcome_outlives_every_ttl(gateway, upstream, key):
    assert gateway.post("/short", json=BODY, key=key, test="close=reset").status == 502
    let_pass(1.5)
    assert_problem(gateway.post("/short", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects(key) == 1


def test_expired_records_are_removed_in_the_background(gateway, upstream):
    before = gateway.metrics()["semel_purged_records_total"]
    for _ in range(30):
        assert gateway.post("/short", json=BODY, key=new_key()).status == 200
    eventually(lambda: gateway.metrics()["semel_purged_records_total"] >= before + 30)


def test_removing_a_large_backlog_does_not_stall_live_traffic(gateway, upstream):
    backlog = 500 if SANITIZED else 2000
    before = gateway.metrics()["semel_purged_records_total"]
    senders = [gateway.connect() for _ in range(20)]
    each = backlog // len(senders)
    for connection in senders:
        connection.send(b"".join(request_bytes("POST", "/short", key=new_key())
                                 for _ in range(each)))
    for connection in senders:
        assert {connection.read_response().status for _ in range(each)} == {200}
        connection.close()
    slowest, deadline = 0.0, time.monotonic() + 30 * TIME_SCALE
    with gateway.connect() as connection:
        while gateway.metrics()["semel_purged_records_total"] < before + backlog:
            assert time.monotonic() < deadline, "the backlog is not removed"
            begun = time.monotonic()
            assert connection.request("POST", "/v1/charges", key=new_key()).status == 200
            slowest = max(slowest, time.monotonic() - begun)
    assert slowest < 1.5 * TIME_SCALE


def test_the_policy_is_published(gateway, upstream):
    answer = gateway.get("/.semel/policy")
    assert answer.status == 200
    assert answer.header("Content-Type").startswith("application/json")
    routes = {route["name"]: route for route in answer.json()["routes"]}
    assert {"short", "buried", "completion", "creation", "charges"} <= set(routes)
    charges = routes["charges"]
    assert charges["path"] == "/v1/charges"
    assert charges["required"] is True and routes["short"]["required"] is False
    assert charges["ttl_seconds"] == 24 * 3600
    assert routes["buried"]["tombstone_seconds"] == 1
    assert charges["statuses"]["mismatch"] == 409 and charges["statuses"]["in_progress"] == 425
    assert charges["limits"]["max_request_body"] == 65536
    assert upstream.url.split(":")[-1] not in answer.body.decode()
    assert upstream.arrived() == 0


def test_the_policys_numbers_are_plain(start_gateway):
    gateway = start_gateway({"path": "/day", "ttl": "24h"},
                            {"path": "/brief", "ttl": "1500ms", "tombstone": "1001ms"})
    text = gateway.get("/.semel/policy").body.decode()
    assert re.findall(r'"ttl_seconds":([^,}]*)', text) == ["86400", "1.5"]
    assert re.findall(r'"tombstone_seconds":([^,}]*)', text) == ["0", "1.001"]
    assert not re.search(r"\dE", text)
