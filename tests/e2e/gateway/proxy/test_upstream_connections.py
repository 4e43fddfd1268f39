"""Connections to the executor: kept where that is safe, never trusted further than they were
proven, and a POST is never sent twice because one of them died."""

import ssl
import threading

import pytest

from harness.clients.http_client import TIMEOUT, ConnectionEnded, request_bytes
from harness.semel import (TIME_SCALE, assert_problem, assert_replay, eventually, let_pass,
                           new_key, scaled)

BODY = {"amount": 100}


class Recorder:
    """Counts the requests a raw upstream has read."""

    def __init__(self):
        self.requests = []
        self.changed = threading.Condition()

    def add(self, request):
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()

    def wait(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, TIMEOUT)

    def paths(self):
        return [request.split(b" ")[1].decode() for request in self.requests]


def test_connections_are_kept_and_reused(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, workers=1)
    with gateway.connect() as connection:
        for n in range(30):
            key = new_key() if n % 2 else None
            assert connection.request("POST", "/", b"x", key=key).status == 200
    assert upstream.connections() == 1
    assert len({r["connection"] for r in upstream.requests()}) == 1


def test_a_keyed_request_does_not_use_a_connection_that_was_idle_too_long(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "upstream_idle": scaled(300)}, workers=1)
    gateway.post("/", key=new_key())
    gateway.post("/", key=new_key())
    assert upstream.connections() == 1
    let_pass(0.6 * TIME_SCALE)
    gateway.post("/", key=new_key())
    assert upstream.connections() == 2


def test_an_answer_with_connection_close_is_not_followed_on_it(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, workers=1)
    for _ in range(3):
        assert gateway.post("/", key=new_key(), test="close=after").status == 200
    assert upstream.connections() == 3


def test_a_connection_closed_while_idle_is_noticed_before_a_keyed_request(start_gateway, upstream):
    """Node closes idle connections: the next POST must not be thrown at a closed one."""
    gateway = start_gateway({"path": "/*"}, workers=1)
    for _ in range(10):
        assert gateway.post("/", key=new_key(), test="close=silent").status == 200
        upstream.wait("open", 0, at_most=True)
    assert upstream.effects() == 10


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("keyed", [True, False])
def test_a_post_on_a_kept_connection_that_dies_is_never_sent_again(start_gateway, raw_upstream, key,
                                                                   end, keyed):
    """The upstream reads the second request and hangs up: it may have acted on it."""
    recorder = Recorder()

    def serve(peer, number):
        recorder.add(peer.read_request())
        peer.answer()
        if request := peer.read_request():
            recorder.add(request)
            peer.reset() if end == "reset" else None
    flaky = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": flaky.url}, workers=1)
    assert gateway.post("/one", json=BODY, key=new_key() if keyed else None).status == 200
    answer = gateway.post("/two", json=BODY, key=key if keyed else None)
    assert answer.status == 502
    assert recorder.paths() == ["/one", "/two"]
    if keyed:
        assert_problem(gateway.post("/two", json=BODY, key=key), 409, "outcome-unknown")
    assert recorder.paths() == ["/one", "/two"]


def test_a_get_on_a_kept_connection_that_dies_may_be_sent_again(start_gateway, raw_upstream):
    recorder = Recorder()

    def serve(peer, number):
        recorder.add(peer.read_request())
        peer.answer()
        recorder.add(peer.read_request())
    flaky = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": flaky.url}, workers=1)
    assert gateway.get("/one").status == 200
    assert gateway.get("/two").status in (200, 502)
    assert 2 <= len(recorder.requests) <= 3


def test_an_early_answer_reaches_the_client_before_its_upload_ends(start_gateway, raw_upstream):
    def serve(peer, number):
        peer.read_head()
        peer.answer(b"enough", status=403, headers="Connection: close\r\n")
        peer.wait_closed()
    early = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": early.url})
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/upload", b"x" * 1000,
                                      headers={"Content-Length": str(1 << 20)}))
        answer = connection.read_response()
    assert (answer.status, answer.body) == (403, b"enough")
    with gateway.connect() as connection:  # whatever was left of the upload is not a request
        assert connection.request("POST", "/again", b"x").status == 403


def test_an_early_answer_to_a_keyed_request_whose_rest_is_never_read(start_gateway, raw_upstream,
                                                                     key):
    answered = threading.Event()

    def serve(peer, number):
        peer.read_head()
        peer.answer(b"too large", status=413, headers="Connection: close\r\n")
        answered.wait(TIMEOUT)
    early = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": early.url, "max_request_body": "32MiB",
                             "upstream_timeout": scaled(1000)})
    body = b"x" * (24 << 20)  # more than the sockets on the way can hold
    first = gateway.post("/upload", body, key=key)
    answered.set()
    assert (first.status, first.body) == (413, b"too large")
    assert_replay(gateway.post("/upload", body, key=key), first)
    assert early.accepted == 1


