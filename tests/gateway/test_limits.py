"""What one client may cost: connections, slow senders, large bodies and executions are bounded, and
who is over a bound is told so."""

import os
import resource

import pytest

from http_client import ConnectionEnded, request_bytes
from semel_harness import TIME_SCALE, assert_problem, eventually, new_key, scaled

BODY = {"amount": 100}
LIMIT = 64 * 1024


@pytest.fixture(scope="module")
def slow(module_gateway):
    """Impatient with slow clients, and with large keyed bodies."""
    return module_gateway({"name": "keyed", "path": "/keyed", "max_request_body": "64KiB"},
                          {"name": "everything", "path": "/*"},
                          limits={"header_timeout": scaled(500), "body_timeout": scaled(500)})


def test_a_header_that_does_not_come_is_408(slow, upstream):
    with slow.connect() as connection:
        connection.send(b"POST /keyed HTTP/1.1\r\nHost: h\r\n")
        assert connection.read_response().status == 408
        assert connection.ended()
    assert upstream.arrived() == 0


def test_a_header_that_drips_is_408_too(slow, upstream):
    """The limit is on the whole header, not on the pause between two bytes."""
    with slow.connect() as connection:
        connection.send(b"POST /keyed HTTP/1.1\r\nHost: h\r\n")
        connection.socket.settimeout(0.1)
        status = b""
        for _ in range(int(50 * TIME_SCALE)):
            try:
                connection.send(b"x")
                status = connection.socket.recv(4096)
                break
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                break
        else:
            raise AssertionError("still waiting for the header")
        assert status.startswith(b"HTTP/1.1 408") or status == b""
    assert upstream.arrived() == 0


def test_a_body_that_drips_is_408_too(slow, upstream, key):
    """Each byte comes in time, but the whole would take for ever."""
    with slow.connect() as connection:
        connection.send(b"POST /keyed HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n"
                        b"Idempotency-Key: " + key.encode() + b"\r\n\r\n")
        connection.socket.settimeout(0.1 * TIME_SCALE)
        status = b""
        for _ in range(50):
            try:
                connection.send(b"x")
                status = connection.socket.recv(4096)
                break
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                break
        else:
            raise AssertionError("still waiting for the body")
        assert status.startswith(b"HTTP/1.1 408") or status == b""
    assert upstream.arrived() == 0


def test_a_connection_without_a_request_is_closed(slow, upstream):
    with slow.connect() as connection:
        try:
            assert connection.read_response().status == 408
        except ConnectionEnded:
            pass


@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_keyed_body_that_does_not_come_is_408_and_claims_nothing(slow, upstream, key, framing):
    with slow.connect() as connection:
        connection.send(f"POST /keyed HTTP/1.1\r\nHost: h\r\nIdempotency-Key: {key}\r\n{framing}"
                        "\r\n\r\n5\r\nhel".encode())
        assert connection.read_response().status == 408
        assert connection.ended()
    assert upstream.arrived() == 0
    assert slow.post("/keyed", json=BODY, key=key).status == 200


def test_a_plain_body_that_does_not_come_ends_the_request(slow, upstream):
    with slow.connect() as connection:
        connection.send(b"POST /plain HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nhello")
        upstream.wait_arrived(1)
        try:
            assert connection.read_response().status in (408, 504)
        except ConnectionEnded:
            pass
        assert connection.ended()
    assert upstream.effects() == 0


@pytest.mark.parametrize("chunked", [False, True])
def test_a_keyed_body_that_is_too_large_is_413(slow, upstream, key, chunked):
    with slow.connect() as connection:
        try:
            connection.send(request_bytes("POST", "/keyed", b"x" * (LIMIT + 1), key=key,
                                          chunked=chunked))
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert_problem(connection.read_response(), 413, "body-too-large")
    assert upstream.arrived() == 0


def test_a_body_that_says_it_is_too_large_is_refused_at_once(slow, upstream, key):
    with slow.connect() as connection:
        connection.send(request_bytes("POST", "/keyed", key=key, headers={
            "Content-Length": str(1 << 40), "Expect": "100-continue"}))
        answer = connection.read_response()
        assert_problem(answer, 413, "body-too-large")
        assert answer.interim == []
    assert upstream.arrived() == 0


@pytest.mark.parametrize("chunked", [False, True])
def test_a_keyed_body_of_exactly_the_limit_is_taken(slow, upstream, key, chunked):
    assert slow.post("/keyed", b"x" * LIMIT, key=key, chunked=chunked).status == 200
    assert upstream.last(key)["bytes"] == LIMIT


