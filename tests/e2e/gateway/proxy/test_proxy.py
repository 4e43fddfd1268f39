"""Plain proxying: without a key Semel is a reverse proxy that streams both ways, in bounded memory,
and keeps its connections."""

import hashlib
import socket
import threading
import time

import pytest

from harness.clients.http_client import Connection, chunks, request_bytes
from harness.semel import (SANITIZED, TIME_SCALE, assert_problem, assert_replay, eventually,
                           new_key)

MIB = 1 << 20
PIECE = bytes(range(256)) * 1024  # 256 KiB


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "keyed", "path": "/keyed/*"},
                          {"name": "everything", "path": "/*"})


def upload(connection, total, head):
    connection.send(head)
    for _ in range(total // len(PIECE)):
        connection.send(PIECE)


def large_head(total, test=None):
    return request_bytes("POST", "/upload", headers={"Content-Length": str(total)}, test=test)


def test_a_large_body_flows_through_and_comes_back_whole(gateway, upstream):
    """Full duplex: the echo begins while the upload goes on, so nothing may wait for an end."""
    total = (16 if SANITIZED else 64) * MIB
    with gateway.connect() as connection:
        sender = threading.Thread(target=upload, args=(connection, total,
                                                       large_head(total, "echo")))
        sender.start()
        answer = connection.begin_response()
        digest, received = hashlib.sha256(), 0
        while piece := answer.piece():
            digest.update(piece)
            received += len(piece)
            answer.body = b""
        sender.join()
    assert received == total
    assert digest.hexdigest() == hashlib.sha256(PIECE * (total // len(PIECE))).hexdigest()
    assert upstream.last()["digest"] == digest.hexdigest()


def test_a_body_larger_than_the_limit_of_keyed_requests_streams_without_a_key(gateway, upstream):
    body = b"x" * (9 * MIB)
    assert gateway.post("/keyed/1", body).status == 200
    assert upstream.last()["bytes"] == len(body)


def test_memory_stays_flat_under_a_large_upload(gateway, upstream):
    total = (64 if SANITIZED else 256) * MIB
    allowed = (256 if SANITIZED else 16) * MIB  # a sanitizer keeps what was freed
    gateway.post("/warm", b"x" * MIB)
    before = peak = gateway.resident_bytes()
    with gateway.connect() as connection:
        connection.send(large_head(total))
        for n in range(total // len(PIECE)):
            connection.send(PIECE)
            if n % 16 == 0:
                peak = max(peak, gateway.resident_bytes())
        assert connection.read_response().status == 200
    peak = max(peak, gateway.resident_bytes())
    assert upstream.last()["bytes"] == total
    assert peak - before < allowed, f"grew by {(peak - before) / MIB:.1f} MiB"


def test_memory_stays_flat_under_a_large_download_to_a_slow_client(gateway, upstream):
    allowed = (256 if SANITIZED else 16) * MIB
    before = gateway.resident_bytes()
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/download", test=f"size={128 * MIB}"))
        answer = connection.begin_response()
        answer.read_until(b"0123")
        time.sleep(0.3)  # the client does not read: what the gateway takes in meanwhile is bounded
        assert gateway.resident_bytes() - before < allowed
        connection.reset()


@pytest.mark.parametrize("kind", ["plain", "first", "replay"])
def test_a_client_that_reads_slowly_and_steadily_gets_it_all(start_gateway, upstream, key, kind):
    """More than a socket's buffer holds, and less in body_timeout than makes the kernel ask for more."""
    size = 12 * MIB
    gateway = start_gateway({"path": "/*", "max_stored_body": "16MiB"},
                            limits={"body_timeout": f"{int(1000 * TIME_SCALE)}ms"})
    if kind == "replay":
        assert len(gateway.post("/large", key=key, test=f"size={size}").body) == size
    with gateway.connect() as connection:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        connection.send(request_bytes("POST", "/large", key=None if kind == "plain" else key,
                                      test=f"size={size}"))
        answer = connection.begin_response()
        assert answer.status == 200 and answer.replayed == (kind == "replay")
        taken = 0
        begun = time.monotonic()
        while taken < size:
            if time.monotonic() - begun < 4 * TIME_SCALE:
                time.sleep(0.1)
            data = connection.some(1 << 15)
            assert data, f"cut after {taken} bytes"
            taken += len(data)


def test_chunked_bodies_in_both_directions(gateway, upstream):
    body = PIECE[:100_000]
    answer = gateway.post("/chunks", body, chunked=True, test="chunked; size=100000")
    assert len(answer.body) == 100_000
    assert upstream.last()["digest"] == hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize("size", [1, 7, 4096, 65536])
def test_chunks_of_any_size(gateway, upstream, size):
    body = PIECE[:3000 if size < 10 else 200_000]
    with gateway.connect() as connection:
        connection.send(b"POST /chunks HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send(chunks(body, size).replace(b"\r\n", b";ext=1\r\n", 1))
        assert connection.read_response().status == 200
    assert upstream.last()["digest"] == hashlib.sha256(body).hexdigest()


def test_a_request_that_arrives_byte_by_byte(gateway, upstream, key):
    for key_or_none in (None, key):
        wire = request_bytes("POST", "/keyed/1", json={"a": 1}, key=key_or_none)
        with gateway.connect() as connection:
            for at in range(len(wire)):
                connection.send(wire[at:at + 1])
            assert connection.read_response().status == 200
    assert upstream.effects() == 2


def test_a_client_connection_carries_many_requests(gateway, upstream):
    with gateway.connect() as connection:
        for n in range(50):
            answer = connection.request("POST", f"/{n}", b"x", key=new_key() if n % 2 else None)
            assert answer.status == 200 and answer.json()["path"] == f"/{n}"
    assert upstream.effects() == 50


def test_the_client_may_ask_for_the_connection_to_be_closed(gateway, upstream):
    with gateway.connect() as connection:
        answer = connection.request("POST", "/", headers={"Connection": "close"})
        assert answer.header("Connection").lower() == "close"
        assert connection.ended()


def test_pipelined_requests_are_answered_in_order(gateway, upstream, key):
    post = request_bytes("POST", "/keyed/1", json={"a": 1}, key=key)
    other = new_key()
    with gateway.connect() as connection:
        connection.send(post + request_bytes("GET", "/get") + post
                        + request_bytes("POST", "/keyed/2", json={"a": 2}, key=other)
                        + request_bytes("POST", "/plain", b"x" * 100_000, chunked=True)
                        + request_bytes("POST", "/keyed/3", key="a,b")
                        + request_bytes("HEAD", "/head") + request_bytes("GET", "/last"))
        methods = ["POST", "GET", "POST", "POST", "POST", "POST", "HEAD", "GET"]
        answers = [connection.read_response(method) for method in methods]
    assert [a.status for a in answers] == [200, 200, 200, 200, 200, 400, 200, 200]
    paths = [a.json()["path"] for a in answers if a.body and a.status == 200]
    assert paths == ["/keyed/1", "/get", "/keyed/1", "/keyed/2", "/plain", "/last"]
    assert_replay(answers[2], answers[0])
    assert upstream.effects(key) == 1


def test_a_hundred_pipelined_requests(gateway, upstream):
    with gateway.connect() as connection:
        connection.send(b"".join(request_bytes("POST", f"/{n}", b"x" * n) for n in range(100)))
        assert [connection.read_response().json()["path"] for _ in range(100)] == [
            f"/{n}" for n in range(100)]


@pytest.mark.parametrize("path, keyed", [("/plain", False), ("/keyed/1", True)])
def test_expect_100_continue(gateway, upstream, key, path, keyed):
    head = request_bytes("POST", path, headers={"Expect": "100-continue", "Content-Length": "5"},
                         key=key if keyed else None)
    with gateway.connect() as connection:
        connection.send(head)
        assert connection.line().startswith(b"HTTP/1.1 100 ") and connection.line() == b""
        connection.send(b"hello")
        answer = connection.read_response()
        assert answer.status == 200 and answer.interim in ([], [100])
        assert connection.request("GET", "/after").status == 200
    assert upstream.requests(path=path)[0]["bytes"] == 5


def test_a_client_that_expects_but_does_not_wait(gateway, upstream, key):
    for key_or_none in (None, key):
        answer = gateway.post("/keyed/1", b"hello", headers={"Expect": "100-continue"},
                              key=key_or_none)
        assert answer.status == 200
    assert upstream.effects() == 2


def test_a_refused_request_is_not_asked_for_its_body(gateway, upstream):
    head = request_bytes("POST", "/keyed/1", key="a,b",
                         headers={"Expect": "100-continue", "Content-Length": "1000"})
    with gateway.connect() as connection:
        connection.send(head)
        answer = connection.read_response()
    assert answer.status == 400 and answer.interim == []
    assert upstream.arrived() == 0


def test_head_204_and_304_have_no_body(gateway, upstream):
    with gateway.connect() as connection:
        head = connection.request("HEAD", "/head", test="size=1000")
        assert head.header("Content-Length") == "1000"
        for status in (204, 304):
            for method in ("GET", "POST"):
                answer = connection.request(method, "/none", test=f"status={status}")
                assert answer.status == status and answer.header("Transfer-Encoding") is None
        assert connection.request("GET", "/after").status == 200


@pytest.mark.parametrize("test", ["size=5000", "chunked; size=5000", "nolength; size=5000"])
def test_a_client_of_http_1_0_gets_no_chunks(gateway, upstream, test):
    with gateway.connect() as connection:
        connection.send(f"GET /old HTTP/1.0\r\nHost: h\r\nX-Test: {test}\r\n\r\n".encode())
        answer = connection.read_response("GET")
        assert len(answer.body) == 5000 and answer.header("Transfer-Encoding") is None
        assert connection.ended()


def test_an_answer_that_ends_with_the_connection(gateway, upstream):
    with gateway.connect() as connection:
        assert len(connection.request("POST", "/end", test="nolength; size=300000").body) == 300000
    assert gateway.get("/after").status == 200


def test_an_interim_answer_is_not_taken_for_the_answer(gateway, upstream, key):
    for key_or_none in (None, key):
        answer = gateway.post("/keyed/1", test="interim=103; body=final", key=key_or_none)
        assert answer.status == 200 and answer.body == b"final"


def test_every_method_passes(gateway, upstream):
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "REPORT"):
        assert gateway.request(method, "/any", b"").status == 200
        assert upstream.last()["method"] == method


def test_the_target_that_was_routed_is_the_one_that_is_sent(gateway, upstream):
    for target, sent in (("/a%2Fb?x=%20&&y=a+b", "/a%2Fb?x=%20&&y=a+b"), ("/a;b=c?d?e", "/a;b=c?d?e"),
                         ("/a//b?", "/a/b?"), ("/%e2%82%ac?q=%00", "/%E2%82%AC?q=%00"),
                         ("/%61/..b/c%3F?q=/../", "/a/..b/c%3F?q=/../")):
        assert gateway.get(target).status == 200, target
        assert upstream.last()["target"] == sent


LEADS_ELSEWHERE = ["/../secret", "/a/../../secret", "/%2e%2e/secret", "/a/.%2E/..%2fsecret",
                   "/..%2Fsecret", "/..%5csecret", "/..;/secret", "/a\\..\\secret", "/%252e%252e/secret",
                   "/a/./b", "/a%00", "/caf\xc3\xa9", "/a?q=\xff"]


def test_no_target_leaves_the_upstreams_base_path(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "upstream": upstream.url + "/base"})
    assert gateway.get("/inside").status == 200
    assert upstream.last()["target"] == "/base/inside"
    for target in LEADS_ELSEWHERE:
        for method in ("GET", "POST"):
            answer = gateway.request(method, target, key=new_key())
            assert_problem(answer, 400, "bad-request")
    assert upstream.arrived() == 1


def test_no_route_is_a_404(start_gateway, upstream):
    gateway = start_gateway({"path": "/v1/charges"})
    for method in ("GET", "POST"):
        assert gateway.request(method, "/v2/charges").status == 404
    assert upstream.arrived() == 0


def test_several_listeners(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, listen=["127.0.0.1:0", "127.0.0.1:0"])
    assert len(set(gateway.addresses)) == 2
    for address in gateway.addresses:
        with Connection(address) as connection:
            assert connection.request("POST", "/", key=new_key()).status == 200


def test_an_http_1_0_connection_is_kept_only_if_asked_for(gateway, upstream):
    with gateway.connect() as connection:
        for _ in range(2):
            connection.send(b"GET /old HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n")
            assert connection.read_response("GET").header("Connection").lower() == "keep-alive"


def test_256_connections_at_once(gateway, upstream):
    connections = [gateway.connect() for _ in range(256)]
    try:
        for n, connection in enumerate(connections):
            connection.send(request_bytes("POST", f"/{n}"))
        for n, connection in enumerate(connections):
            assert connection.read_response().json()["path"] == f"/{n}"
    finally:
        for connection in connections:
            connection.close()
    eventually(lambda: gateway.metrics()["semel_connections"] <= 4, 10 * TIME_SCALE)


def test_a_client_that_leaves_in_the_middle_of_its_upload(gateway, upstream):
    with gateway.connect() as connection:
        connection.send(large_head(MIB) + b"x" * 1000)
        upstream.wait_arrived(1)
        connection.reset()
    assert gateway.get("/after").status == 200
    assert upstream.effects() == 0


def test_the_upstreams_own_counts_agree_with_a_direct_request(upstream):
    """The measuring instrument, measured: one request is one effect."""
    with Connection(upstream.address) as connection:
        assert connection.request("POST", "/direct", b"x", key="k").effect
    assert upstream.effects("k") == upstream.arrived("k") == upstream.connections() == 1
