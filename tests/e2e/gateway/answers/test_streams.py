"""docs/spec.md 9: answers that flow. The first client sees them as they come; what was cut is
unknown, never replayed as if it were whole."""

import threading

import pytest

from harness.clients.http_client import TIMEOUT, ConnectionEnded, chunks, request_bytes
from harness.semel import Background, assert_problem, assert_replay, eventually

BODY = {"prompt": "once"}
LIMIT = 64 * 1024


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "events", "path": "/events", "max_stored_body": LIMIT,
                           "max_spilled_body": 0},
                          {"name": "plain", "path": "/*"})


def begin(gateway, upstream, key, test, path="/events"):
    connection = gateway.connect()
    connection.send(request_bytes("POST", path, json=BODY, key=key, test=test))
    return connection, connection.begin_response()


def test_events_flow_before_the_end_and_replay_after_it(gateway, upstream, key):
    connection, answer = begin(gateway, upstream, key, "sse=3; gates=e")
    with connection:
        assert answer.status == 200 and answer.header("Content-Type") == "text/event-stream"
        assert answer.header("Idempotency-Key") == f'"{key}"'
        for number in (1, 2, 3):
            if number > 1:
                upstream.open_gate(f"e{number}")
            answer.read_until(f"data: event {number} ".encode())
            duplicate = gateway.post("/events", json=BODY, key=key)
            assert_problem(duplicate, 409, "in-progress")
        upstream.open_gate("e-end")
        answer.finish()
    replay = gateway.post("/events", json=BODY, key=key)
    assert_replay(replay, answer)
    assert replay.header("Content-Type") == "text/event-stream"
    assert upstream.arrived(key) == 1


def test_a_cut_stream_is_cut_for_the_client_and_unknown(gateway, upstream, key):
    connection, answer = begin(gateway, upstream, key, "sse=3; cut=2")
    with connection, pytest.raises(ConnectionEnded):
        answer.finish()
    assert b"event 1" in answer.body
    unknown = eventually(lambda: (a := gateway.post("/events", json=BODY, key=key)).json()["code"]
                         != "in-progress" and a)
    assert_problem(unknown, 409, "outcome-unknown")
    assert upstream.arrived(key) == 1


def test_who_waits_for_a_stream_that_is_cut_is_told_so(start_gateway, upstream, key):
    """Not that it ended well, with nothing in it."""
    gateway = start_gateway({"path": "/events", "in_progress": "wait", "wait_timeout": "60s"})
    connection, answer = begin(gateway, upstream, key, "sse=3; gates=e; cut=2")
    with connection:
        answer.read_until(b"event 1")
        waiter = Background(gateway.post, "/events", json=BODY, key=key)
        eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
        for gate in ("e2", "e3", "e-end"):
            upstream.open_gate(gate)
        with pytest.raises(ConnectionEnded):
            answer.finish()
    problem = assert_problem(waiter.result(), 502, "upstream-unreachable")
    assert problem["new_key_safe"] is False
    assert upstream.arrived(key) == 1


def test_the_client_of_a_stream_goes_away_and_it_is_recorded_whole(gateway, upstream, key):
    connection, answer = begin(gateway, upstream, key, "sse=3; gates=e")
    answer.read_until(b"event 1")
    connection.reset()
    for gate in ("e2", "e3", "e-end"):
        upstream.open_gate(gate)
    replay = eventually(lambda: (a := gateway.post("/events", json=BODY, key=key)).status == 200
                        and a)
    assert replay.replayed and b"event 3" in replay.body
    assert upstream.arrived(key) == 1


def test_an_answer_of_unknown_length_flows_once_it_is_past_the_limit(start_gateway, raw_upstream,
                                                                     key):
    """The bytes past the limit arrive before the executor has ended its answer."""
    may_end = threading.Event()

    def serve(peer, number):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        peer.send(chunks(b"x" * (2 * LIMIT))[:-len(b"0\r\n\r\n")])
        may_end.wait(TIMEOUT)
        peer.send(b"0\r\n\r\n")
    executor = raw_upstream(serve)
    gateway = start_gateway({"path": "/big", "upstream": executor.url, "max_stored_body": LIMIT,
                             "max_spilled_body": 0})
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/big", json=BODY, key=key))
        answer = connection.begin_response()
        answer.read_until(b"x" * (LIMIT + 1))
        may_end.set()
        assert len(answer.finish().body) == 2 * LIMIT
    replay = gateway.post("/big", json=BODY, key=key)
    assert replay.header("Idempotency-Replay") == "body-omitted" and replay.body == b""
    assert executor.accepted == 1


def test_a_long_stream_is_not_replayed_cut(gateway, upstream, key):
    """Events past the limit: the first client gets all, the replay says the body is omitted."""
    events = LIMIT // 16
    first = gateway.post("/events", json=BODY, key=key, test=f"sse={events}")
    assert first.body.count(b"data: event") == events and len(first.body) > LIMIT
    replay = gateway.post("/events", json=BODY, key=key)
    assert replay.status == 200 and replay.body == b""
    assert replay.header("Idempotency-Replay") == "body-omitted"
    assert upstream.arrived(key) == 1


def test_a_stream_killed_half_way_is_unknown_after_the_restart(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/events"}, store="embedded")
    connection, answer = begin(gateway, upstream, key, "sse=3; gates=e")
    with connection:
        answer.read_until(b"event 1")
        gateway.kill9()
    gateway.start()
    assert_problem(gateway.post("/events", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.arrived(key) == 1


def test_without_a_key_events_flow_too(gateway, upstream):
    connection, answer = begin(gateway, upstream, None, "sse=2; gates=e", "/plain")
    with connection:
        answer.read_until(b"event 1")
        upstream.open_gate("e2")
        answer.read_until(b"event 2")
        upstream.open_gate("e-end")
        answer.finish()


def test_a_stream_with_a_retry_status_is_passed_and_releases(gateway, upstream, key):
    first = gateway.post("/events", json=BODY, key=key, test="status=503; chunked; size=200000")
    assert first.status == 503 and len(first.body) == 200000
    second = gateway.post("/events", json=BODY, key=key)
    assert second.status == 200 and not second.replayed
    assert upstream.last(key)["attempt"] == "2"
