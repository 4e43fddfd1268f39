"""Without a gateway `semel keys` reads the store itself, and decides there, as safely as a gateway would."""
import json
import os
import pwd

import pytest

from harness.program import run_semel
from harness.semel import assert_replay, new_key

ROUTE = {"name": "charges", "path": "/charges"}
BODY = {"amount": 100}


def direct(gateway, *args):
    """Runs `semel keys` by the configuration alone. Its admin listener has port 0, where nobody answers."""
    return run_semel("keys", *args, "--config", gateway.folder / "semel.yaml")


@pytest.mark.parametrize("store", ["embedded", "postgres", "redis"])
def test_records_are_read_and_decided_in_the_store(start_gateway, upstream, store):
    gateway = start_gateway(ROUTE, store=store)
    first = gateway.post("/charges", json=BODY, key=(kept := new_key()))
    assert gateway.post("/charges", json=BODY, key=(lost := new_key()), test="close=reset").status == 502
    shown_by_gateway = gateway.record(lost)
    gateway.stop()

    listed = direct(gateway, "ls", "--json")
    assert listed.returncode == 0, listed
    assert "No gateway answers" in listed.stderr and "directly" in listed.stderr
    found = {record["key"]: record for record in json.loads(listed.stdout)["keys"]}
    assert {key: record["state"] for key, record in found.items()} == {kept: "completed", lost: "unknown"}
    unknown = found[lost]["id"]
    shown = json.loads(direct(gateway, "show", unknown, "--json").stdout)
    assert shown["history"] == shown_by_gateway["history"] and shown["id"] == shown_by_gateway["id"]

    done = direct(gateway, "release", unknown, "--reason", "not in the ledger")
    assert done.returncode == 0 and done.stdout == f"{unknown} is now released\n", done
    refused = direct(gateway, "release", found[kept]["id"], "--reason", "oops")
    assert refused.returncode == 4 and "nothing to resolve" in refused.stderr

    gateway.start()
    assert_replay(gateway.post("/charges", json=BODY, key=kept), first)
    assert gateway.post("/charges", json=BODY, key=lost).status == 200
    assert [request["attempt"] for request in upstream.requests(lost)] == ["1", "2"]
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert f"released by {user} at the store: not in the ledger" in [h["note"] for h in gateway.record(lost)["history"]]


def test_a_store_that_a_gateway_has_open_is_left_alone(start_gateway):
    gateway = start_gateway(ROUTE, store="embedded")
    gateway.post("/charges", json=BODY, key=new_key())
    done = direct(gateway, "ls")
    assert done.returncode == 1 and done.stdout == ""
    assert "no answer from the admin listener" in done.stderr and "The store itself cannot be used either" in done.stderr
    assert gateway.post("/charges", json=BODY, key=new_key()).status == 200


def test_no_store_is_made_by_looking(tmp_path):
    path = tmp_path / "semel.yaml"
    path.write_text(json.dumps({"admin": {"listen": "127.0.0.1:0"}, "tenant": {"from": "none"},
                                "store": {"kind": "embedded", "path": str(tmp_path / "data")},
                                "routes": [{"path": "/*", "upstream": "http://127.0.0.1:1"}]}))
    done = run_semel("keys", "ls", path)
    assert done.returncode == 1 and f"there is no store at {tmp_path / 'data'}" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_gateway_that_was_named_is_the_only_one_asked(start_gateway):
    gateway = start_gateway(ROUTE, store="embedded")
    gateway.stop()
    done = run_semel("keys", "ls", "--config", gateway.folder / "semel.yaml", "--admin", "http://127.0.0.1:1")
    assert done.returncode == 1 and "directly" not in done.stderr and "--admin URL" in done.stderr
