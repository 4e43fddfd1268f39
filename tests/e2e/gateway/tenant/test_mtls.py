"""docs/spec.md 5, `tenant: {from: mtls}`: the tenant is whom a certificate names that the listener
verified."""

import pytest

from harness.semel import assert_problem, assert_replay, store_calls

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/v1/charges"}


@pytest.fixture(scope="module")
def gateway(module_gateway, certificates):
    return module_gateway(ROUTE, tenant={"from": "mtls"}, tls={
        **certificates.server.files(), "client_ca": str(certificates.ca.cert)})


@pytest.fixture
def post(gateway, certificates, key):
    def send(certificate):
        context = certificates.ca.client_context(certificate)
        with gateway.connect(tls=context) as connection:
            return connection.request("POST", "/v1/charges", json=BODY, key=key)
    return send


def test_a_certificate_renewed_between_two_tries_is_one_effect(post, certificates, upstream, key):
    first = post(certificates.client)
    assert first.status == 200
    renewed = certificates.ca.issue("renewed", san="DNS:other.test,URI:spiffe://test/alice")
    assert_replay(post(renewed), first)
    assert upstream.effects(key) == 1


def test_two_certificates_have_keys_of_their_own(post, certificates, upstream, key):
    alice = post(certificates.client)
    others = [certificates.ca.issue("bob", san="URI:spiffe://test/bob"),
              certificates.ca.issue("dns", san="DNS:spiffe.test"),
              certificates.ca.issue("mail", san="email:spiffe.test@a.test")]
    for other in others:
        answer = post(other)
        assert answer.status == 200 and not answer.replayed, answer
    assert_replay(post(certificates.client), alice)
    assert upstream.effects(key) == 4


def test_no_certificate_or_one_that_names_nobody_is_401_and_nothing_is_touched(
        gateway, post, certificates, upstream, key):
    before = gateway.metrics()
    assert_problem(post(None), 401, "tenant-unknown")
    assert_problem(post(certificates.ca.issue("nameless", san="")), 401, "tenant-unknown")
    assert_problem(post(certificates.ca.issue("address", san="IP:10.0.0.1")), 401, "tenant-unknown")
    assert upstream.arrived() == 0
    after = gateway.metrics()
    assert store_calls(after) == store_calls(before)


def test_the_subject_can_name_the_tenant(start_gateway, certificates, upstream, key):
    gateway = start_gateway(ROUTE, tenant={"from": "mtls", "identity": "subject"}, tls={
        **certificates.server.files(), "client_ca": str(certificates.ca.cert)})

    def post(certificate):
        with gateway.connect(tls=certificates.ca.client_context(certificate)) as connection:
            return connection.request("POST", "/v1/charges", json=BODY, key=key)
    first = post(certificates.ca.issue("one", subject="/O=Shop/CN=alice", san=""))
    assert first.status == 200
    assert_replay(post(certificates.ca.issue("two", subject="/O=Shop/CN=alice", san="DNS:x")), first)
    other = post(certificates.ca.issue("three", subject="/O=Bank/CN=alice", san=""))
    assert other.status == 200 and not other.replayed
    assert upstream.effects(key) == 2
