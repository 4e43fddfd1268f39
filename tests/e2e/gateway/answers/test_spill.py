"""docs/spec.md 9: an answer too large for its record goes into chunks and replays byte for byte;
where it cannot, the body is omitted, and never cut, and nothing is executed again."""

import pathlib
import re

import pytest

from harness.clients.http_client import ConnectionEnded, request_bytes
from harness.semel import (SANITIZED, Background, assert_problem, assert_replay, eventually,
                           let_pass, scaled)

BODY = {"report": 1}
CHUNK = 256 * 1024
MIB = 1 << 20
SMALL = {"max_stored_body": "64KiB", "max_spilled_body": "4MiB"}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "small", "path": "/small", **SMALL},
                          {"name": "off", "path": "/off", "max_stored_body": "64KiB",
                           "max_spilled_body": 0},
                          {"name": "retried", "path": "/retried", "unknown": "retry", **SMALL},
                          {"name": "failed", "path": "/failed", "unknown": "fail", **SMALL},
                          {"name": "late", "path": "/late", "upstream_timeout": scaled(300),
                           **SMALL},
                          {"name": "wait", "path": "/wait", "in_progress": "wait", **SMALL},
                          {"name": "short", "path": "/short", "ttl": "1s", **SMALL})


@pytest.mark.parametrize("script", [
    f"size={64 * 1024 + 1}", f"size={CHUNK - 1}", f"size={CHUNK}", f"size={CHUNK + 1}",
    f"size={3 * CHUNK}", f"size={4 * MIB}", f"chunked; size={CHUNK}", f"chunked; size={2 * MIB + 5}",
    f"nolength; size={MIB}", "type=text/event-stream; chunked; size=300000",
])
def test_a_large_answer_replays_byte_for_byte(gateway, upstream, key, script):
    first = gateway.post("/small", json=BODY, key=key, test=f"status=201; header.X-Kept=1; {script}")
    size = int(script.split("size=")[1])
    assert first.status == 201 and len(first.body) == size
    with gateway.connect() as connection:
        for _ in range(2):
            replay = connection.request("POST", "/small", json=BODY, key=key)
            assert_replay(replay, first)
            assert replay.header("Content-Length") == str(size)
            assert replay.header("X-Kept") == "1"
            assert replay.header("Idempotency-Replay") is None
    assert upstream.arrived(key) == 1


def test_encoded_bytes_are_kept_as_they_are(gateway, upstream, key):
    first = gateway.post("/small", json=BODY, key=key,
                         test=f"size={MIB}; header.Content-Encoding=gzip; "
                         "type=application/octet-stream")
    replay = gateway.post("/small", json=BODY, key=key)
    assert_replay(replay, first)
    assert replay.header("Content-Encoding") == "gzip"


@pytest.mark.parametrize("path, script", [
    ("/small", f"size={4 * MIB + 1}"), ("/small", f"chunked; size={5 * MIB}"),
    ("/off", "size=65537"), ("/off", "chunked; size=200000")])
def test_above_the_limit_the_body_is_omitted_and_never_cut(gateway, upstream, key, path, script):
    first = gateway.post(path, json=BODY, key=key, test=f"status=201; {script}")
    assert len(first.body) == int(script.split("size=")[1])
    replay = gateway.post(path, json=BODY, key=key)
    assert replay.status == 201 and replay.body == b""
    assert replay.header("Idempotency-Replay") == "body-omitted"
    assert upstream.arrived(key) == 1


