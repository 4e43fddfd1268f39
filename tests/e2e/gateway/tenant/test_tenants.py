"""docs/spec.md 5: who is asking. One tenant can never see, probe or block another's keys, and what
cannot be told apart safely is refused before anything is touched."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import assert_problem, assert_replay, new_key

BODY = {"amount": 100}
ALICE = {"Authorization": "Bearer sk_live_alice"}
BOB = {"Authorization": "Bearer sk_live_bob"}
JWT = ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0."
       "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U")


@pytest.fixture(scope="module")
def by_authorization(module_gateway):
    return module_gateway({"name": "charges", "path": "/v1/charges"},
                          tenant={"from": "authorization"})


@pytest.fixture(scope="module")
def by_header(module_gateway):
    return module_gateway({"name": "charges", "path": "/v1/charges"},
                          tenant={"from": "header", "name": "X-Tenant"},
                          trusted_proxies=["127.0.0.2/32", "10.0.0.0/8"])


def test_a_credential_names_its_tenant(by_authorization, upstream, key):
    first = by_authorization.post("/v1/charges", json=BODY, key=key, headers=ALICE)
    assert_replay(by_authorization.post("/v1/charges", json=BODY, key=key, headers=ALICE), first)
    assert upstream.effects() == 1


def test_two_credentials_have_keys_of_their_own(by_authorization, upstream, key):
    alice = by_authorization.post("/v1/charges", json=BODY, key=key, headers=ALICE)
    bob = by_authorization.post("/v1/charges", json=BODY, key=key, headers=BOB)
    assert bob.status == 200 and not bob.replayed and bob.body != alice.body
    assert_replay(by_authorization.post("/v1/charges", json=BODY, key=key, headers=ALICE), alice)
    assert_replay(by_authorization.post("/v1/charges", json=BODY, key=key, headers=BOB), bob)


def test_a_tenant_can_neither_probe_nor_block_anothers_key(by_authorization, upstream, key):
    with by_authorization.connect() as alice:
        alice.send(request_bytes("POST", "/v1/charges", json=BODY, key=key, headers=ALICE,
                                 test="gate=alice"))
        upstream.wait_arrived(1, key)
        bob = by_authorization.post("/v1/charges", json={"amount": 2}, key=key, headers=BOB)
        assert bob.status == 200  # neither 409 nor 422: he learns nothing of hers
        upstream.open_gate("alice")
        assert alice.read_response().status == 200
    assert upstream.effects(key) == 2


def test_a_bare_credential_is_told_apart_by_case(by_authorization, upstream, key):
    send = lambda value: by_authorization.post("/v1/charges", json=BODY, key=key,
                                               headers={"Authorization": value})
    first = send("sk_live_AbC")
    assert not send("sk_live_aBc").replayed and not send("SK_LIVE_ABC").replayed
    assert_replay(send("sk_live_AbC"), first)
    assert upstream.effects(key) == 3


def test_a_scheme_ends_at_a_tab_as_at_a_blank(by_authorization, upstream, key):
    send = lambda value: by_authorization.post("/v1/charges", json=BODY, key=key,
                                               headers={"Authorization": value})
    first = send("Bearer AbC")
    for same in ("bearer AbC", "Bearer\tAbC", "BEARER \t AbC"):
        assert_replay(send(same), first)
    assert not send("Bearer\taBc").replayed
    assert upstream.effects(key) == 2
    assert_problem(send("DPoP\tAbC"), 401, "tenant-unknown")


def test_basic_credentials_are_static_too(by_authorization, upstream, key):
    basic = {"Authorization": "Basic dXNlcjpwYXNz"}
    first = by_authorization.post("/v1/charges", json=BODY, key=key, headers=basic)
    assert_replay(by_authorization.post("/v1/charges", json=BODY, key=key, headers=basic), first)


@pytest.mark.parametrize("credential", [
    f"Bearer {JWT}", f"bearer {JWT}", f"BEARER  {JWT}", f"DPoP {JWT}", "DPoP opaque-token",
    "Bearer eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..aXY.Y2lwaGVy.dGFn", f"jwe {JWT}.a.b",
    "paseto v4.public.eyJzdWIiOiJ4In0",
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb",
    'Digest username="Mufasa", realm="test", nonce="dcd98b", uri="/v1/charges", response="6629fa"',
    "AWS4-ECDSA-P256-SHA256 Credential=a, Signature=b", "AWS id:signature", "SharedKey account:signature",
    "HMAC-SHA256 Credential=a&Signature=b", "SSWS key", f'Bearer "{JWT}"', f"Bearer token={JWT}",
    "Bearer ewogImFsZyI6ICJub25lIgp9.e30.c2ln", "Bearer", "basic",
], ids=lambda c: c.split(" ")[0])
def test_a_credential_that_changes_between_tries_is_refused(by_authorization, upstream, key,
                                                            credential):
    answer = by_authorization.post("/v1/charges", json=BODY, key=key,
                                   headers={"Authorization": credential})
    assert_problem(answer, 401, "tenant-unknown")
    assert upstream.arrived() == 0


def test_a_scheme_that_is_named_is_taken(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, tenant={"from": "authorization", "schemes": ["SSWS"]})
    send = lambda value: gateway.post("/v1/charges", json=BODY, key=key, headers={"Authorization": value})
    first = send("SSWS one")
    assert_replay(send("ssws one"), first)
    assert not send("SSWS two").replayed
    assert_problem(send("Other one"), 401, "tenant-unknown")
    assert upstream.effects(key) == 2


def test_a_missing_or_ambiguous_credential_is_refused(by_authorization, upstream, key):
    for headers in ({}, {"Authorization": ""},
                    {"Authorization": ["Bearer sk_live_alice", "Bearer sk_live_bob"]}):
        answer = by_authorization.post("/v1/charges", json=BODY, key=key, headers=headers)
        assert_problem(answer, 401, "tenant-unknown")
    assert upstream.arrived() == 0


def test_without_a_key_the_tenant_does_not_matter(by_authorization, upstream):
    for headers in ({}, {"Authorization": f"Bearer {JWT}"}):
        assert by_authorization.post("/v1/charges", json=BODY, headers=headers).status == 200
    assert upstream.effects() == 2


def test_the_keys_syntax_is_checked_before_the_tenant(by_authorization, upstream):
    assert_problem(by_authorization.post("/v1/charges", json=BODY, key="a,b"), 400, "key-invalid")


def test_a_trusted_proxy_names_the_tenant(by_header, upstream, key):
    def post(tenant):
        return by_header.post("/v1/charges", json=BODY, key=key, source="127.0.0.2",
                              headers={"X-Tenant": tenant})
    alice, bob = post("alice"), post("bob")
    assert alice.status == 200 and not bob.replayed and alice.body != bob.body
    assert_replay(post("alice"), alice)
    assert_replay(post("bob"), bob)
    assert upstream.effects(key) == 2


def test_anyone_else_who_names_a_tenant_is_refused(by_header, upstream, key):
    mine = by_header.post("/v1/charges", json=BODY, key=key, source="127.0.0.2",
                          headers={"X-Tenant": "alice"})
    for source in ("127.0.0.1", "127.0.0.3"):
        for headers in ({"X-Tenant": "alice"}, {},
                        {"X-Tenant": "alice", "X-Forwarded-For": "127.0.0.2"}):
            answer = by_header.post("/v1/charges", json=BODY, key=key, headers=headers,
                                    source=source)
            assert_problem(answer, 401, "tenant-unknown")
            assert mine.json()["run"].encode() not in answer.body
    assert upstream.effects() == 1


def test_a_tenant_named_twice_or_not_at_all_is_refused(by_header, upstream, key):
    for headers in ({"X-Tenant": ["alice", "alice"]}, {"X-Tenant": ["alice", "bob"]}, {},
                    {"X-Tenant": ""}):
        answer = by_header.post("/v1/charges", json=BODY, key=key, headers=headers,
                                source="127.0.0.2")
        assert_problem(answer, 401, "tenant-unknown")
    assert upstream.arrived() == 0


def test_by_default_no_proxy_is_trusted(start_gateway, upstream):
    """So a tenant by header alone could never be believed: said at start, not at each request."""
    with pytest.raises(AssertionError, match="(?s)exit code 2.*trusted_proxies"):
        start_gateway({"path": "/v1/charges"}, tenant={"from": "header", "name": "X-Tenant"})


def test_namespaces_divide_one_store(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/v1/charges"}, namespace="blue")
    blue = gateway.post("/v1/charges", json=BODY, key=key)
    gateway.restart(namespace="green")
    green = gateway.post("/v1/charges", json=BODY, key=key)
    assert not green.replayed and green.body != blue.body
    gateway.restart(namespace="blue")
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), blue)


def test_tenant_none_is_one_tenant(start_gateway, upstream):
    gateway = start_gateway({"path": "/v1/charges"}, tenant={"from": "none"})
    key = new_key()
    first = gateway.post("/v1/charges", json=BODY, key=key, headers=ALICE)
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key, headers=BOB), first)
