"""Several gateways on one store: who holds a claim is named everywhere, clocks may differ a little, and
what one leaves behind the others find."""

import json
import time

import pytest

from harness.clients.http_client import TIME_SCALE, request_bytes
from harness.peers.probe_service import ProbeService
from harness.semel import Background, assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold"}
WAITING = {**ROUTE, "in_progress": "wait", "wait_timeout": "20s"}


@pytest.fixture(params=["postgres", "redis", "tiered"])
def store(request, database, redis):
    redis("FLUSHALL")
    durable = {"kind": "postgres", "url": database.url}
    fast = {"kind": "redis", "url": redis.url()}
    return {"postgres": durable, "redis": fast,
            "tiered": {"kind": "tiered", "durable": durable, "cache": fast}}[request.param]


@pytest.fixture
def service():
    service = ProbeService()
    yield service
    service.stop()


def log_lines(node):
    return [json.loads(line) for line in node.stderr().splitlines()]


def test_the_owner_is_named_by_every_node_and_in_every_line_of_the_log(start_gateway, upstream, store,
                                                                      key):
    nodes = [start_gateway(ROUTE, store=store, log={"format": "json"}) for _ in range(2)]
    gate = new_key()
    first = Background(nodes[0].post, "/charges", json=BODY, key=key, test=f"gate={gate}")
    upstream.wait_effects(1, key)
    owners = [node.record(key)["owner"] for node in nodes]
    assert [owner["is_this_process"] for owner in owners] == [True, False]
    assert [owner["alive"] for owner in owners] == [True, True]
    assert owners[0]["run"] == owners[1]["run"] and owners[0]["node"] == owners[1]["node"]
    record = nodes[1].record(key)["id"]
    shown = nodes[1].keys("show", record).stdout.decode()
    assert (f"{owners[0]['node']}, run {owners[0]['run']}, another process, alive as far as its lease "
            "says") in shown, shown
    assert "the process that was asked" in nodes[0].keys("show", record).stdout.decode()
    upstream.open_gate(gate)
    assert first.result().status == 200
    assert nodes[1].record(key)["owner"]["alive"] is None
    nodes[1].post("/charges", json=BODY, key=new_key())
    for node in nodes:
        node.stop()
    runs = [{(line["node"], line["run"]) for line in log_lines(node)} for node in nodes]
    assert [len(names) for names in runs] == [1, 1] and runs[0] != runs[1]
    assert runs[0] == {(owners[0]["node"], owners[0]["run"])}


def test_who_waits_for_another_process_is_counted(start_gateway, upstream, store, key):
    nodes = [start_gateway(WAITING, store=store) for _ in range(2)]
    gate = new_key()
    first = Background(nodes[0].post, "/charges", json=BODY, key=key, test=f"gate={gate}")
    upstream.wait_effects(1, key)
    second = Background(nodes[1].post, "/charges", json=BODY, key=key)
    eventually(lambda: nodes[1].metrics()["semel_waiting"] == 1)
    assert nodes[0].metrics()["semel_waiting"] == 0
    upstream.open_gate(gate)
    assert_replay(second.result(), first.result())
    eventually(lambda: nodes[1].metrics()["semel_waiting"] == 0)


def test_a_foreign_claim_is_believed_alive_for_its_lease_and_the_clocks_differences(
        start_gateway, upstream, store, key):
    """On Redis, where every node goes by its own clock."""
    nodes = [start_gateway({**ROUTE, "lease": "1s"}, store=store) for _ in range(2)]
    begun = time.monotonic()
    with nodes[0].connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test=f"gate={new_key()}"))
        upstream.wait_effects(1, key)
        nodes[0].kill9()
    while (answer := nodes[1].post("/charges", json=BODY, key=key)).json()["code"] != "outcome-unknown":
        assert_problem(answer, 409, "in-progress")
        assert time.monotonic() < begun + 20 * TIME_SCALE
    assert_problem(answer, 409, "outcome-unknown")
    assert time.monotonic() - begun >= (2 if store["kind"] == "redis" else 1)
    assert upstream.effects(key) == 1


def test_what_a_dead_node_left_unknown_is_counted_and_asked_about_by_the_next(start_gateway, upstream,
                                                                             service, store, key):
    route = {**ROUTE, "unknown": "probe", "probe": {"url": service.url + "/{record}?key={key}"}}
    dead = start_gateway(route, store=store)
    assert_problem(dead.post("/charges", json=BODY, key=key, test="close=reset"), 502,
                   "upstream-unreachable")
    dead.kill9()
    service.says_final(201, b"found")
    node = start_gateway(route, store=store)
    # Nobody sends the key: the node finds the record by itself.
    eventually(lambda: node.record(key)["state"] == "completed")
    answer = node.post("/charges", json=BODY, key=key)
    assert (answer.status, answer.body, answer.replayed) == (201, b"found", True)
    eventually(lambda: node.metrics()["semel_unknown_records"] == 0)
    assert upstream.effects(key) == 1


def test_the_next_node_counts_what_is_unknown_before_it_is_asked(start_gateway, upstream, store, key):
    dead = start_gateway(ROUTE, store=store)
    assert_problem(dead.post("/charges", json=BODY, key=key, test="close=reset"), 502,
                   "upstream-unreachable")
    dead.kill9()
    node = start_gateway(ROUTE, store=store)
    eventually(lambda: node.metrics()["semel_unknown_records"] == 1)
    assert node.metrics()["semel_oldest_unknown_seconds"] >= 0