def test_after_an_early_answer_nobody_else_gets_the_connection(start_gateway, raw_upstream):
    """The executor still waits for the rest of the first body, and would take another's request for
    it."""
    done = threading.Event()

    def serve(peer, number):
        peer.read_head() if number == 1 else peer.read_request()
        peer.answer(b"first" if number == 1 else b"second", status=201)
        if number == 1:
            done.wait(TIMEOUT)
    early = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": early.url, "max_request_body": "32MiB",
                             "upstream_timeout": scaled(1000)}, workers=1)
    assert gateway.post("/upload", b"x" * (24 << 20), key=new_key()).body == b"first"
    assert gateway.post("/upload", b"small", key=new_key()).body == b"second"
    done.set()
    assert early.accepted == 2


def test_an_early_answer_to_a_keyed_request_is_its_answer(start_gateway, raw_upstream, key):
    def serve(peer, number):
        peer.read_head()
        peer.answer(b"made", status=201, headers="Connection: close\r\n")
        peer.wait_closed()
    early = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": early.url, "max_request_body": "8MiB"})
    first = gateway.post("/upload", b"x" * (4 << 20), key=key)
    assert (first.status, first.body) == (201, b"made")
    assert_replay(gateway.post("/upload", b"x" * (4 << 20), key=key), first)
    assert early.accepted == 1


def test_bytes_after_an_answer_are_not_the_next_answer(start_gateway, raw_upstream):
    """A second answer pushed on an idle connection must not be given to the next client."""
    def serve(peer, number):
        while peer.read_request():
            peer.answer(b"mine" if number == 1 else b"other")
            if number == 1:
                peer.answer(b"poison")
    poisoner = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": poisoner.url}, workers=1)
    assert gateway.post("/", key=new_key()).body == b"mine"
    for _ in range(5):
        answer = gateway.post("/", key=new_key())
        assert answer.status == 502 or answer.body in (b"mine", b"other")
        assert gateway.get("/").body != b"poison"


EXTRA = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine" + EXTRA,
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nmine\r\n0\r\n\r\n" + EXTRA,
    b"HTTP/1.1 204 No Content\r\n\r\n" + EXTRA,
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nmine",
], ids=["length", "an empty line", "chunked", "204", "304"])
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "plain"])
def test_a_connection_with_bytes_beyond_its_message_is_not_used_again(start_gateway, raw_upstream,
                                                                      answer, keyed):
    def serve(peer, number):
        while peer.read_request():
            peer.send(answer) if number == 1 else peer.answer(b"other")
    talkative = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": talkative.url}, workers=1)
    assert gateway.post("/", key=new_key() if keyed else None).body in (b"mine", b"")
    for _ in range(2):
        answered = gateway.post("/", key=new_key() if keyed else None)
        assert (answered.status, answered.body) == (200, b"other")
    assert talkative.accepted == 2


def test_an_answer_to_head_with_a_body_is_not_followed_on_its_connection(start_gateway,
                                                                         raw_upstream):
    def serve(peer, number):
        while request := peer.read_request():
            peer.answer(b"mine" if request.startswith(b"HEAD") else b"other")
    talkative = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": talkative.url}, workers=1)
    assert gateway.request("HEAD", "/").status == 200
    assert gateway.get("/").body == b"other"
    assert talkative.accepted == 2


WITHOUT_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def unknown_after(start_gateway, raw_upstream, key, serve, **options):
    executor = raw_upstream(serve, **options)
    route = {"path": "/*", "upstream": executor.url, "upstream_tls": {"verify": False}}
    if not options:
        del route["upstream_tls"]
    gateway = start_gateway(route)
    assert_problem(gateway.post("/", json=BODY, key=key), 502, "upstream-unreachable")
    assert_problem(gateway.post("/", json=BODY, key=key), 409, "outcome-unknown")
    assert executor.accepted == 1


def test_a_2xx_without_length_that_is_reset_is_unknown(start_gateway, raw_upstream, key):
    def serve(peer, number):
        peer.read_request()
        peer.send(WITHOUT_LENGTH + b"Connection: close\r\n\r\nhalf")
        peer.reset()
    unknown_after(start_gateway, raw_upstream, key, serve)


@pytest.mark.parametrize("body", [b"", b"half"])
def test_a_2xx_without_length_whose_end_was_not_announced_is_unknown(start_gateway, raw_upstream,
                                                                     key, body):
    """The executor meant to keep the connection, and it ended: a crash ends it in the same way."""
    def serve(peer, number):
        peer.read_request()
        peer.send(WITHOUT_LENGTH + b"\r\n" + body)
    unknown_after(start_gateway, raw_upstream, key, serve)


def test_a_2xx_without_length_that_ends_without_a_goodbye_is_unknown(start_gateway, raw_upstream,
                                                                     certificates, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.upstream.cert, certificates.upstream.key)

    def serve(peer, number):
        peer.read_request()
        peer.send(WITHOUT_LENGTH + b"Connection: close\r\n\r\nhalf")
    unknown_after(start_gateway, raw_upstream, key, serve, tls=context)


