"""Slowness has an owner. A slow client is not the executor's time out, an executor that is slow to
read is not the client's, and nobody's pause cuts what the other side does in time."""

import socket
import threading

import pytest

from harness.clients.http_client import TIMEOUT, request_bytes
from harness.semel import (TIME_SCALE, assert_problem, assert_replay, eventually, let_pass, new_key,
                           scaled)

BODY = {"amount": 100}
MIB = 1 << 20


@pytest.fixture(scope="module")
def gateway(module_gateway):
    """Impatient with the executor, patient with clients."""
    return module_gateway(
        {"name": "keyed", "path": "/keyed", "upstream_timeout": scaled(400), "late_answer": "60s",
         "max_stored_body": "64KiB"},
        {"name": "plain", "path": "/*", "upstream_timeout": scaled(400)})


@pytest.mark.parametrize("keyed", [False, True])
def test_a_client_that_pauses_in_its_upload_is_not_the_executors_time_out(gateway, upstream, key,
                                                                         keyed):
    path = "/keyed" if keyed else "/plain"
    wire = request_bytes("POST", path, b"x" * 1000, key=key if keyed else None)
    with gateway.connect() as connection:
        connection.send(wire[:-500])
        let_pass(1.0 * TIME_SCALE)
        connection.send(wire[-500:])
        assert connection.read_response().status == 200
    assert upstream.last(path=path)["bytes"] == 1000


@pytest.mark.parametrize("keyed", [False, True])
def test_a_client_that_pauses_in_its_download_gets_the_whole(gateway, upstream, key, keyed):
    size = 16 * MIB
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/keyed" if keyed else "/plain", json=BODY,
                                      key=key if keyed else None, test=f"size={size}"))
        answer = connection.begin_response()
        answer.read_until(b"0123")
        let_pass(1.0 * TIME_SCALE)
        assert len(answer.finish().body) == size
    if keyed:
        assert_replay(gateway.post("/keyed", json=BODY, key=key), answer)
        assert upstream.arrived(key) == 1


def test_a_client_that_never_reads_does_not_keep_the_answer_from_being_recorded(
        start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*", "max_stored_body": "64KiB"},
                            limits={"body_timeout": scaled(500)})
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/", json=BODY, key=key, test=f"size={32 * MIB}"))
        upstream.wait_effects(1, key)
        replay = eventually(lambda: (a := gateway.post("/", json=BODY, key=key)).status == 200
                            and a)
    assert replay.replayed and len(replay.body) == 32 * MIB
    assert upstream.arrived(key) == 1


@pytest.mark.parametrize("keyed", [False, True])
def test_a_client_may_close_its_half_after_the_request(gateway, upstream, key, keyed):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/keyed" if keyed else "/plain", json=BODY,
                                      key=key if keyed else None))
        connection.socket.shutdown(socket.SHUT_WR)
        assert connection.read_response().status == 200
        assert connection.ended()


def test_the_connection_of_a_late_answer_is_given_up_in_the_end(start_gateway, raw_upstream, key):
    closed = threading.Event()

    def serve(peer, number):
        peer.read_request()
        peer.wait_closed()
        closed.set()
    silent = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": silent.url, "upstream_timeout": "200ms",
                             "late_answer": "300ms"})
    assert_problem(gateway.post("/", json=BODY, key=key), 504, "upstream-timeout")
    assert closed.wait(TIMEOUT)


def test_only_so_many_late_answers_are_listened_for(start_gateway, upstream):
    """Each has a connection: an executor that answers nobody in time must not use them all up."""
    gateway = start_gateway({"path": "/*", "upstream_timeout": scaled(300), "late_answer": "60s"},
                            limits={"in_flight": 32})
    keys = [new_key() for _ in range(20)]
    connections = [gateway.connect() for _ in keys]
    for connection, key in zip(connections, keys):
        connection.send(request_bytes("POST", "/", json=BODY, key=key, test="gate=late"))
    for connection in connections:
        assert_problem(connection.read_response(), 504, "upstream-timeout")
        connection.close()
    upstream.open_gate("late")

    def recorded():
        return sum(gateway.post("/", json=BODY, key=key).replayed for key in keys)
    eventually(lambda: recorded() == 16)
    assert upstream.effects() == 20


def test_idle_connections_to_the_executor_are_closed_after_a_while(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "upstream_idle": "200ms"})
    for _ in range(5):
        gateway.post("/", json=BODY)
    upstream.wait("open", 0, at_most=True)


def test_a_late_answer_arrives_while_the_gateway_drains(start_gateway, upstream, key):
    """It is recorded, or the outcome stays unknown; it is not executed again."""
    gateway = start_gateway({"path": "/*", "upstream_timeout": "200ms"})
    assert_problem(gateway.post("/", json=BODY, key=key, test="gate=late"), 504, "upstream-timeout")
    gateway.terminate()
    eventually(lambda: gateway.refuses_connections())
    upstream.open_gate("late")
    assert gateway.wait() == 0
    gateway.start()
    answer = gateway.post("/", json=BODY, key=key)
    assert answer.replayed or answer.json()["code"] == "outcome-unknown"
    assert upstream.effects(key) == 1


def test_an_executor_of_http_1_0_is_understood(start_gateway, raw_upstream, key):
    def serve(peer, number):
        peer.read_request()
        peer.send(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold but whole")
    old = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": old.url})
    assert gateway.post("/", json=BODY).body == b"old but whole"
    first = gateway.post("/", json=BODY, key=key)
    assert first.body == b"old but whole"
    assert_replay(gateway.post("/", json=BODY, key=key), first)
    assert old.accepted == 2
