"""Who may do what through the service API. A client sees and claims what its token allows, and learns nothing about
anything else; one client cannot take all the places where claims wait."""

import json
import os
import signal

import pytest

from harness.clients.http_client import Connection
from harness.clients.service_client import ServiceClient
from harness.semel import (Background, Gateway, assert_problem, eventually, new_key, settle)

ALL, ONE, OTHER = "token-of-all-0123456789", "token-of-one-0123456789", "token-of-other-0123456789"
OPERATIONS = {"jobs": {}, "mail": {}, "rare": {"limits": {"new_keys_per_second": 1}}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    for name, token in (("all", ALL), ("one", ONE), ("other", OTHER)):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(token + "\n")
    return folder


def clients(files):
    return [{"name": "all", "token_file": str(files / "all"), "tenants": "*", "operations": "*"},
            {"name": "one", "token_file": str(files / "one"), "tenants": ["a"], "operations": ["jobs"]},
            {"name": "other", "token_file": str(files / "other"), "tenants": ["a", "b"],
             "operations": ["jobs", "mail"]}]


def service(files, **more):
    return {"listen": "127.0.0.1:0", "clients": clients(files), "operations": OPERATIONS, **more}


@pytest.fixture(scope="module")
def gateway(module_gateway, files):
    return module_gateway(service=service(files))


@pytest.fixture
def all_of(gateway):
    return ServiceClient(gateway, ALL)


@pytest.fixture
def one(gateway):
    return ServiceClient(gateway, ONE)


def test_without_a_token_nothing_is_said(gateway, key):
    for token in (None, "", "token-of-nobody-0123456789", ONE[:-1], ONE + "x"):
        stranger = ServiceClient(gateway, token)
        for answer in (stranger.claim(key), stranger.show("0" * 64), stranger.request("GET", "/v1/nothing")):
            assert_problem(answer, 401, "client-unknown")
            assert answer.header("WWW-Authenticate") == 'Bearer realm="semel"'


def test_a_client_claims_what_its_token_allows(one, all_of, key):
    assert one.granted(key)["attempt"] == 1  # its only tenant
    assert_problem(one.claim(key, tenant="b"), 403, "not-allowed")
    assert_problem(one.claim(key, operation="mail"), 403, "not-allowed")
    assert_problem(one.claim(key, operation="nothing"), 403, "not-allowed")
    assert_problem(all_of.claim(key, operation="nothing", tenant="a"), 403, "not-allowed")
    assert "tenant: required" in assert_problem(all_of.claim(key), 400, "request-invalid")["detail"]


def test_a_foreign_record_is_as_good_as_none(one, all_of, key):
    theirs = all_of.granted(key, tenant="b")
    nothing = {"record": "0" * 64, "token": theirs["token"]}
    assert one.show(theirs["record"]).body == one.show(nothing["record"]).body
    for verb in ("renew", "release", "give-up"):
        answers = [one.report(verb, claim) for claim in (theirs, nothing)]
        assert answers[0].body == answers[1].body
        assert_problem(answers[0], 404, "record-unknown")
    assert_problem(one.complete(theirs), 404, "record-unknown")
    assert all_of.complete(theirs).status == 200
    # The refusal to claim is the same, too, whether or not the key is used.
    used, new = one.claim(key, tenant="b"), one.claim(new_key(), tenant="b")
    assert used.body == new.body


def test_a_claim_belongs_to_its_client(gateway, one, key):
    claim = one.granted(key)
    neighbour = ServiceClient(gateway, OTHER)  # may use the same tenant and operation
    assert_problem(neighbour.claim(key, tenant="a", token=claim["token"]), 409, "in-progress")
    assert_problem(neighbour.complete(claim), 409, "claim-lost")
    assert neighbour.show(claim["record"]).json()["state"] == "in_progress"
    assert one.complete(claim).status == 200


@pytest.mark.parametrize("change, why", [
    ({"key": 5}, "key: must be a string"), ({"token": "12"}, "token: must be 32"),
    ({"token": "0" * 32}, "token: must be 32"), ({"token": "A" * 32}, "token: must be 32"),
    ({"lease": "10ms"}, "lease: must be a time from 1s"), ({"wait": "2m"}, "wait: must be a time from 0"),
    ({"ttl": 5}, "ttl: must be a time"), ({"payload_base64": "eA=="}, "send one of payload"),
    ({"surprise": 1}, "'surprise': unknown member"), ({"request": {"verb": "POST"}}, "request: 'verb' is unknown"),
    ({"fingerprint": "zz"}, "fingerprint: must be 64")])
def test_what_is_wrong_with_a_claim_is_said(one, key, change, why):
    answer = one.request("POST", "/v1/claims", {**one.claim_body(key), **change})
    assert why in assert_problem(answer, 400, "request-invalid")["detail"]


def test_a_key_has_the_syntax_of_keys(one):
    for key in ("", "x" * 256, "ü"):
        assert_problem(one.claim(key), 400, "key-invalid")


@pytest.mark.parametrize("text", ["", "{", "[]", '"a"', '{"key": "a", "key": "b"}', '{"key": "a", "k\\u0065y": "b"}',
                                  pytest.param("{" + '"a":[' * 600, id="deep")])
def test_what_is_no_object_is_refused(gateway, one, text):
    with Connection(gateway.service_address) as connection:
        answer = connection.request("POST", "/v1/claims", text.encode(),
                                    headers=[("Authorization", f"Bearer {ONE}")])
    assert_problem(answer, 400, "request-invalid")


def test_paths_and_methods(gateway, one):
    assert_problem(one.request("GET", "/v1/nothing"), 404, "no-route")
    assert_problem(one.request("POST", f"/v1/claims/{'0' * 64}/forget", {}), 404, "no-route")
    assert_problem(one.request("POST", "/v1/claims/x/renew", {}), 404, "no-route")
    assert one.request("GET", "/v1/claims").header("Allow") == "POST"
    assert_problem(one.request("DELETE", f"/v1/records/{'0' * 64}"), 405, "method-not-allowed")


def test_large_requests_are_refused_before_they_are_read(gateway, one):
    with Connection(gateway.service_address) as connection:
        answer = connection.request("POST", "/v1/claims", b"", headers=[
            ("Authorization", f"Bearer {ONE}"), ("Content-Length", str(100 << 20))])
    assert_problem(answer, 413, "body-too-large")


def test_new_keys_are_limited_and_repetitions_are_free(all_of):
    body = {**all_of.claim_body(new_key(), operation="rare"), "tenant": "limits"}
    assert all_of.request("POST", "/v1/claims", body).status == 201
    limited = all_of.claim(new_key(), operation="rare", tenant="limits")
    assert_problem(limited, 429, "too-many-keys")
    assert int(limited.header("Retry-After")) >= 1
    assert all_of.request("POST", "/v1/claims", body).status == 201


def test_a_client_that_waits_everywhere_leaves_places_for_others(gateway, all_of, one, key, many_descriptors):
    """Beyond its share it is answered at once; another client still waits, and is woken."""
    held = all_of.granted(key, tenant="a")
    greedy = []
    try:
        wire = all_of.wire("POST", "/v1/claims", {**all_of.claim_body(key), "tenant": "a", "wait": "60s"})
        for _ in range(420):
            greedy.append(all_of.connect())
            greedy[-1].send(wire)
        settle()
        waiting = Background(one.claim, key, wait="20s")
        settle()
        assert not waiting.done
        turned_away = Background(all_of.claim, key, tenant="a", wait="20s")
        assert_problem(turned_away.result(), 409, "in-progress")
        assert not waiting.done
        all_of.complete(held)
        assert waiting.result().status == 200
        statuses = [connection.read_response().status for connection in greedy]
        assert set(statuses) == {200, 409} and statuses.count(200) <= 384
    finally:
        for connection in greedy:
            connection.close()


def test_a_waiting_client_that_goes_away_gets_no_claim(one, key):
    """Nobody would execute under it, and the key would be blocked until its lease ran out."""
    held = one.granted(key)
    gone = one.connect()
    gone.send(one.wire("POST", "/v1/claims", one.claim_body(key, wait="20s")))
    settle()
    gone.close()
    settle()
    one.report("release", held)
    assert one.granted(key, wait="5s")["attempt"] == 2


def test_a_new_token_counts_after_sighup(start_gateway, tmp_path):
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(ONE)
    client = {"name": "one", "token_file": str(token), "tenants": ["a"], "operations": "*"}
    gateway = start_gateway(service={"listen": "127.0.0.1:0", "clients": [client],
                                                "operations": {"jobs": {}}})
    claim = ServiceClient(gateway, ONE).granted(new_key())
    token.write_text(OTHER)
    gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: ServiceClient(gateway, OTHER).show("0" * 64).status == 404)
    assert ServiceClient(gateway, ONE).show(claim["record"]).status == 401
    assert ServiceClient(gateway, OTHER).complete(claim).status == 200  # it is the same client
    token.write_text("short")
    gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: "token was not read" in gateway.stderr())
    assert ServiceClient(gateway, OTHER).show(claim["record"]).status == 200