def test_the_limit_on_bodies_is_for_keyed_requests(slow, upstream):
    assert slow.post("/keyed", b"x" * (4 * LIMIT)).status == 200


def test_more_in_flight_than_allowed_is_503(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 2})
    running = [gateway.connect() for _ in range(2)]
    for connection in running:
        connection.send(request_bytes("POST", "/slow", key=new_key(), test="gate=busy"))
    upstream.wait_effects(2)
    for key in (new_key(), None):
        answer = gateway.post("/more", json=BODY, key=key)
        assert_problem(answer, 503, "overloaded")
    assert upstream.arrived() == 2
    upstream.open_gate("busy")
    assert [connection.read_response().status for connection in running] == [200, 200]
    for connection in running:
        connection.close()
    assert gateway.post("/more", json=BODY, key=new_key()).status == 200


def test_what_was_refused_for_overload_may_be_tried_again(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 1})
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", key=new_key(), test="gate=busy"))
        upstream.wait_effects(1)
        refusal = assert_problem(gateway.post("/more", json=BODY, key=key), 503, "overloaded")
        assert refusal["new_key_safe"] is False  # an earlier try may have got through
        upstream.open_gate("busy")
        connection.read_response()
    first = gateway.post("/more", json=BODY, key=key)
    assert first.status == 200 and not first.replayed
    assert upstream.last(key)["attempt"] == "1"


def test_what_ends_badly_gives_its_place_back(start_gateway, upstream):
    """A leak of one place an aborted request would refuse everybody for good."""
    gateway = start_gateway({"path": "/*"}, limits={"in_flight": 4})
    for n in range(40):
        test = ["gate=g", "close=reset", "close=mid", "status=503"][n % 4]
        whole = request_bytes("POST", "/", json=BODY, key=new_key(), test=test)
        with gateway.connect() as connection:
            connection.send(whole if n % 3 else whole[:-3])
            connection.reset()
        upstream.open_gate("g")

    def served():
        return all(gateway.post("/", json=BODY, key=key).status == 200
                   for key in (new_key(), None, None, None))
    eventually(served)


def test_out_of_file_descriptors_is_not_the_end(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"})
    before = resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE)
    in_use = len(os.listdir(f"/proc/{gateway.process.pid}/fd"))
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (in_use + 1, before[1]))
    crowd = [gateway.connect()]
    assert crowd[0].request("GET", "/.semel/policy").status == 200  # it has the last descriptor
    crowd += [gateway.connect() for _ in range(7)]
    crowd[0].send(request_bytes("POST", "/", json=BODY, key=key))
    answer = crowd[0].read_response()  # it is connected, the executor cannot be
    assert_problem(answer, 502, "upstream-unreachable")
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, before)
    for connection in crowd[1:]:
        assert connection.request("GET", "/").status == 200
    for connection in crowd:
        connection.close()
    assert gateway.post("/", json=BODY, key=key).status == 200
    assert [r["attempt"] for r in upstream.requests(key)] == ["2"]


def test_more_connections_than_allowed_are_not_served(start_gateway, upstream):
    limit = 8
    gateway = start_gateway({"path": "/*"}, limits={"connections": limit})
    held = [gateway.connect() for _ in range(limit)]
    for connection in held:
        assert connection.request("POST", "/").status == 200
    with gateway.connect(timeout=0.5 * TIME_SCALE) as one_more:
        try:
            one_more.send(request_bytes("POST", "/one-more"))
            assert one_more.read_response().status == 503
        except (ConnectionEnded, ConnectionResetError, BrokenPipeError, TimeoutError):
            pass  # closed, or left waiting: as good
    assert upstream.arrived(path="/one-more") == 0
    for connection in held:
        connection.close()

    def served():
        try:
            return gateway.post("/again").status == 200
        except (ConnectionEnded, ConnectionResetError, BrokenPipeError):
            return False
    eventually(served)


def test_every_refused_connection_is_given_back(start_gateway, upstream):
    """A leak of one connection a refusal would shut the gateway for good."""
    gateway = start_gateway({"path": "/*"}, limits={"connections": 16})
    for n in range(100):
        with gateway.connect() as connection:
            connection.send(b"garbage\r\n\r\n" if n % 2 else b"POST / HTTP/1.1\r\n")
            if n % 2:
                assert connection.read_response().status == 400
            else:
                connection.reset()
    eventually(lambda: gateway.metrics()["semel_connections"] <= 2)
    assert gateway.post("/after", key=new_key()).status == 200
