"""docs/spec.md 9: before a stored answer is given away, the configured service is asked whether
this caller may still see it. It fails closed."""

import threading

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import assert_problem, assert_replay, eventually
from harness.peers.upstream_control import field

BODY = {"amount": 100}


class Authority:
    """Says yes until it is told otherwise, and notes what it was asked."""

    def __init__(self, raw_upstream):
        self.status, self.headers, self.body = 200, "", b"{}"
        self.asked = []
        self.silent = threading.Event()
        self.server = raw_upstream(self.serve)
        self.url = self.server.url + "/may-see?by=semel"

    def serve(self, peer, number):
        head = peer.read_head().decode("latin-1")
        self.asked.append(head)
        if self.silent.is_set():
            peer.wait_closed()
            return
        if self.status is None:
            peer.reset()
            return
        peer.answer(self.body, self.status, self.headers + "Connection: close\r\n")

    def last(self):
        lines = self.asked[-1].split("\r\n")
        return lines[0], dict(line.split(": ", 1) for line in lines[1:] if line)


@pytest.fixture
def authority(raw_upstream):
    return Authority(raw_upstream)


@pytest.fixture
def gateway(start_gateway, authority):
    return start_gateway({"name": "pay", "path": "/pay", "reauthorize": authority.url,
                          "resource": {"type": "charge", "id": "/effect"}},
                         {"name": "wait", "path": "/wait", "reauthorize": authority.url,
                          "in_progress": "wait"},
                         tenant={"from": "authorization"})


def headers(secret="sk_live_0123456789"):
    return {"Authorization": f"Bearer {secret}", "Cookie": "a=1", "X-Secret": "not for others"}


def post(gateway, path, key, **more):
    return gateway.post(path, json=BODY, key=key, headers=headers(), **more)


def test_a_replay_is_asked_about_and_the_first_answer_is_not(gateway, authority, upstream, key):
    first = post(gateway, "/pay?x=1", key)
    assert first.status == 200 and not authority.asked
    for n in (1, 2):
        assert_replay(post(gateway, "/pay?x=1", key), first)
        assert len(authority.asked) == n  # nothing is cached
    line, sent = authority.last()
    assert line == "GET /may-see?by=semel HTTP/1.1"
    assert sent["Authorization"] == headers()["Authorization"] and sent["Cookie"] == "a=1"
    assert sent["X-Original-Method"] == "POST" and sent["X-Original-URI"] == "/pay?x=1"
    assert sent["Semel-Record"] == field(upstream.last(key), "Semel-Record")
    assert "X-Secret" not in sent and key not in authority.asked[-1]
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_its_refusal_is_passed_on_and_nothing_is_executed(gateway, authority, upstream, key, status):
    first = post(gateway, "/pay", key)
    authority.status, authority.body = status, b'{"error":"revoked"}'
    authority.headers = 'WWW-Authenticate: Bearer\r\nX-Internal: secret\r\n'
    refused = post(gateway, "/pay", key)
    assert (refused.status, refused.body) == (status, b'{"error":"revoked"}')
    assert refused.header("WWW-Authenticate") == "Bearer" and not refused.header("X-Internal")
    assert refused.header("Idempotency-Replayed") is None and first.body not in refused.body
    authority.status, authority.headers = 204, ""
    authority.body = b""
    assert_replay(post(gateway, "/pay", key), first)
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("how", ["status=500", "status=302", "status=404", "reset", "silent"])
def test_it_fails_closed(gateway, authority, upstream, key, how):
    first = post(gateway, "/pay", key)
    if how == "silent":
        authority.silent.set()
    else:
        authority.status = None if how == "reset" else int(how.split("=")[1])
    answer = post(gateway, "/pay", key)
    problem = assert_problem(answer, 503, "authorization-unavailable")
    assert answer.header("Retry-After") and problem["new_key_safe"] is False
    assert first.body not in answer.body
    assert upstream.effects(key) == 1


