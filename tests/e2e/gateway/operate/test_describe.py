"""A record says what was asked for, so that a person can decide about an unknown outcome: method, path
and the members of the body that the route names."""

import base64
import json

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import DEFAULT_STORE, TRIED_STORES, assert_problem, assert_replay, eventually

CHARGE = {"amount": 4200, "currency": "EUR", "to": {"iban": "DE02-1203-0000"}, "card": "4111-1111"}
ROUTE = {"name": "charges", "path": "/v1/*", "describe": ["/amount", "/currency", "/to", "/none"]}
DESCRIBED = {"/amount": "4200", "/currency": '"EUR"', "/to": '{"iban": "DE02-1203-0000"}'}
TEXT = json.dumps(CHARGE).encode()
JSON = {"Content-Type": "application/json"}


def lose(gateway, key, path="/v1/charges?from=web"):
    """A charge whose upstream dies before it answers."""
    assert gateway.post(path, TEXT, headers=JSON, key=key, test="close=reset").status == 502


def assert_described(record, described=DESCRIBED):
    assert (record["method"], record["path"]) == ("POST", "/v1/charges")
    assert record["request"] == {"method": "POST", "path": "/v1/charges", "described": described,
                                 "bytes": 0}


@pytest.mark.parametrize("kind", TRIED_STORES)
def test_an_unknown_outcome_says_what_was_asked_for(start_gateway, upstream, key, kind):
    gateway = start_gateway(ROUTE, store=kind)
    lose(gateway, key)
    assert_problem(gateway.post("/v1/charges?from=web", TEXT, headers=JSON, key=key), 409,
                   "outcome-unknown")
    record = gateway.record(key)
    assert record["state"] == "unknown"
    assert_described(record)
    listed = gateway.admin("/api/keys?state=unknown").json()["keys"]
    assert [(one["method"], one["path"]) for one in listed] == [("POST", "/v1/charges")]
    assert "4111-1111" not in json.dumps(record), "only what the route names is kept"
    line = eventually(lambda: next((x for x in gateway.stderr().splitlines() if "to=unknown" in x),
                                   None))
    assert "method=POST path=/v1/charges" in line and "4200" not in line


def test_the_command_shows_it(start_gateway, upstream, key):
    gateway = start_gateway(ROUTE)
    lose(gateway, key)
    shown = gateway.keys("show", gateway.record(key)["id"]).stdout.decode().splitlines()
    assert "method        POST" in shown and "path          /v1/charges" in shown
    assert "described     /amount 4200" in shown and 'described     /currency "EUR"' in shown
    listed = gateway.keys("ls").stdout.decode().splitlines()
    assert "REQUEST" in listed[0] and " POST /v1/charges " in listed[1]


def test_it_outlives_a_restart_and_what_becomes_of_the_record(start_gateway, upstream, key):
    gateway = start_gateway(ROUTE)
    lose(gateway, key)
    gateway.restart()
    assert_described(gateway.record(key))
    released = gateway.change(f"/api/keys/{gateway.record(key)['id']}/release", {"reason": "no"})
    assert released.status == 200
    assert_described(released.json())
    assert gateway.post("/v1/charges?from=web", TEXT, headers=JSON, key=key).status == 200
    assert gateway.record(key)["state"] == "completed"
    assert_described(gateway.record(key))
    forgotten = gateway.change(f"/api/keys/{gateway.record(key)['id']}/forget", {"reason": "no"})
    assert forgotten.json()["state"] == "tombstone"
    assert_described(forgotten.json(), described=None)


def test_a_killed_gateway_leaves_it_too(start_gateway, upstream, key):
    gateway = start_gateway(ROUTE)
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/v1/charges", TEXT, headers=JSON, key=key,
                                      test="gate=never"))
        upstream.wait_effects(1, key)
        gateway.kill9()
    gateway.start()
    assert_described(gateway.record(key))


def test_encryption_seals_the_members(start_gateway, upstream, key, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("k1:" + base64.b64encode(b"k" * 32).decode() + "\n")
    keys.chmod(0o600)
    gateway = start_gateway(ROUTE, encryption={"keys_file": str(keys)})
    lose(gateway, key)
    assert_described(gateway.record(key))
    done = gateway.post("/v1/charges", TEXT, headers=JSON, key="done-" + key, test="status=201")
    gateway.restart()
    for one in (key, "done-" + key):
        assert_described(gateway.record(one))
    assert_replay(gateway.post("/v1/charges", TEXT, headers=JSON, key="done-" + key), done)
    found = gateway.record(key)
    assert gateway.change(f"/api/keys/{found['id']}/release", {"reason": "no"}).status == 200
    assert gateway.post("/v1/charges?from=web", TEXT, headers=JSON, key=key).status == 200
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]
    gateway.stop()
    files = [p.read_bytes() for p in (gateway.folder / "data").rglob("*") if p.is_file()]
    assert not any(b"DE02-1203" in text for text in files)
    if DEFAULT_STORE == "embedded":
        assert any(b"/v1/charges" in text for text in files), "the search finds what is there"
    gateway.start()


def test_without_describe_the_body_is_not_kept(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/v1/*"})
    lose(gateway, key)
    assert_described(gateway.record(key), described=None)


@pytest.mark.parametrize("body, described", [
    (b"amount=4200", None), (b'{"amount":1,"amount":2}', None), (b"", None),
    (b'{"amount":"' + b"x" * 300 + b'"}', {"/amount": '"' + "x" * 252 + "\u2026"}),
    (b'{"amount":1,"fill":"' + b"x" * 300_000 + b'"}', None)],
    ids=["form", "twice", "empty", "long", "large"])
def test_a_body_that_has_no_such_member_has_none(start_gateway, upstream, key, body, described):
    gateway = start_gateway(ROUTE)
    assert gateway.post("/v1/charges", body, headers=JSON, key=key).status == 200
    assert_described(gateway.record(key), described)


def test_queued_work_is_described_before_it_runs(start_gateway, upstream, key):
    gateway = start_gateway({**ROUTE, "in_progress": "accept"})
    accepted = gateway.post("/v1/charges", TEXT, headers={**JSON, "Prefer": "respond-async"},
                            key=key, test="gate=g")
    assert accepted.status == 202
    upstream.wait_effects(1, key)
    record = gateway.record(key)
    assert record["request"]["described"] == DESCRIBED and record["path"] == "/v1/charges"
    assert record["request"]["bytes"] == record["request_bytes"] > len(TEXT)
    upstream.open_gate("g")
    eventually(lambda: gateway.record(key)["state"] == "completed")
    assert_described(gateway.record(key))


def test_records_of_the_format_before_are_read_and_written_on_demand(start_gateway, upstream, key):
    gateway = start_gateway(ROUTE, record_format=2)
    lose(gateway, key)
    record = gateway.record(key)
    assert record["method"] is None and record["request"]["described"] is None
    assert "\nmethod" not in gateway.keys("show", record["id"]).stdout.decode()
    assert " -  " in gateway.keys("ls").stdout.decode().splitlines()[1]
    gateway.restart(record_format=3)
    assert_problem(gateway.post("/v1/charges?from=web", TEXT, headers=JSON, key=key), 409,
                   "outcome-unknown")
    assert gateway.change(f"/api/keys/{record['id']}/release", {"reason": "no"}).status == 200
    lose(gateway, key)
    assert_described(gateway.record(key))
    gateway.restart(record_format=2)
    assert_described(gateway.record(key))
    assert upstream.effects(key) == 2
