"""Headers between client and executor: hop-by-hop headers do not pass, only Semel sets forwarding
headers, and nobody can forge Semel's own."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import new_key
from harness.peers.upstream_control import field


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "everything", "path": "/*"}, trusted_proxies=["127.0.0.2"])


def seen(gateway, upstream, headers, key=None, **more):
    assert gateway.post("/headers", b"x", headers=headers, key=key, **more).status == 200
    return upstream.last()


HOP_BY_HOP = {"Connection": "keep-alive, X-Hop , x-other-hop", "X-Hop": "1", "X-Other-Hop": "2",
              "Keep-Alive": "timeout=5", "Proxy-Connection": "keep-alive", "TE": "trailers",
              "Upgrade": "h2c"}


def test_hop_by_hop_headers_of_the_request_stay_here(gateway, upstream, key):
    for key_or_none in (None, key):
        request = seen(gateway, upstream, {**HOP_BY_HOP, "X-End": "3"}, key_or_none)
        for name in ("X-Hop", "X-Other-Hop", "Keep-Alive", "Proxy-Connection", "TE", "Upgrade"):
            assert field(request, name) is None, name
        assert "hop" not in (field(request, "Connection") or "").lower()
        assert field(request, "X-End") == "3"


def test_hop_by_hop_headers_of_the_answer_stay_here(gateway, upstream, key):
    script = ("header.Connection=keep-alive, X-Hop; header.X-Hop=1; header.Keep-Alive=timeout=77; "
              "header.Proxy-Connection=keep-alive; header.X-End=3")
    for key_or_none in (None, key):
        answer = gateway.post("/headers", test=script, key=key_or_none)
        assert answer.header("X-Hop") is None and answer.header("Proxy-Connection") is None
        assert "timeout=77" not in answer.all("Keep-Alive")
        assert "hop" not in "".join(answer.all("Connection")).lower()
        assert answer.header("X-End") == "3"


def test_a_connection_header_cannot_remove_what_protects(gateway, upstream, key):
    """Naming an end-to-end header in Connection must not make the key or the length vanish."""
    request = seen(gateway, upstream, {
        "Connection": "close, Content-Length, Host, X-Forwarded-For, Idempotency-Key"}, key)
    assert request["bytes"] == 1 and field(request, "Host") and request["key"] == key
    assert field(request, "X-Forwarded-For") == "127.0.0.1"
    assert gateway.post("/headers", b"x", key=key).replayed


@pytest.fixture(scope="module")
def reading(module_gateway):
    """Reads all that can be configured to be read: the tenant is a header's, a header counts."""
    return module_gateway(
        {"name": "read", "path": "/*", "key": {"aliases": ["X-Retry-Key"]},
         "fingerprint": {"headers": ["X-Api-Version"]}, "in_progress": "accept"},
        tenant={"from": "header", "name": "X-Tenant"}, trusted_proxies=["127.0.0.1"])


READ = {"X-Tenant": "ann", "X-Api-Version": "3", "Authorization": "Bearer x", "Cookie": "a=1",
        "Content-Type": "text/plain", "Content-Encoding": "identity", "X-Forwarded-For": "10.0.0.9"}


@pytest.mark.parametrize("prefer", [{}, {"Prefer": "respond-async"}], ids=["now", "queued"])
def test_a_connection_header_cannot_remove_what_is_read(reading, upstream, key, prefer):
    """The executor sees the tenant, the key and the fields that Semel decided by."""
    options = {"Connection": ", ".join(["X-Hop", "idempotency-key", "host", *READ]), "X-Hop": "1"}
    for key_or_none in (None, key):
        reading.post("/read", b"x", headers={**options, **READ, **prefer}, key=key_or_none)
        upstream.wait_effects(1, key=key_or_none)
        request = upstream.last(key_or_none)
        for name, value in READ.items():
            assert value in field(request, name), name
        assert field(request, "X-Hop") is None and field(request, "Host") == "semel.test"
        assert request["key"] == key_or_none


IMITATIONS = ["Semel_Token", "semel_record", "SEMEL_Attempt", "Semel.Token", "idempotency_key",
              "Idempotency_Key", "x_retry_key", "X_Retry-Key", "x_tenant", "X.Tenant", "X_API_VERSION",
              "content_length", "Content_Type", "content_encoding", "transfer_encoding", "keep_alive",
              "proxy_connection", "x_forwarded_for", "X_Forwarded_Proto", "X-Forwarded_Host"]


