"""What passes between client and executor besides the body: hop-by-hop headers do not, forwarding
headers are set by Semel alone, and nobody forges Semel's own."""

import pytest

from http_client import request_bytes
from upstream_control import field


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
