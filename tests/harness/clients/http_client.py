"""An HTTP/1.1 client at socket level: sends exactly the bytes it is given and shows exactly what
came back. Nothing is retried, repaired or added behind the test's back."""

import json as jsonlib
import os
import socket
import ssl
import struct

TIME_SCALE = float(os.environ.get("SEMEL_TIME_SCALE") or
                   (3 if os.environ.get("SEMEL_SANITIZER") else 1))
TIMEOUT = 20 * TIME_SCALE


class ConnectionEnded(Exception):
    """The peer closed or reset the connection where a response, or the rest of one, was due."""

    def __init__(self, message, response=None):
        super().__init__(message)
        self.response = response  # what had arrived of it


class Response:
    """A response; `body` is whole once finish() returned."""

    def __init__(self, connection, version, status, reason, headers, interim, method):
        self._connection = connection
        self.version, self.status, self.reason = version, status, reason
        self.headers = headers  # [(name, value)] in order, names as sent
        self.interim = interim  # the statuses of the 1xx answers before it
        self.trailers = []
        self.body = b""
        self._pieces = self._framing(method)

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:400]!r}>"

    def all(self, name):
        return [value for n, value in self.headers if n.lower() == name.lower()]

    def header(self, name):
        values = self.all(name)
        assert len(values) <= 1, f"{name} came {len(values)} times: {self!r}"
        return values[0] if values else None

    def json(self):
        return jsonlib.loads(self.body)

    @property
    def effect(self):
        """The number of the effect, as the test upstream put it into its answer."""
        return self.json()["effect"]

    @property
    def replayed(self):
        return self.header("Idempotency-Replayed") == "true"

    def piece(self):
        """The next piece of the body as it arrives; b"" at its end."""
        data = next(self._pieces, b"")
        self.body += data
        return data

    def read_until(self, marker):
        while marker not in self.body:
            if not self.piece():
                raise AssertionError(f"the body ended before {marker!r}: {self!r}")
        return self.body

    def finish(self):
        pieces = [self.body]
        try:
            pieces.extend(self._pieces)
        finally:
            self.body = b"".join(pieces)
        return self

    def _framing(self, method):
        if method == "HEAD" or self.status in (204, 304):
            return iter(())
        if self.all("Transfer-Encoding"):
            assert self.header("Transfer-Encoding").lower() == "chunked"
            assert not self.all("Content-Length"), "both lengths in one response"
            return self._chunked()
        if self.all("Content-Length"):
            return self._counted(int(self.header("Content-Length")))
        return self._to_end()

    def _counted(self, left):
        while left:
            data = self._connection.some(min(left, 1 << 20))
            if not data:
                raise ConnectionEnded(f"{left} bytes of the body missing", self)
            left -= len(data)
            yield data

    def _chunked(self):
        while True:
            size = int(self._connection.line(self).split(b";")[0], 16)
            if size == 0:
                break
            yield from self._counted(size)
            assert self._connection.line(self) == b""
        while line := self._connection.line(self):
            self.trailers.append(split_field(line))

    def _to_end(self):
        while data := self._connection.some(1 << 20):
            yield data


def split_field(line):
    name, _, value = line.decode("latin-1").partition(":")
    return name, value.strip(" \t")


class Connection:
    def __init__(self, address, timeout=TIMEOUT, source=None, tls=None, server_name="semel.test"):
        """`tls`: an ssl.SSLContext, or None for a plain connection."""
        self.socket = socket.create_connection(
            address, timeout=timeout, source_address=(source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=server_name,
                                          suppress_ragged_eofs=False)
        self._buffer = b""
        self.said_goodbye = True  # over TLS: the connection did not just break off

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection with RST, as a crashed client's kernel would."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def some(self, limit):
        """Up to `limit` bytes; b"" at the end of the connection, however it ended."""
        if not self._buffer:
            try:
                self._buffer = self.socket.recv(1 << 18)
            except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
                self.said_goodbye = False
                return b""
        data, self._buffer = self._buffer[:limit], self._buffer[limit:]
        return data

    def line(self, response=None):
        line = b""
        while not line.endswith(b"\r\n"):
            if not self._buffer and not self._more():
                raise ConnectionEnded(f"the connection ended in a line: {line!r}", response)
            end = self._buffer.find(b"\n") + 1 or len(self._buffer)
            line, self._buffer = line + self._buffer[:end], self._buffer[end:]
        return line[:-2]

    def _more(self):
        data = self.some(1 << 18)
        self._buffer = data + self._buffer
        return bool(data)

    def begin_response(self, method="POST"):
        """Reads a response's head; its body is read by piece() or finish()."""
        interim = []
        while True:
            version, _, rest = self.line().decode("latin-1").partition(" ")
            status, _, reason = rest.partition(" ")
            headers = []
            while line := self.line():
                headers.append(split_field(line))
            if not 100 <= int(status) < 200 or int(status) == 101:
                return Response(self, version, int(status), reason, headers, interim, method)
            interim.append(int(status))

    def read_response(self, method="POST"):
        return self.begin_response(method).finish()

    def request(self, method, target, body=b"", headers=(), **more):
        self.send(request_bytes(method, target, body, headers, **more))
        return self.read_response(method)

    def ended(self, timeout=TIMEOUT):
        """Whether the peer closes the connection within `timeout`, without another byte."""
        self.socket.settimeout(timeout)
        try:
            return not self.some(1)
        except TimeoutError:
            return False


def field_list(headers):
    """Headers as a dict (a value may be a list: the field is repeated) or a list of pairs."""
    pairs = headers.items() if isinstance(headers, dict) else headers
    for name, value in pairs:
        for one in value if isinstance(value, list) else [value]:
            yield name, one


def request_bytes(method, target, body=b"", headers=(), key=None, test=None, host="semel.test",
                  chunked=False, json=None):
    """One request. `key` goes into Idempotency-Key as it is; `test` scripts the test upstream."""
    fields = [("Host", host)] if host else []
    if json is not None:
        body = jsonlib.dumps(json).encode()
        fields.append(("Content-Type", "application/json"))
    if key is not None:
        fields.append(("Idempotency-Key", key))
    if test is not None:
        fields.append(("X-Test", test))
    fields += field_list(headers)
    given = {name.lower() for name, _ in fields}
    if chunked:
        fields.append(("Transfer-Encoding", "chunked"))
        body = chunks(body)
    elif "content-length" not in given and (body or method in ("POST", "PATCH", "PUT")):
        fields.append(("Content-Length", str(len(body))))
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields)
    return head.encode("latin-1") + b"\r\n" + body


def chunks(body, size=4096, trailers=()):
    """The body in chunked transfer coding."""
    out = []
    for at in range(0, len(body), size):
        piece = body[at:at + size]
        out.append(b"%x\r\n%s\r\n" % (len(piece), piece))
    out.append(b"0\r\n" + b"".join(f"{n}: {v}\r\n".encode() for n, v in trailers) + b"\r\n")
    return b"".join(out)