def test_one_bad_token_keeps_no_other_client_in(start_gateway, tmp_path):
    """Revoking a client must work although another one's file is broken."""
    files = {"one": tmp_path / "one", "two": tmp_path / "two"}
    for (name, file), token in zip(files.items(), (ONE, OTHER)):
        file.touch(mode=0o600)
        file.write_text(token)
    clients = [{"name": name, "token_file": str(file), "tenants": ["a"], "operations": "*"}
               for name, file in files.items()]
    gateway = start_gateway(service={"listen": "127.0.0.1:0", "clients": clients, "operations": {"jobs": {}}})
    claim = ServiceClient(gateway, ONE).granted(new_key())
    files["one"].write_text("short")
    assert gateway.reload(service={**gateway.config["service"], "clients": clients[:1]})
    eventually(lambda: ServiceClient(gateway, OTHER).show("0" * 64).status == 401)
    assert ServiceClient(gateway, ONE).complete(claim).status == 200, "it keeps the token it had"


def test_a_claim_outlives_the_name_of_its_operation(start_gateway, files):
    def service(name):
        return {"listen": "127.0.0.1:0", "clients": [{"name": "one", "token_file": str(files / "one"),
                                                      "tenants": [""], "operations": [name]}]}
    gateway = start_gateway({"name": "orders-old", "path": "/orders"}, service=service("orders-old"))
    claim = ServiceClient(gateway, ONE).granted(new_key(), operation="orders-old")
    renamed = {**gateway.config["routes"][0], "name": "orders", "aliases": ["orders-old"]}
    assert gateway.reload(routes=[renamed], service=service("orders"))
    client = ServiceClient(gateway, ONE)
    assert eventually(lambda: client.report("renew", claim).status == 200)
    assert client.complete(claim, body="done").status == 200
    assert client.show(claim["record"]).json()["answer"]["body"] == "done"


