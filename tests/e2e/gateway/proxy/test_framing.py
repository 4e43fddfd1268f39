"""Where a message ends must have one reading. A request that could be read in two ways is refused
with 400, the connection is closed, and nothing of it or after it reaches the executor."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import new_key

SMUGGLED = b"POST /smuggled HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "everything", "path": "/*"},
                          limits={"header_bytes": "16KiB"})


def refused(gateway, upstream, wire, statuses=(400,)):
    """Refused, closed, and the request smuggled behind it has not arrived."""
    with gateway.connect() as connection:
        try:
            connection.send(wire + SMUGGLED)
        except (ConnectionResetError, BrokenPipeError):
            pass  # it need not read what it refuses
        answer = connection.read_response()
        assert answer.status in statuses, answer
        assert connection.ended()
    assert upstream.effects() == 0
    assert upstream.arrived(path="/smuggled") == 0
    return answer


def head(*lines, version="HTTP/1.1"):
    return "\r\n".join((f"POST /framing {version}", "Host: h") + lines + ("", "")).encode("latin-1")


def chunked(*lines):
    """A head with these lines, and an empty chunked body."""
    return head(*lines) + b"0\r\n\r\n"


LENGTHS = {
    "both lengths": chunked("Content-Length: 5", "Transfer-Encoding: chunked"),
    "both lengths, other order": chunked("Transfer-Encoding: chunked", "Content-Length: 5"),
    "two lengths": head("Content-Length: 5", "Content-Length: 6") + b"hello!",
    "the same length twice": head("Content-Length: 5", "Content-Length: 5") + b"hello",
    "a list of lengths": head("Content-Length: 5, 5") + b"hello",
    "a length beyond 63 bits": head("Content-Length: 9223372036854775808") + b"hello",
    "a list without blanks": head("Content-Length: 5,5") + b"hello",
    "plus": head("Content-Length: +5") + b"hello",
    "minus": head("Content-Length: -5") + b"hello",
    "hexadecimal": head("Content-Length: 0x5") + b"hello",
    "letters": head("Content-Length: five") + b"hello",
    "blank inside": head("Content-Length: 5 0") + b"hello",
    "empty": head("Content-Length:") + b"hello",
    "too large": head("Content-Length: 99999999999999999999999") + b"hello",
    "just past 64 bits": head("Content-Length: 18446744073709551616") + b"hello",
    "fraction": head("Content-Length: 5.0") + b"hello",
}
CODINGS = {
    "chunked twice": chunked("Transfer-Encoding: chunked, chunked"),
    "chunked in two fields": chunked("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "chunked and identity": chunked("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    "gzip": chunked("Transfer-Encoding: gzip"),
    "gzip, chunked": chunked("Transfer-Encoding: gzip, chunked"),
    "chunked, gzip": chunked("Transfer-Encoding: chunked, gzip"),
    "identity": chunked("Transfer-Encoding: identity"),
    "xchunked": chunked("Transfer-Encoding: xchunked"),
    "quoted": chunked('Transfer-Encoding: "chunked"'),
    "parameter": chunked("Transfer-Encoding: chunked;q=1"),
    "vertical tab": chunked("Transfer-Encoding: \x0bchunked"),
    "empty": chunked("Transfer-Encoding:"),
    "comma": chunked("Transfer-Encoding: ,chunked"),
}
LINES = {
    "bare line feeds": b"POST /framing HTTP/1.1\nHost: h\nContent-Length: 0\n\n",
    "bare line feed after a field": b"POST /framing HTTP/1.1\r\nHost: h\nContent-Length: 0\r\n\r\n",
    "bare line feed at the end": b"POST /framing HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\n",
    "bare carriage return in a value": head("X-A: a\rb", "Content-Length: 0"),
    "bare carriage return as a line end": b"POST /framing HTTP/1.1\rHost: h\rContent-Length: 0\r\r",
    "bare carriage return in the target": b"POST /fra\rming HTTP/1.1\r\nHost: h\r\n\r\n",
    "folded line": head("X-A: a", " b", "Content-Length: 0"),
    "folded line with a tab": head("X-A: a", "\tTransfer-Encoding: chunked", "Content-Length: 0"),
    "folded first line": b"POST /framing HTTP/1.1\r\n Host: h\r\nHost: h\r\n\r\n",
    "blank before the colon": head("Content-Length : 0"),
    "tab before the colon": chunked("Transfer-Encoding\t: chunked"),
    "blank in a name": head("X A: b", "Content-Length: 0"),
    "no colon": head("nonsense", "Content-Length: 0"),
    "no name": head(": nameless", "Content-Length: 0"),
    "NUL in a value": head("X-A: a\x00b", "Content-Length: 0"),
    "NUL in a name": head("X-\x00A: b", "Content-Length: 0"),
    "control byte in a value": head("X-A: a\x01b", "Content-Length: 0"),
    "control byte in a name": head("X-A\x7f: b", "Content-Length: 0"),
    "parenthesis in a name": head("X(A): b", "Content-Length: 0"),
    "high byte in a name": head("X-\xe9: b", "Content-Length: 0"),
    "a thousand fields": head(*(f"X-{n}: b" for n in range(1000)), "Content-Length: 0"),
    "an endless Connection": head("Connection: " + "a," * 1000 + "a", "Content-Length: 0"),
}
REQUEST_LINES = {
    "no host": b"POST /framing HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "two hosts": head("Host: other", "Content-Length: 0"),
    "the same host twice": head("Host: h", "Content-Length: 0"),
    "no version": b"POST /framing\r\nHost: h\r\n\r\n",
    "no target": b"POST HTTP/1.1\r\nHost: h\r\n\r\n",
    "empty target": b"POST  HTTP/1.1\r\nHost: h\r\n\r\n",
    "two blanks": b"POST  /framing HTTP/1.1\r\nHost: h\r\n\r\n",
    "two blanks before the version": b"POST /framing  HTTP/1.1\r\nHost: h\r\n\r\n",
    "tab": b"POST\t/framing\tHTTP/1.1\r\nHost: h\r\n\r\n",
    "blank in the target": b"POST /fra ming HTTP/1.1\r\nHost: h\r\n\r\n",
    "leading blank": b" POST /framing HTTP/1.1\r\nHost: h\r\n\r\n",
    "NUL in the target": b"POST /fra\x00ming HTTP/1.1\r\nHost: h\r\n\r\n",
    "control byte in the target": b"POST /fra\x01ming HTTP/1.1\r\nHost: h\r\n\r\n",
    "not HTTP": b"POST /framing FTP/1.1\r\nHost: h\r\n\r\n",
    "lower case": b"POST /framing http/1.1\r\nHost: h\r\n\r\n",
    "version without dot": b"POST /framing HTTP/11\r\nHost: h\r\n\r\n",
    "version with a blank": b"POST /framing HTTP/1.1 \r\nHost: h\r\n\r\n",
    "method with a colon": b"PO:ST /framing HTTP/1.1\r\nHost: h\r\n\r\n",
    "garbage": b"\x00\x01\x02\x03\xff\xfe\r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + bytes(150) + b"\r\n\r\n",
    **{f"Host: {host}": f"POST /framing HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"
       .encode("latin-1") for host in (
           "", "a b", "a, b", "a,b", "a/b", "a@b", "user@a", "a?b", "a#b", "a\\b", "a:", "a:b", "a:+1",
           "a:65536", "a:80:80", ":80", "[::1", "::1", "[::1]x", "[::1]:", "[::1%25lo]", "[g::1]", "[]",
           "%61", "caf\xe9", "a;b", "<a>", "a" * 256, "http://a")},
    "empty field name then nothing": b"GET / HTTP/1.1\r\n:\r\n\r\n",
}


@pytest.mark.parametrize("name", LENGTHS)
def test_ambiguous_lengths(gateway, upstream, name):
    refused(gateway, upstream, LENGTHS[name])


@pytest.mark.parametrize("name", CODINGS)
def test_ambiguous_codings(gateway, upstream, name):
    refused(gateway, upstream, CODINGS[name], (400, 501))


@pytest.mark.parametrize("name", LINES)
def test_ambiguous_lines(gateway, upstream, name):
    refused(gateway, upstream, LINES[name])


@pytest.mark.parametrize("name", REQUEST_LINES)
def test_broken_request_lines(gateway, upstream, name):
    refused(gateway, upstream, REQUEST_LINES[name])


@pytest.mark.parametrize("target", ["framing", "/framing#x", "/fra%zzming", "*"])
def test_a_target_that_is_none(gateway, upstream, target):
    assert gateway.post(target).status in (400, 404)
    assert upstream.arrived() == 0


def test_another_major_version_is_refused(gateway, upstream):
    refused(gateway, upstream, head("Content-Length: 0", version="HTTP/2.0"), (400, 505))
    refused(gateway, upstream, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 505))


def test_chunked_in_http_1_0_is_refused(gateway, upstream):
    wire = head("Transfer-Encoding: chunked", version="HTTP/1.0") + b"0\r\n\r\n"
    refused(gateway, upstream, wire)


def test_connect_is_refused(gateway, upstream):
    wire = b"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n"
    with gateway.connect() as connection:
        connection.send(wire)
        assert connection.read_response().status in (400, 404, 405, 501)
    assert upstream.arrived() == 0


CHUNKS = {
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "size in letters": b"xyz\r\nhello\r\n0\r\n\r\n",
    "negative size": b"-5\r\nhello\r\n0\r\n\r\n",
    "plus": b"+5\r\nhello\r\n0\r\n\r\n",
    "0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "size past 64 bits": b"10000000000000005\r\nhello\r\n0\r\n\r\n",
    "size of many digits": b"f" * 100 + b"\r\nhello\r\n0\r\n\r\n",
    "no line end after the data": b"5\r\nhello0\r\n\r\n",
    "data longer than its size": b"5\r\nhello!\r\n0\r\n\r\n",
    "bare line feed after the size": b"5\nhello\r\n0\r\n\r\n",
    "bare line feed after the data": b"5\r\nhello\n0\r\n\r\n",
    "bare carriage return after the size": b"5\rhello\r\n0\r\n\r\n",
    "bare line feeds at the end": b"5\r\nhello\r\n0\n\n",
    "blank before the size": b" 5\r\nhello\r\n0\r\n\r\n",
    "NUL in the size": b"5\x00\r\nhello\r\n0\r\n\r\n",
    "line feed in an extension": b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "malformed trailer": b"5\r\nhello\r\n0\r\nno colon\r\n\r\n",
    "folded trailer": b"5\r\nhello\r\n0\r\nX-A: a\r\n b\r\n\r\n",
    "folded trailer with a tab": b"0\r\nX-A: a\r\n\tb\r\n\r\n",
    "endless extension": b"5;" + b"a" * 100_000 + b"\r\nhello\r\n0\r\n\r\n",
    "endless trailer": b"5\r\nhello\r\n0\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", CHUNKS)
def test_bad_chunks_of_a_keyed_request(gateway, upstream, name):
    wire = head(f"Idempotency-Key: {new_key()}", "Transfer-Encoding: chunked") + CHUNKS[name]
    refused(gateway, upstream, wire, (400, 413, 431))
    assert upstream.arrived() == 0


@pytest.mark.parametrize("name", CHUNKS)
def test_bad_chunks_of_a_plain_request_never_make_a_whole_one(gateway, upstream, name):
    """Its head may be on the way already, since plain bodies stream; its end must not be."""
    refused(gateway, upstream, head("Transfer-Encoding: chunked") + CHUNKS[name], (400, 413, 431))


def test_headers_that_are_too_large(gateway, upstream):
    many = "\r\n".join(f"X-{n}: {'v' * 100}" for n in range(200))
    for wire in (head("X-Big: " + "v" * 20_000), head(many), head("X" * 20_000 + ": v")):
        refused(gateway, upstream, wire, (431,))


def test_a_request_line_that_is_too_long(gateway, upstream):
    refused(gateway, upstream, b"POST /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
            (400, 414, 431))


def test_a_head_that_never_ends(gateway, upstream):
    with gateway.connect() as connection:
        try:
            for _ in range(200):
                connection.send(b"X" * 1000)
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert connection.some(1 << 16)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431", b"HTTP/1.1 414",
                                                 b"")
    assert upstream.arrived() == 0


def test_an_empty_line_before_a_request_is_allowed(gateway, upstream):
    with gateway.connect() as connection:
        connection.send(b"\r\n" + request_bytes("POST", "/framing"))
        assert connection.read_response().status in (200, 400)


def test_an_absolute_target_is_read_by_its_path(gateway, upstream):
    with gateway.connect() as connection:
        connection.send(b"POST http://shop.example/framing?q=1 HTTP/1.1\r\nHost: shop.example\r\n"
                        b"Content-Length: 0\r\n\r\n")
        answer = connection.read_response()
    assert answer.status in (200, 400)
    assert [r["target"] for r in upstream.requests()] == ["/framing?q=1"] * (answer.status == 200)


def test_a_target_that_names_another_host_is_refused(gateway, upstream):
    for target in ("http://other/framing", "http://user@h/framing", "http://h:80/framing",
                   "http:///framing", "http://h\\@other/framing"):
        assert gateway.post(target, host="h").status == 400, target
    assert upstream.arrived() == 0


@pytest.mark.parametrize("host", ["h", "shop.example:8080", "my_service", "127.0.0.1:1", "[::1]:80",
                                  "[2001:db8::1]", "shop.example."])
def test_a_sound_host_passes_as_it_is(gateway, upstream, host):
    assert gateway.post("/framing", host=host).status == 200
    assert dict(upstream.last()["headers"])["Host"] == host


def test_sound_requests_pass(gateway, upstream):
    """Without the fault these shapes pass: the tests above refuse them for the reason they name."""
    sound = [head("Content-Length: 5") + b"hello", head("Content-Length: 005") + b"hello",
             head("Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n",
             head("Transfer-Encoding: Chunked") + b"005;a=b\r\nhello\r\n0\r\nX-Trailer: t\r\n\r\n",
             head("X-A:b", "X-Empty:", "X-Tab:\ta\tb\t", "X-High: \xe9", "Content-Length: 0")]
    with gateway.connect() as connection:
        for wire in sound:
            connection.send(wire)
            assert connection.read_response().status == 200, wire
    assert upstream.effects() == len(sound)