@pytest.mark.parametrize("prefer", [{}, {"Prefer": "respond-async"}], ids=["now", "queued"])
def test_a_field_that_imitates_one_of_ours_is_dropped(reading, upstream, key, prefer):
    """To WSGI, CGI and PHP X_Tenant and X-Tenant are one field."""
    headers = {"X-Tenant": "ann", **{name: "forged" for name in IMITATIONS}, "api_key": "kept",
               "X_Custom": "kept", **prefer}
    for key_or_none in (None, key):
        reading.post("/read", b"x", headers=headers, key=key_or_none)
        upstream.wait_effects(1, key=key_or_none)
        assert b"forged" not in upstream.raw_head()
        request = upstream.last(key_or_none)
        assert (field(request, "api_key"), field(request, "X_Custom")) == ("kept", "kept")


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize("parents, is_one", [
    ([TRACE], True), ([TRACE.replace("00-", "cc-", 1) + "-more"], True), ([], False),
    ([TRACE, TRACE], False), ([TRACE + "-more"], False), ([TRACE.upper()], False),
    ([TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32)], False), (["'; DROP TABLE"], False),
    (["ff" + TRACE[2:]], False), ([""], False)])
def test_a_traceparent_is_kept_only_if_it_is_one(gateway, upstream, key, parents, is_one):
    headers = {"Traceparent": parents, "Tracestate": "vendor=1"}
    for key_or_none in (None, key):
        request = seen(gateway, upstream, headers, key_or_none)
        assert field(request, "Traceparent") == (parents[0] if is_one else None)
        assert field(request, "Tracestate") == ("vendor=1" if is_one else None)
    assert gateway.record(key).get("trace", "") == (parents[0] if is_one else "")


def test_end_to_end_headers_pass_as_they_are(gateway, upstream):
    headers = {"X-Case": "MiXeD", "Accept": ["a/b", "c/d"], "Cookie": "a=1; b=2",
               "Authorization": "Bearer x", "Content-Type": "text/plain; charset=utf-8",
               "X-Empty": "",
               "Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    request = seen(gateway, upstream, headers)
    for name, value in headers.items():
        assert field(request, name) == (", ".join(value) if isinstance(value, list) else value)


def test_forwarding_headers_are_set(gateway, upstream, key):
    for key_or_none in (None, key):
        request = seen(gateway, upstream, {}, key_or_none, host="shop.example:8080")
        assert field(request, "X-Forwarded-For") == "127.0.0.1"
        assert field(request, "X-Forwarded-Proto") == "http"
        assert field(request, "X-Forwarded-Host") == "shop.example:8080"


FORGED = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https",
          "X-Forwarded-Host": "bank.example"}


def test_only_a_trusted_proxy_tells_the_clients_address(start_gateway, gateway, upstream):
    told = {"X-Real-IP": "203.0.113.7", "X-Forwarded-Port": "443"}
    trusting = start_gateway({"path": "/*"}, trusted_proxies=["127.0.0.1"])
    for make_key in (lambda: None, new_key):
        for name, value in told.items():
            assert field(seen(gateway, upstream, told, make_key()), name) is None
            assert field(seen(trusting, upstream, told, make_key()), name) == value


def test_forged_forwarding_headers_are_replaced(gateway, upstream, key):
    for key_or_none in (None, key):
        request = seen(gateway, upstream, FORGED, key_or_none)
        assert field(request, "X-Forwarded-For") == "127.0.0.1"
        assert field(request, "X-Forwarded-Proto") == "http"
        assert field(request, "X-Forwarded-Host") == "semel.test"


def test_forwarding_headers_of_a_trusted_proxy_are_kept(gateway, upstream):
    request = seen(gateway, upstream, FORGED, source="127.0.0.2")
    assert field(request, "X-Forwarded-For") == "203.0.113.7, 127.0.0.2"
    assert field(request, "X-Forwarded-Proto") == "https"
    assert field(request, "X-Forwarded-Host") == "bank.example"


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_forged_semel_headers_are_removed(gateway, upstream, key, method):
    forged = {"Semel-Record": "forged", "Semel-Attempt": "forged", "semel-token": "forged",
              "SEMEL-Anything": "forged"}
    for key_or_none in (None, key):
        gateway.request(method, "/headers", headers=forged, key=key_or_none)
        assert b"forged" not in upstream.raw_head()
        assert upstream.last()["attempt"] == ("1" if key_or_none and method == "POST" else None)


def test_the_executors_word_on_its_outcome_is_not_for_the_client(gateway, upstream, key):
    for key_or_none in (None, key):
        answer = gateway.post("/headers", key=key_or_none, test="outcome=final")
        assert answer.header("Idempotency-Outcome") is None


def test_one_host_reaches_the_executor(gateway, upstream):
    seen(gateway, upstream, {}, host="shop.example")
    assert upstream.raw_head().lower().count(b"\r\nhost:") == 1


def test_the_upgrade_of_a_connection_is_not_passed_on(gateway, upstream):
    with gateway.connect() as connection:
        connection.send(request_bytes("GET", "/chat", headers={
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}))
        assert connection.read_response("GET").status == 200
    assert field(upstream.last(), "Upgrade") is None