def test_a_service_that_is_not_there_fails_closed(start_gateway, upstream, raw_upstream, key):
    nobody = raw_upstream(lambda peer, number: None, listening=False)
    gateway = start_gateway({"path": "/pay", "reauthorize": nobody.url})
    gateway.post("/pay", json=BODY, key=key)
    assert_problem(gateway.post("/pay", json=BODY, key=key), 503, "authorization-unavailable")
    assert upstream.effects(key) == 1


def test_one_who_waited_is_asked_about_when_the_answer_is_there(gateway, authority, upstream, key):
    authority.status, authority.body = 403, b"no"
    wire = request_bytes("POST", "/wait", json=BODY, key=key, test="gate=w", headers=headers())
    with gateway.connect() as one, gateway.connect() as two:
        one.send(wire)
        upstream.wait_effects(1, key)
        two.send(wire)
        eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
        assert not authority.asked
        upstream.open_gate("w")
        assert one.read_response().status == 200
        waited = two.read_response()
    assert (waited.status, waited.body) == (403, b"no")
    assert len(authority.asked) == 1 and upstream.effects(key) == 1


def test_the_status_of_a_completed_operation_is_asked_about(start_gateway, authority, upstream, key):
    gateway = start_gateway({"name": "long", "path": "/long", "reauthorize": authority.url,
                             "in_progress": "accept"}, tenant={"from": "authorization"})
    accepted = gateway.post("/long", json=BODY, key=key, test="gate=long",
                            headers={**headers(), "Prefer": "respond-async"})
    location = accepted.header("Location")
    upstream.wait_effects(1, key)
    assert gateway.get(location, headers=headers()).json()["state"] == "in_progress"
    assert not authority.asked  # there is no answer to see yet
    authority.status, authority.body = 403, b"no"
    upstream.open_gate("long")
    seen = gateway.get(location + "?wait=20s", headers=headers())
    assert (seen.status, seen.body) == (403, b"no") and len(authority.asked) == 1
    authority.status, authority.body = 200, b""
    assert gateway.get(location, headers=headers()).json()["response"]["status"] == 200
    assert upstream.effects(key) == 1


def test_the_status_is_asked_about_whatever_route_it_came_by(start_gateway, authority, upstream,
                                                             key):
    """With one key space for all routes the record does not say which; each that asks is heard.
    Where the route is gone, there is nobody to ask, and nothing is shown."""
    shared = {"scope": "tenant", "in_progress": "accept", "upstream": upstream.url}
    routes = [{"name": "open", "path": "/open", **shared},
              {"name": "long", "path": "/long", "reauthorize": authority.url, **shared}]
    gateway = start_gateway(*routes, tenant={"from": "authorization"})
    accepted = gateway.post("/long", json=BODY, key=key,
                            headers={**headers(), "Prefer": "respond-async"})
    location = accepted.header("Location")
    authority.status, authority.body = 403, b"no"
    seen = gateway.get(location + "?wait=20s", headers=headers())
    assert (seen.status, seen.body) == (403, b"no")
    assert gateway.reload(routes=[{"path": "/other", "upstream": upstream.url}])
    assert gateway.get(location, headers=headers()).status == 404
    assert upstream.effects(key) == 1


def test_another_tenant_is_not_asked_about(gateway, authority, upstream, key):
    """It has a record of its own, so there is nothing of the other's to see."""
    post(gateway, "/pay", key)
    other = gateway.post("/pay", json=BODY, key=key, headers=headers("sk_live_another_one"))
    assert other.status == 200 and not other.replayed and not authority.asked


def test_a_mismatch_names_no_resource_where_another_decides_who_may_see(gateway, upstream, key):
    post(gateway, "/pay", key)
    refused = gateway.post("/pay", json={}, key=key, headers=headers())
    assert "resource" not in assert_problem(refused, 422, "key-reused")
