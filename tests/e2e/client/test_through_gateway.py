"""`semel call` through the gateway: whatever breaks on the way, there is one effect."""

import json
import re
import stat

import pytest

from harness.clients.semel_call import Call, call, call_json
from harness.semel import eventually

ROUTE = {"path": "/*", "name": "charges", "key": {"required": True}}


def url_of(gateway, path="/v1/charges"):
    host, port = gateway.address
    return f"http://{host}:{port}{path}"


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(ROUTE)


def test_the_second_call_with_a_key_is_a_replay(gateway, upstream, key):
    first = call_json("POST", url_of(gateway), "-d", "{}", "--key", key)
    again = call_json("POST", url_of(gateway), "-d", "{}", "--key", key)
    assert (first[0], first[1]["end"]) == (0, "answered") and (again[0], again[1]["end"]) == (0, "replayed")
    assert first[1]["body"] == again[1]["body"] and upstream.effects() == 1
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT.*Z", again[1]["key_expires"])
    other = call_json("POST", url_of(gateway), "-d", '{"other":1}', "--key", key)
    assert (other[0], other[1]["end"], other[1]["new_key_safe"]) == (65, "refused", True)


def test_a_duplicate_waits_for_the_first_ones_answer(gateway, upstream, key):
    slow = Call("POST", url_of(gateway), "--key", key, "-H", "X-Test: gate=g", "-q")
    upstream.wait_effects(1)
    second = Call("POST", url_of(gateway), "--key", key, "-H", "X-Test: gate=g", "--json")
    eventually(lambda: gateway.result_count("charges", "conflict") >= 1)
    upstream.open_gate("g")
    first, again = slow.end(), second.end()
    assert first.code == 0 and again.code == 0 and upstream.effects() == 1
    said = json.loads(again.out)
    assert said["end"] == "replayed" and said["tries"] >= 2 and said["body"] == first.out


def test_an_unknown_outcome_ends_with_70_and_is_not_executed_again(gateway, upstream, key):
    for _ in range(2):
        done = call("POST", url_of(gateway), "--key", key, "-H", "X-Test: close=reset")
        assert done.code == 70 and "a new one must not" in done.errors
    assert upstream.effects() == 1


def test_a_failure_that_may_be_retried_is(gateway, upstream, key):
    code, sent = call_json("POST", url_of(gateway), "--key", key, "-H", "X-Test: status=503; header.Retry-After=0; first=2")
    assert (code, sent["tries"]) == (0, 3)


def test_202_is_followed_to_the_operations_answer(start_gateway, upstream, key):
    gateway = start_gateway({**ROUTE, "in_progress": "accept"})
    running = Call("POST", url_of(gateway), "--key", key, "-H", "Prefer: respond-async", "-H", "X-Test: gate=g",
                   "--follow", "--json")
    upstream.wait_effects(1)
    upstream.open_gate("g")
    done = running.end()
    said = json.loads(done.out)
    assert done.code == 0 and said["status"] == 200 and upstream.effects() == 1
    assert said["body"] == call("POST", url_of(gateway), "--key", key, "-H", "Prefer: respond-async",
                                "-H", "X-Test: gate=g", "-q").out


def test_killed_in_the_middle_it_goes_on_under_its_name(gateway, upstream, tmp_path):
    keys = tmp_path / "keys"
    arguments = ["POST", url_of(gateway), "-d", '{"amount":1}', "-H", "X-Test: gate=g", "--key-file", keys,
                 "--name", "order-1001"]
    running = Call(*arguments)
    upstream.wait_effects(1)
    running.kill9()
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    written = keys.read_text().split("\n")[1].split("\t")
    assert written[0] == "order-1001" and len(written[1]) == 36
    again = Call(*arguments, "--json")
    upstream.open_gate("g")
    said = json.loads(again.end().out)
    assert (again.code, said["end"], said["key"]) == (0, "replayed", written[1])
    assert upstream.effects() == 1


def test_another_request_under_a_name_is_refused_here(gateway, upstream, tmp_path):
    names = ["--key-file", tmp_path / "keys", "--name", "order-1001"]
    assert call("POST", url_of(gateway), "-d", "1", *names).code == 0
    refused = call("POST", url_of(gateway), "-d", "2", *names)
    assert refused.code == 2 and "another request" in refused.errors and upstream.arrived() == 1
    assert call("--done", *names).code == 0 and call("--done", *names).code == 3
    assert call("POST", url_of(gateway), "-d", "2", *names, "--forget").code == 0
    assert (tmp_path / "keys").read_text() == "semel-keys 1\n" and upstream.effects() == 2


def test_a_failed_call_keeps_its_name(gateway, upstream, tmp_path):
    names = ["--key-file", tmp_path / "keys", "--name", "order-1001", "--forget"]
    assert call("POST", url_of(gateway), "-H", "X-Test: close=reset", *names).code == 70
    assert "order-1001\t" in (tmp_path / "keys").read_text()


def test_a_gateway_that_is_killed_and_comes_back(start_gateway, upstream, key):
    gateway = start_gateway(ROUTE)
    address = "{}:{}".format(*gateway.address)
    first = call_json("POST", url_of(gateway), "--key", key)
    gateway.kill9()
    running = Call("POST", url_of(gateway), "--key", key, "--json", "-v")
    assert running.process.stderr.readline().startswith(b"semel: try 1: no connection")
    gateway.config["listen"] = address
    gateway.start()
    done = running.end()
    again = json.loads(done.out)
    assert (done.code, again["end"], again["body"]) == (0, "replayed", first[1]["body"]) and upstream.effects() == 1
