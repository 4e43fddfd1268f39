"""docs/spec.md 5, `tenant: {from: introspect}`: an auth service proves the credential and names the
tenant. What it does not say is not believed, and while it says nothing nothing is done."""

import ssl
import threading

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import assert_problem, assert_replay, let_pass, new_key, scaled, store_calls
from harness.clients.tokens import bearer

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/v1/charges"}


class AuthService:
    """Counts what it is asked; `answers` maps a credential to (status, tenants)."""

    def __init__(self, raw_upstream, **options):
        self.answers = {}
        self.asked = []
        self._lock = threading.Lock()
        self.service = raw_upstream(self._serve, **options)
        self.url = self.service.url + "/who?from=semel"

    def _serve(self, peer, number):
        while head := peer.read_head():
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)
            credential = fields.get("Authorization") or fields.get("Cookie")
            with self._lock:
                self.asked.append((head.decode().split("\r\n")[0], fields))
            status, tenants = self.answers.get(credential, (401, []))
            if status == "hang":
                peer.wait_closed()
                return
            if status == "close":
                return
            peer.answer(b"", status, "".join(f"X-Tenant: {tenant}\r\n" for tenant in tenants))


@pytest.fixture
def auth(raw_upstream):
    return AuthService(raw_upstream)


@pytest.fixture
def gateway(start_gateway, auth):
    def start(**more):
        tenant = {"from": "introspect", "url": auth.url, "tenant_header": "X-Tenant", **more}
        return start_gateway(ROUTE, tenant=tenant, workers=1)
    return start


def post(gateway, key, credential, **more):
    return gateway.post("/v1/charges", json=BODY, key=key, headers=bearer(credential), **more)


def test_a_token_refreshed_between_two_tries_is_one_effect(gateway, auth, upstream, key):
    """DESIGN 6.19: it is the service's word that counts, not the credential."""
    auth.answers = {"Bearer one": (200, ["alice"]), "Bearer two": (204, ["alice"]),
                    "Bearer bob": (200, ["bob"])}
    running = gateway()
    first = post(running, key, "one")
    assert first.status == 200
    assert_replay(post(running, key, "two"), first)
    bob = post(running, key, "bob")
    assert bob.status == 200 and not bob.replayed
    assert upstream.effects(key) == 2
    line, fields = auth.asked[0]
    assert line == "GET /who?from=semel HTTP/1.1"
    assert fields["Host"] == auth.url.split("/")[2] and "Idempotency-Key" not in fields


@pytest.mark.parametrize("answer", [
    (401, []), (403, []), (403, ["alice"]), (200, []), (200, [""])], ids=str)
def test_who_is_not_known_is_refused_and_nothing_is_touched(gateway, auth, upstream, key, answer):
    auth.answers = {"Bearer x": answer}
    running = gateway()
    before = running.metrics()
    assert_problem(post(running, key, "x"), 401, "tenant-unknown")
    assert_problem(running.post("/v1/charges", json=BODY, key=key), 401, "tenant-unknown")
    assert len(auth.asked) == 1  # nobody is asked about no credential
    assert upstream.arrived() == 0
    after = running.metrics()
    assert store_calls(after) == store_calls(before)


@pytest.mark.parametrize("answer", [
    (500, []), (302, ["alice"]), (404, ["alice"]), ("hang", []), ("close", []),
    (200, ["alice", "alice"]), (200, ["alice", "bob"])], ids=str)
def test_while_nobody_can_say_nothing_is_done(gateway, auth, upstream, key, answer):
    auth.answers = {"Bearer x": answer}
    running = gateway(timeout=scaled(300))
    before = running.metrics()
    refused = post(running, key, "x")
    problem = assert_problem(refused, 503, "tenant-unknown")
    assert int(refused.header("Retry-After")) >= 1 and "same key" in problem["detail"]
    assert upstream.arrived() == 0
    after = running.metrics()
    assert store_calls(after) == store_calls(before)
    auth.answers = {"Bearer x": (200, ["alice"])}
    assert post(running, key, "x").status == 200
    assert upstream.effects(key) == 1


def test_a_service_that_hangs_delays_nobody_else(gateway, auth, upstream, key):
    auth.answers = {"Bearer slow": ("hang", []), "Bearer fast": (200, ["bob"])}
    running = gateway(timeout="5s")
    with running.connect() as slow:
        slow.send(request_bytes("POST", "/v1/charges", json=BODY, key=key, headers=bearer("slow")))
        assert post(running, key, "fast").status == 200
    assert upstream.effects(key) == 1


def test_an_answer_is_kept_for_a_moment_and_a_refusal_is_not(gateway, auth, upstream):
    auth.answers = {"Bearer good": (200, ["alice"])}
    running = gateway(cache_for=scaled(500))
    for _ in range(3):
        assert post(running, new_key(), "good").status == 200
        assert post(running, new_key(), "bad").status == 401
    credentials = [fields["Authorization"] for _, fields in auth.asked]
    assert credentials.count("Bearer good") == 1 and credentials.count("Bearer bad") == 3
    auth.answers = {}
    let_pass(float(scaled(500)[:-2]) / 1000 + 0.05)
    assert post(running, new_key(), "good").status == 401  # it was revoked


def test_without_a_cache_every_request_asks_over_one_connection(gateway, auth, upstream):
    auth.answers = {"Bearer good": (200, ["alice"])}
    running = gateway(cache_for="0")
    for _ in range(3):
        assert post(running, new_key(), "good").status == 200
    assert len(auth.asked) == 3 and auth.service.accepted == 1


def test_a_cookie_is_a_credential_too(gateway, auth, upstream, key):
    auth.answers = {"session=1; a=b": (200, ["alice"])}
    running = gateway()
    answer = running.post("/v1/charges", json=BODY, key=key,
                          headers=[("Cookie", "session=1"), ("Cookie", "a=b")])
    assert answer.status == 200


def test_two_credentials_at_once_are_refused(gateway, auth, upstream, key):
    auth.answers = {"Bearer a": (200, ["alice"])}
    answer = gateway().post("/v1/charges", json=BODY, key=key,
                            headers={"Authorization": ["Bearer a", "Bearer b"]})
    assert_problem(answer, 401, "tenant-unknown")
    assert not auth.asked and upstream.arrived() == 0


def test_requests_without_a_key_ask_nobody(gateway, auth, upstream):
    assert gateway().post("/v1/charges", json=BODY).status == 200
    assert not auth.asked


def test_a_service_that_cannot_prove_itself_is_not_believed(start_gateway, certificates,
                                                            raw_upstream, upstream, key):
    """An https:// service is verified against the system's authorities; ours is not one of them."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.upstream.cert, certificates.upstream.key)
    auth = AuthService(raw_upstream, tls=context)
    auth.answers = {"Bearer good": (200, ["alice"])}
    gateway = start_gateway(ROUTE, tenant={"from": "introspect", "url": auth.url,
                                           "tenant_header": "X-Tenant"})
    assert_problem(post(gateway, key, "good"), 503, "tenant-unknown")
    assert not auth.asked and upstream.arrived() == 0