def test_a_store_that_keeps_no_chunks_omits_the_body(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/small", **SMALL}, store="memory")
    first = gateway.post("/small", json=BODY, key=key, test="size=100000")
    assert len(first.body) == 100000
    replay = gateway.post("/small", json=BODY, key=key)
    assert replay.status == 200 and replay.body == b""
    assert replay.header("Idempotency-Replay") == "body-omitted"


def test_it_survives_a_kill_and_a_restart(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/small", **SMALL})
    first = gateway.post("/small", json=BODY, key=key, test=f"size={MIB + 1}")
    gateway.kill9()
    gateway.start()
    assert_replay(gateway.post("/small", json=BODY, key=key), first)
    gateway.restart()
    assert_replay(gateway.post("/small", json=BODY, key=key), first)
    assert upstream.arrived(key) == 1


def test_those_who_waited_get_it_too(gateway, upstream, key):
    test = f"gate=g; size={MIB}"
    first = Background(gateway.post, "/wait", json=BODY, key=key, test=test)
    upstream.wait_effects(key=key)
    waiting = [Background(gateway.post, "/wait", json=BODY, key=key, test=test) for _ in range(3)]
    eventually(lambda: gateway.metrics()["semel_waiting"] == 3)
    upstream.open_gate("g")
    answer = first.result()
    assert len(answer.body) == MIB
    for one in waiting:
        assert_replay(one.result(), answer)
    assert upstream.arrived(key) == 1


def test_an_answer_after_the_timeout_is_spilled_too(gateway, upstream, key):
    timeout = gateway.post("/late", json=BODY, key=key, test=f"gate=g; size={MIB}")
    assert_problem(timeout, 504, "upstream-timeout")
    upstream.open_gate("g")
    replay = eventually(lambda: (a := gateway.post("/late", json=BODY, key=key)).status == 200 and a)
    assert replay.replayed and len(replay.body) == MIB
    assert upstream.arrived(key) == 1


def test_a_cut_answer_is_unknown_and_leaves_no_chunk(gateway, upstream, key):
    with pytest.raises(ConnectionEnded):
        gateway.post("/small", json=BODY, key=key, test=f"close=midreset; size={2 * MIB}")
    unknown = eventually(lambda: (a := gateway.post("/small", json=BODY, key=key)).json()["code"]
                         != "in-progress" and a)
    assert_problem(unknown, 409, "outcome-unknown")


def test_a_cut_answer_is_never_recorded_as_if_it_were_whole(gateway, upstream, key):
    """Where unknown counts as final, too."""
    with pytest.raises(ConnectionEnded):
        gateway.post("/failed", json=BODY, key=key, test=f"close=midreset; size={2 * MIB}")
    replay = eventually(lambda: (a := gateway.post("/failed", json=BODY, key=key)).replayed and a)
    assert_problem(replay, 502, "upstream-unreachable")
    assert upstream.arrived(key) == 1


def test_after_a_cut_attempt_the_next_ones_answer_is_whole(gateway, upstream, key):
    with pytest.raises(ConnectionEnded):
        gateway.post("/retried", json=BODY, key=key, test=f"close=midreset; size={2 * MIB}")
    second = eventually(lambda: (a := gateway.post("/retried", json=BODY, key=key,
                                                   test=f"size={MIB}")).status == 200 and a)
    assert len(second.body) == MIB and not second.replayed
    assert_replay(gateway.post("/retried", json=BODY, key=key), second)
    assert upstream.last(key)["attempt"] == "2"


def test_a_retry_outcome_is_passed_on_and_not_kept(gateway, upstream, key):
    first = gateway.post("/small", json=BODY, key=key, test=f"status=503; size={MIB}")
    assert first.status == 503 and len(first.body) == MIB
    second = gateway.post("/small", json=BODY, key=key)
    assert second.status == 200 and not second.replayed


def test_after_its_ttl_the_key_is_new_and_the_answer_another(gateway, upstream, key):
    first = gateway.post("/short", json=BODY, key=key, test=f"size={MIB}")
    assert_replay(gateway.post("/short", json=BODY, key=key), first)
    let_pass(1.1)
    again = gateway.post("/short", json=BODY, key=key, test="body=small")
    assert again.body == b"small" and not again.replayed
    assert upstream.arrived(key) == 2


def test_trailers_of_the_answer_are_not_part_of_its_body(start_gateway, raw_upstream, key):
    piece = b"x" * 70000

    def serve(peer, number):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n" +
                  b"%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(piece), piece))
    executor = raw_upstream(serve)
    gateway = start_gateway({"path": "/t", "upstream": executor.url, **SMALL})
    first = gateway.post("/t", json=BODY, key=key)
    assert first.body == piece
    assert_replay(gateway.post("/t", json=BODY, key=key), first)


def anonymous_bytes(gateway):
    status = pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024


def test_memory_stays_flat_while_large_answers_flow(start_gateway, upstream):
    """Writing them and reading them back. The store's own buffers are filled once before."""
    gateway = start_gateway({"path": "/r", "max_stored_body": "64KiB"})
    size, clients = 12 * MIB, 8
    for i in range(4):
        gateway.post("/r", json=BODY, key=f"warm-{i}", test=f"size={size}")
    before = anonymous_bytes(gateway)
    for _ in range(2):
        answers = [Background(gateway.post, "/r", json=BODY, key=f"r-{i}", test=f"size={size}")
                   for i in range(clients)]
        assert all(len(a.result().body) == size for a in answers)
        grown = anonymous_bytes(gateway) - before
        assert SANITIZED or grown < 64 * MIB, f"{grown >> 20} MiB"
    assert upstream.effects() == clients + 4
