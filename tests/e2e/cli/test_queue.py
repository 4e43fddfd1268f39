"""`semel queue`: work that Semel executes on its own, and decisions about what waits or is dead."""
import json

import pytest

from harness.program import run_semel
from harness.semel import eventually, new_key

ASYNC = [("Prefer", "respond-async")]
BODY = {"amount": 100}


@pytest.fixture
def gateway(start_gateway):
    return start_gateway(*({"name": name, "path": f"/{name}", "in_progress": "accept"} for name in ("orders", "refunds")),
                         store="embedded")


def queue(gateway, *args):
    return run_semel("queue", *args, "--config", gateway.folder / "semel.yaml",
                     "--admin", "http://%s:%d" % gateway.admin_address)


def listed(gateway, *args):
    done = queue(gateway, "ls", "--json", *args)
    assert done.returncode == 0, done
    return {item["key"]: item for item in json.loads(done.stdout)["items"]}


def accept(gateway, path, **more):
    key = new_key()
    assert gateway.post(path, json=BODY, key=key, headers=ASYNC, **more).status == 202
    return key


@pytest.fixture
def dead(gateway):
    """Accepted requests whose answers were lost, by operation."""
    keys = {path: accept(gateway, f"/{path}", test="close=reset; first=1") for path in ("orders", "refunds")}
    eventually(lambda: len(listed(gateway, "--state", "dead")) == 2)
    return keys


def test_dead_and_running_items_are_listed(gateway, upstream, dead):
    running = accept(gateway, "/orders", test="gate=g")
    upstream.wait_effects(1, running)
    items = listed(gateway)
    assert {key: items[key]["state"] for key in items} == {dead["orders"]: "dead", dead["refunds"]: "dead",
                                                           running: "running"}
    assert list(listed(gateway, "--state", "dead", "--operation", "orders")) == [dead["orders"]]
    text = queue(gateway, "ls").stdout.splitlines()
    assert text[0].split()[:4] == ["ITEM", "KIND", "STATE", "TRY"] and len(text) == 4
    assert any(items[running]["id"][:16] in line and " running " in line for line in text)
    upstream.open_gate("g")


def test_one_is_retried_and_one_is_dropped(gateway, upstream, dead):
    items = listed(gateway)
    retried, dropped = items[dead["orders"]]["id"], items[dead["refunds"]]["id"]
    done = queue(gateway, "retry", retried, "--reason", "the upstream is back")
    assert (done.returncode, done.stdout) == (0, f"{retried} retried\n"), done
    eventually(lambda: gateway.record(dead["orders"])["state"] == "completed")
    assert [request["attempt"] for request in upstream.requests(dead["orders"])] == ["1", "2"]
    done = queue(gateway, "drop", dropped, "--reason", "sent by hand")
    assert (done.returncode, done.stdout) == (0, f"{dropped} dropped\n"), done
    assert upstream.effects(dead["refunds"]) == 1 and listed(gateway) == {}
    assert queue(gateway, "retry", "0" * 64, "--reason", "x").returncode == 3
    assert queue(gateway, "retry", retried, "--reason", "again").returncode == 4


def test_many_are_retried_at_once(gateway, upstream, dead):
    ids = sorted(item["id"] for item in listed(gateway).values())
    tried = queue(gateway, "retry", "--state", "dead", "--reason", "back", "--dry-run", "--json")
    assert json.loads(tried.stdout) == {"dry_run": True, "ids": ids, "refused": []}
    assert all(upstream.effects(key) == 1 for key in dead.values())
    done = queue(gateway, "retry", "--state", "dead", "--reason", "back")
    assert sorted(done.stdout.split()) == ids and done.stderr == "2 retried, 0 refused\n"
    eventually(lambda: listed(gateway) == {})
    assert all(upstream.effects(key) == 2 for key in dead.values())


@pytest.mark.parametrize("args", [(), ("ID", "--state", "dead"), ("ID", "--dry-run")], ids=" ".join)
def test_one_or_many_must_be_said(gateway, args):
    done = queue(gateway, "drop", *args, "--reason", "x")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("semel: ")


def test_without_a_gateway_the_store_is_used(gateway, upstream, dead):
    gateway.stop()
    config = gateway.folder / "semel.yaml"
    done = run_semel("queue", "ls", config, "--json")
    assert done.returncode == 0 and "directly" in done.stderr
    assert {item["key"] for item in json.loads(done.stdout)["items"]} == set(dead.values())
    assert run_semel("queue", "retry", "--operation", "orders", "--config", config, "--reason", "later").returncode == 0
    gateway.start()
    eventually(lambda: gateway.record(dead["orders"])["state"] == "completed")
    assert upstream.effects(dead["orders"]) == 2 and upstream.effects(dead["refunds"]) == 1