def test_an_early_2xx_without_length_on_a_broken_connection_is_unknown(start_gateway, raw_upstream,
                                                                       key):
    """The request broke off, which the kernel tells the writer; to the reader the end looks clean."""
    def serve(peer, number):
        peer.read_head()
        peer.send(WITHOUT_LENGTH + b"Connection: close\r\n\r\nhalf")
        peer.socket.close()  # with the body unread: a reset
    executor = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": executor.url, "max_request_body": "32MiB"})
    body = b"x" * (24 << 20)
    assert_problem(gateway.post("/", body, key=key), 502, "upstream-unreachable")
    assert_problem(gateway.post("/", body, key=key), 409, "outcome-unknown")


def test_a_2xx_without_length_is_final_where_the_close_was_announced(start_gateway, raw_upstream,
                                                                     key):
    def serve(peer, number):
        peer.read_request()
        peer.send(WITHOUT_LENGTH + b"Connection: keep-alive, Close\r\n\r\nwhole")
    executor = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": executor.url})
    first = gateway.post("/", json=BODY, key=key)
    assert (first.status, first.body) == (200, b"whole")
    assert_replay(gateway.post("/", json=BODY, key=key), first)
    assert executor.accepted == 1


def test_an_upstream_that_never_answers_ends_in_504(start_gateway, raw_upstream, key):
    silent = raw_upstream(lambda peer, number: peer.wait_closed())
    gateway = start_gateway({"path": "/*", "upstream": silent.url, "upstream_timeout": "300ms",
                             "late_answer": "0s"})
    assert gateway.post("/", json=BODY).status == 504
    assert_problem(gateway.post("/", json=BODY, key=key), 504, "upstream-timeout")


def test_an_upstream_that_never_takes_a_large_request_ends_in_504(start_gateway, raw_upstream, key):
    done = threading.Event()
    deaf = raw_upstream(lambda peer, number: done.wait(TIMEOUT))
    gateway = start_gateway({"path": "/*", "upstream": deaf.url, "max_request_body": "32MiB",
                             "upstream_timeout": scaled(1000)})
    body = b"x" * (24 << 20)  # more than the sockets on the way can hold
    first = gateway.post("/upload", body, key=key)
    assert assert_problem(first, 504, "upstream-timeout")["new_key_safe"] is False
    assert_problem(gateway.post("/upload", body, key=key), 409, "outcome-unknown")
    record = gateway.record(key)
    assert (record["state"], record["reason"]) == ("unknown", "the request was not taken in time")
    done.set()
    assert deaf.accepted == 1


def test_an_upstream_that_stops_in_the_middle_of_its_answer(start_gateway, raw_upstream, key):
    def serve(peer, number):
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        peer.wait_closed()
    stuck = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": stuck.url, "upstream_timeout": "300ms",
                             "late_answer": "300ms"})
    assert gateway.post("/", json=BODY, key=key).status in (502, 504)
    eventually(lambda: gateway.post("/", json=BODY, key=key).json()["code"] == "outcome-unknown")
    assert stuck.accepted == 1


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello!!",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello",
    b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX-Big: " + b"x" * (1 << 20) + b"\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nNo colon here\r\nContent-Length: 0\r\n\r\n",
    b"\x16\x03\x01\x02\x00", b"",
], ids=lambda a: repr(a[:60]))
def test_an_ambiguous_answer_is_unknown(start_gateway, raw_upstream, key, answer):
    def serve(peer, number):
        peer.read_request()
        peer.send(answer)
    broken = raw_upstream(serve)
    gateway = start_gateway({"path": "/*", "upstream": broken.url})
    try:
        assert gateway.post("/", json=BODY).status == 502
    except ConnectionEnded:
        pass  # without a key the answer streams: cut where it stops making sense
    assert gateway.post("/", json=BODY, key=key).status == 502
    assert_problem(gateway.post("/", json=BODY, key=key), 409, "outcome-unknown")


def test_a_base_path_is_put_before_the_path(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "upstream": upstream.url + "/base/path"})
    for target, seen in (("/v1/a?b=c", "/base/path/v1/a?b=c"), ("/", "/base/path/")):
        assert gateway.post(target).status == 200
        assert upstream.last()["target"] == seen


def test_several_upstreams_share_the_work(start_gateway, raw_upstream):
    counts = {}

    def server(name):
        def serve(peer, number):
            while peer.read_request():
                counts[name] = counts.get(name, 0) + 1
                peer.answer(name.encode())
        return raw_upstream(serve)
    urls = [server(name).url for name in ("a", "b", "c")]
    gateway = start_gateway({"path": "/*", "upstream": urls})
    for n in range(60):
        assert gateway.post("/", key=new_key() if n % 2 else None).status == 200
    assert sum(counts.values()) == 60 and set(counts) == {"a", "b", "c"}
    assert min(counts.values()) >= 5, counts
