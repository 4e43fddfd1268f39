"""Many, slow, large and deep: everybody is answered, one effect is one effect, memory stays flat.
Counts and memory are asserted here; bench/waiters measures the times."""

import selectors
import socket

import pytest

from harness.clients.http_client import TIME_SCALE, ConnectionEnded, request_bytes
from harness.semel import (SANITIZED, TIMEOUT, assert_problem, assert_replay, eventually, new_key,
                           scaled)

BODY = {"amount": 100}
WAITERS = 1_000 if SANITIZED else 10_000
KIB, MIB = 1024, 1024 * 1024
WAITER_BYTES_MAX = 32 * KIB
# Allows for the memory that a sanitizer's allocator adds.
FLAT_BYTES_MAX = (512 if SANITIZED else 48) * MIB


def read_all(connections, timeout):
    """The whole answers on the connections, by number; each ends with its Content-Length."""
    selector = selectors.DefaultSelector()
    received = {}
    for number, connection in enumerate(connections):
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ, number)
        received[number] = b""
    left = len(connections)
    while left:
        ready = selector.select(timeout)
        assert ready, f"{left} are still waiting"
        for entry, _ in ready:
            data = entry.fileobj.recv(65536)
            assert data, "a connection ended without its answer"
            received[entry.data] += data
            head, gap, body = received[entry.data].partition(b"\r\n\r\n")
            length = [line.split(b":")[1] for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:")]
            if gap and len(body) >= int(length[0]):
                selector.unregister(entry.fileobj)
                left -= 1
    selector.close()
    return received


def test_ten_thousand_duplicates_wait_for_one_execution(start_gateway, upstream, key,
                                                        many_descriptors):
    gateway = start_gateway({"path": "/pay", "in_progress": "wait", "wait_timeout": "5m"},
                            limits={"connections": 2 * WAITERS})
    wire = request_bytes("POST", "/pay", json=BODY, key=key, test="gate=crowd")
    with gateway.connect(timeout=6 * TIMEOUT) as first:
        first.send(wire)
        upstream.wait_effects(1, key)
        before = gateway.resident_bytes()
        crowd = []
        try:
            for _ in range(WAITERS):
                crowd.append(socket.create_connection(gateway.address))
                crowd[-1].sendall(wire)
            eventually(lambda: gateway.metrics()["semel_waiting"] == WAITERS, 6 * TIMEOUT)
            each = (gateway.resident_bytes() - before) / WAITERS
            upstream.open_gate("crowd")
            answer = first.read_response()
            received = read_all(crowd, 6 * TIMEOUT)
        finally:
            for connection in crowd:
                connection.close()
    print(f"{WAITERS} waiters, {each / KIB:.1f} KiB each")
    for one in received.values():
        head, _, body = one.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ") and b"Idempotency-Replayed: true" in head
        assert body == answer.body
    assert upstream.arrived(key) == 1
    assert SANITIZED or each < WAITER_BYTES_MAX


def test_a_thousand_slow_heads_delay_nobody(start_gateway, upstream, many_descriptors):
    """All others are served while the slow ones are still being waited for."""
    gateway = start_gateway({"path": "/*"}, limits={"header_timeout": scaled(6000)})
    slow = []
    for n in range(1000):
        slow.append(socket.create_connection(gateway.address))
        slow[-1].sendall(b"POST / HTTP/1.1\r\nHost: semel.test\r\nX-Slow: " + b"x" * (n % 100))
    try:
        for n in range(200):
            key = new_key() if n % 2 else None
            assert gateway.post("/", json=BODY, key=key).status == 200
        assert gateway.metrics()["semel_connections"] >= 1000  # none of them was given up meanwhile
        for connection in slow[:500]:
            connection.close()
        received = read_all(slow[500:], TIMEOUT)
        assert all(one.startswith(b"HTTP/1.1 408 ") for one in received.values())
    finally:
        for connection in slow:
            connection.close()
    assert upstream.effects() == 200


def flood(gateway, pieces):
    """Sends until it is done or refused. The answer, or None if the connection was reset before it
    could be read: the gateway does not read on for ever."""
    with gateway.connect() as connection:
        try:
            for piece in pieces:
                connection.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            return connection.read_response()
        except (ConnectionEnded, ConnectionResetError):
            return None


def test_a_flood_of_headers_is_refused_in_flat_memory(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"})
    gateway.post("/", json=BODY, key=key)
    before = gateway.resident_bytes()
    start = b"POST / HTTP/1.1\r\nHost: semel.test\r\n"
    floods = {"one field": [start + b"X-Flood: "] + [b"x" * (64 * KIB)] * 160,
              "many fields": [start] + [b"X-Flood: 1\r\n" * 5000] * 175,
              "one line": [b"POST /" + b"x" * (64 * KIB)] + [b"x" * (64 * KIB)] * 160}
    for _ in range(5):
        for pieces in floods.values():
            answer = flood(gateway, pieces)
            assert answer is None or answer.status == 431, answer
    # Sent no faster than it is refused, the refusal is always seen.
    answer = flood(gateway, [start + b"X-Flood: " + b"x" * (40 * KIB)])
    assert answer.status == 431 and "too large" in answer.json()["detail"]
    assert gateway.resident_bytes() - before < FLAT_BYTES_MAX
    assert upstream.arrived() == 1
    assert gateway.post("/", json=BODY, key=key).replayed


@pytest.mark.parametrize("opening, middle, closing", [(b"[", b"", b"]"), (b'{"a":', b"1", b"}")])
def test_json_nested_a_hundred_thousand_deep_is_one_request_like_any_other(
        start_gateway, upstream, key, opening, middle, closing):
    depth = 100_000
    body = opening * depth + middle + closing * depth
    gateway = start_gateway({"name": "pay", "path": "/pay"},
                            {"name": "body", "path": "/body",
                             "key": {"from": "pointer", "pointer": "/key", "required": True}})
    headers = {"Content-Type": "application/json"}
    before = gateway.resident_bytes()
    first = gateway.post("/pay", body, key=key, headers=headers)
    assert first.status == 200
    assert_replay(gateway.post("/pay", body, key=key, headers=headers), first)
    assert_problem(gateway.post("/pay", body[1:], key=key, headers=headers), 422, "key-reused")
    assert_problem(gateway.post("/body", body, headers=headers), 400, "key-missing")
    assert gateway.resident_bytes() - before < FLAT_BYTES_MAX
    assert upstream.effects() == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_a_gibibyte_with_a_key_is_refused_in_flat_memory(start_gateway, upstream, key,
                                                                   chunked):
    gateway = start_gateway({"path": "/pay", "max_request_body": "8MiB"})
    gateway.post("/pay", json=BODY, key=new_key())
    before = gateway.resident_bytes()
    framing = "Transfer-Encoding: chunked" if chunked else "Content-Length: 1073741824"
    head = (f"POST /pay HTTP/1.1\r\nHost: semel.test\r\nIdempotency-Key: {key}\r\n"
            f"{framing}\r\n\r\n").encode()
    piece = b"x" * MIB
    if chunked:
        piece = b"%x\r\n%s\r\n" % (MIB, piece)
    sent = 0

    def pieces():
        nonlocal sent
        yield head
        for _ in range(1024):
            yield piece
            sent += 1
    answer = flood(gateway, pieces())
    if answer is not None:
        assert_problem(answer, 413, "body-too-large")
    assert sent < 256, "it was read on although it is refused"
    assert gateway.resident_bytes() - before < FLAT_BYTES_MAX
    # Nothing is sent beyond the byte that is too many, so that the answer cannot be lost.
    answer = flood(gateway, [head] + ([piece] * 8 + [b"1\r\nx\r\n"] if chunked else []))
    assert assert_problem(answer, 413, "body-too-large")["new_key_safe"] is True
    assert upstream.effects() == 1
