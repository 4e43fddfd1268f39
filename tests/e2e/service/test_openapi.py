"""/v1/openapi.json against the service itself: every answer fits its description, and every path, status and member in
the description is seen at least once."""

import base64
import json

import pytest

from harness.clients.http_client import Connection
from harness.clients.service_client import ENVIRONMENT, ServiceClient, new_token, service_config
from harness.openapi import ApiDescription
from harness.semel import break_store, eventually, new_key
from harness.servers.redis_server import RedisServer

OPERATIONS = {"jobs": {}, "brief": {"ttl": "1s", "tombstone": "1h"},
              "rare": {"limits": {"new_keys_per_second": 1}}}
ANSWERS = ["Claimed", "State", "Record", "Problem"]
REQUESTS = ["Claim", "Renewal", "Completion", "Ending"]
BINARY = base64.b64encode(b"\xff\x00binary").decode()


def see_claims(client):
    claim = client.granted(new_key(), tenant="", lease="10s", ttl="1h", wait="1s")
    client.claim(claim["record"][:8], payload_base64=BINARY)
    key = new_key()
    client.claim(key, fingerprint="0" * 64)
    client.claim(key, fingerprint="1" * 64)
    client.claim(key, fingerprint="0" * 64)
    client.claim("a key\x01")
    client.claim("")
    client.claim(new_key(), operation="nobody knows this")
    client.claim(new_key(), payload="x" * 2000)
    for _ in range(3):
        client.claim(new_key(), operation="rare")
    as_request = {"method": "POST", "path": "/big", "query": "a=b", "content_type": "application/json",
                  "headers": {"X-A": "b"}}
    client.claim(new_key(), operation="big", request=as_request)


def see_reports(client):
    claim = client.granted(new_key())
    client.show(claim["record"])
    client.report("renew", claim, lease="20s")
    client.complete(claim, headers={"X-A": "b"})
    client.complete(claim, body="other")
    client.show(claim["record"])
    binary = client.granted(new_key())
    client.report("complete", binary, answer={"status": 500, "headers": [["X-A", "b"]], "body_base64": BINARY})
    client.show(binary["record"])
    client.report("release", client.granted(new_key()), reason="later")
    lost = client.granted(key := new_key())
    client.report("give-up", lost, reason="no answer")
    client.claim(key)


def see_refused_reports(client):
    nobody = {"record": "0" * 64, "token": new_token()}
    ended = client.granted(new_key())
    client.complete(ended)
    for verb in ("renew", "complete", "release", "give-up"):
        path = f"/v1/claims/{ended['record']}/{verb}"
        more = {"answer": {"status": 200}} if verb == "complete" else {}
        client.report(verb, nobody, **more)
        client.report(verb, {**ended, "token": new_token()}, **more)
        client.request("POST", path, {"unknown": 1})
        client.request("POST", path, {"token": new_token(), "x": "y" * 400_000})
    client.show(nobody["record"])


def see_expired(client):
    claim = client.granted(key := new_key(), operation="brief")
    client.complete(claim)
    eventually(lambda: client.claim(key, operation="brief").status == 410)
    client.show(claim["record"])


def see_strangers(stranger):
    stranger.claim(new_key())
    stranger.show("0" * 64)
    for verb in ("renew", "complete", "release", "give-up"):
        stranger.report(verb, {"record": "0" * 64, "token": new_token()})


def see_a_broken_store(gateway, client):
    claims = [client.granted(new_key()) for _ in range(4)]
    break_store(gateway)
    client.claim(new_key())
    for verb, claim in zip(("renew", "complete", "release", "give-up"), claims):
        more = {"answer": {"status": 200}} if verb == "complete" else {}
        client.report(verb, claim, **more)


def see_a_store_that_is_gone(module_gateway, api):
    """The embedded store can still read when it cannot write; a store on a server cannot."""
    server = RedisServer().start()
    try:
        gateway = module_gateway(service=service_config(), environment=ENVIRONMENT,
                                 store={"kind": "redis", "url": server.url()})
        client = ServiceClient(gateway, see=api.saw)
        claim = client.granted(new_key())
        server.kill9()
        assert client.show(claim["record"]).status == 503
        server.start()
        assert eventually(lambda: client.show(claim["record"]).status == 200)
    finally:
        gateway.discard()
        server.discard()


def get_document(gateway):
    with Connection(gateway.service_address) as connection:
        return connection.request("GET", "/v1/openapi.json")


@pytest.fixture(scope="module")
def api(module_gateway, upstream_process):
    gateway = module_gateway(
        {"name": "big", "path": "/big", "max_stored_body": "1KiB", "max_spilled_body": "1KiB"},
        service=service_config(operations=OPERATIONS, max_body="1KiB"), environment=ENVIRONMENT,
        store="embedded", inherit_signals=True)
    document = get_document(gateway)
    api = ApiDescription(document.json())
    api.saw("GET", "/v1/openapi.json", None, document)
    client = ServiceClient(gateway, see=api.saw)
    see_claims(client)
    see_reports(client)
    see_refused_reports(client)
    see_expired(client)
    key = new_key()
    assert gateway.post("/big", json={"job": 1}, key=key, test="size=5000").status == 200
    as_route = {"method": "POST", "path": "/big", "content_type": "application/json"}
    assert client.claim(key, operation="big", request=as_route).json()["answer"]["body_omitted"]
    see_strangers(ServiceClient(gateway, token=None, see=api.saw))
    see_strangers(ServiceClient(gateway, token="somebody-elses-token-1234", see=api.saw))
    see_a_broken_store(gateway, client)
    see_a_store_that_is_gone(module_gateway, api)
    yield api
    gateway.kill9()


def test_every_answer_that_is_described_was_seen(api):
    assert api.described_answers() == api.seen_answers


def test_every_member_of_an_answer_was_seen(api):
    missing = api.described_members(ANSWERS) - api.seen_members
    assert not missing, sorted(map(api.name_of, missing))
    assert {("header", "Retry-After"), ("header", "WWW-Authenticate")} <= api.seen_members


def test_every_member_of_a_request_was_accepted(api):
    missing = api.described_members(REQUESTS) - api.sent_members
    assert not missing, sorted(map(api.name_of, missing))


def test_a_description_that_is_wrong_is_noticed(api):
    """The comparison itself: without it the tests above would pass for any document."""
    document = json.loads(json.dumps(api.document))
    del document["components"]["schemas"]["State"]["properties"]["attempt"]
    wrong = ApiDescription(document)
    state = {"record": "0" * 64, "state": "released", "attempt": 1, "updated_at": "2026-01-01T00:00:00.000Z"}
    api.check(state, {"$ref": "#/components/schemas/State"}, "answer", set())
    with pytest.raises(AssertionError, match="attempt"):
        wrong.check(state, {"$ref": "#/components/schemas/State"}, "answer", set())
    with pytest.raises(AssertionError):
        api.check({**state, "state": "done"}, {"$ref": "#/components/schemas/State"}, "answer", set())