def test_after_the_effect_no_refusal_calls_a_new_key_safe(start_gateway, files):
    gateway = start_gateway(service={"listen": "127.0.0.1:0", "clients": clients(files), "operations": OPERATIONS})
    one = ServiceClient(gateway, ONE)
    claim = one.granted(new_key())
    bad = one.report("complete", claim, answer={"status": 99})
    assert assert_problem(bad, 400, "request-invalid")["new_key_safe"] is False
    stranger = ServiceClient(gateway, "token-of-nobody-0123456789").complete(claim)
    assert assert_problem(stranger, 401, "client-unknown")["new_key_safe"] is False


@pytest.mark.parametrize("mode, content, why", [
    (0o644, ONE, "chmod"), (0o600, "short", "16 to 256"), (0o600, "two words of a token", "16 to 256")])
def test_a_token_that_cannot_be_used_stops_the_start(tmp_path, mode, content, why):
    file = tmp_path / "token"
    file.write_text(content)
    os.chmod(file, mode)
    client = {"name": "one", "token_file": str(file), "tenants": ["a"], "operations": "*"}
    gateway = Gateway(service={"listen": "127.0.0.1:0", "clients": [client], "operations": {"jobs": {}}})
    try:
        with pytest.raises(AssertionError) as failed:
            gateway.start()
        assert "exit code" in str(failed.value) and content not in str(failed.value)
        assert why in str(failed.value)
    finally:
        gateway.discard()


def test_requests_are_counted_and_logged(gateway, one, key):
    claim = one.granted(key)
    one.complete(claim)
    metrics = gateway.metrics()
    assert metrics["semel_service_requests_total{call=claim,client=one,status=201}"] >= 1
    assert metrics["semel_service_requests_total{call=complete,client=one,status=200}"] >= 1
    lines = [line for line in eventually(gateway.stderr).splitlines() if "service" in line]
    assert any("call=complete" in line and "client=one" in line for line in lines) or any(
        json.loads(line).get("call") == "complete" for line in lines if line.startswith("{"))
    assert claim["token"] not in gateway.stderr() and ONE not in gateway.stderr()


def test_no_service_unless_it_is_configured(start_gateway):
    assert start_gateway({"path": "/*"}).service_address is None
