"""A private NATS server with JetStream from Debian's package, and as much of its protocol as the
tests need to publish and to look."""

import base64
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import time

from harness.ports import free_port

START_SECONDS = 30


def unprivileged():
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class NatsServer:
    """`start()` may be called again after `kill9()`: the streams are kept until `discard()`."""

    def __init__(self, certificate=None, authority=None, credentials=None):
        """With a certificate it speaks TLS only; the authority is whom its clients here believe.
        Credentials are a name and a password; they may be changed before it is started again."""
        self.credentials = credentials
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-nats-"))
        self._tls, self._context = [], None
        if certificate:
            for name, path in (("cert", certificate.cert), ("key", certificate.key)):
                shutil.copy(path, self.folder / name)
                os.chmod(self.folder / name, 0o644)
            self._tls = ["--tls", "--tlscert", str(self.folder / "cert"), "--tlskey",
                         str(self.folder / "key")]
            self._context = authority.client_context()
            self._context.check_hostname = False  # a test may give it a wrong one
        if ids := unprivileged():
            os.chown(self.folder, ids["user"], ids["group"])
        self.port = free_port()
        self.process = None

    @property
    def url(self):
        who = "{}:{}@".format(*self.credentials) if self.credentials else ""
        return f"{'tls' if self._tls else 'nats'}://{who}127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            ["nats-server", "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd",
             str(self.folder / "data"), "-l", str(self.folder / "log"), *self._tls,
             *(["--user", self.credentials[0], "--pass", self.credentials[1]]
               if self.credentials else [])],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            **unprivileged())
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with self.connect() as client:
                    client.request("$JS.API.INFO")
                return self
            except (OSError, AssertionError):
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.02)  # the server says nowhere else that it takes connections

    def connect(self):
        return NatsClient(self.port, self._context, self.credentials)

    def kill9(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def discard(self):
        self.kill9()
        shutil.rmtree(self.folder, ignore_errors=True)


class NatsClient:
    def __init__(self, port, context=None, credentials=None):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        if context:
            while not self._socket.recv(4096).endswith(b"\r\n"):  # INFO; then TLS begins
                pass
            self._socket = context.wrap_socket(self._socket, server_hostname="127.0.0.1")
            self._stream = self._socket.makefile("rwb")
        else:
            self._stream = self._socket.makefile("rwb")
            assert self._stream.readline().startswith(b"INFO ")
        about = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}
        if credentials:
            about["user"], about["pass"] = credentials
        self._send(f"CONNECT {json.dumps(about)}\r\nPING\r\n".encode())
        assert self._stream.readline() == b"PONG\r\n"
        self._inbox = "_INBOX.test.%d" % self._socket.getsockname()[1]
        self._send(f"SUB {self._inbox}.* 1\r\n".encode())
        self._asked = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._stream.close()

    def _send(self, data):
        self._stream.write(data)
        self._stream.flush()

    def _read(self):
        """The subject and body of the next message for us."""
        while True:
            line = self._stream.readline()
            assert line, "the server has closed the connection"
            words = line.split()
            if words[0] == b"PING":
                self._send(b"PONG\r\n")
            elif words[0] in (b"MSG", b"HMSG"):
                size = int(words[-1])
                headers = int(words[-2]) if words[0] == b"HMSG" else 0
                data = self._stream.read(size + 2)
                return words[1].decode(), data[headers:-2]
            else:
                assert words[0] in (b"PONG", b"+OK", b"INFO"), line

    def _frame(self, subject, body, headers, reply):
        lines = "".join(f"{n}: {v}\r\n" for n, v in headers.items())
        head = f"NATS/1.0\r\n{lines}\r\n".encode() if headers else b""
        verb = f"HPUB {subject} {reply} {len(head)} {len(head) + len(body)}\r\n" if headers else \
            f"PUB {subject} {reply} {len(body)}\r\n"
        return verb.encode() + head + body + b"\r\n"

    def request(self, subject, body=b"", headers=()):
        self._asked += 1
        reply = f"{self._inbox}.{self._asked}"
        self._send(self._frame(subject, body, dict(headers), reply))
        while True:
            answered, data = self._read()
            if answered == reply:
                assert data, f"nobody answers {subject}"
                return json.loads(data)

    def ask(self, call, **config):
        answer = self.request(f"$JS.API.{call}", json.dumps(config).encode() if config else b"")
        assert "error" not in answer, answer
        return answer

    def publish_all(self, subject, messages):
        """Each is (headers, body). Returns when the stream has them."""
        return len(self._request_all(subject, messages))

    def ask_all(self, call, configs):
        """The answers, in the order of the questions."""
        return self._request_all(f"$JS.API.{call}",
                                 [({}, json.dumps(config).encode()) for config in configs])

    def _request_all(self, subject, messages):
        answers = {}
        first = self._asked + 1
        for at in range(0, len(messages), 500):
            batch = messages[at:at + 500]
            data = b""
            for headers, body in batch:
                self._asked += 1
                data += self._frame(subject, body, headers, f"{self._inbox}.{self._asked}")
            self._send(data)
            for _ in batch:
                to, answer = self._read()
                answer = json.loads(answer)
                assert "error" not in answer, answer
                answers[int(to.rpartition(".")[2])] = answer
        return [answers[number] for number in range(first, self._asked + 1)]


class Stream:
    """A stream with the subject `name`, and one for its dead letters."""

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.dead = f"{name}-dead"
        self._create(self.name)
        self.make_dead()

    def _create(self, stream):
        with self.server.connect() as client:
            client.ask(f"STREAM.CREATE.{stream}", name=stream, subjects=[stream], storage="file",
                       retention="limits", discard="old", num_replicas=1, max_consumers=-1,
                       max_msgs=-1, max_bytes=-1, max_age=0)

    def make_dead(self):
        self._create(self.dead)

    def delete_dead(self):
        with self.server.connect() as client:
            client.ask(f"STREAM.DELETE.{self.dead}")

    def publish(self, messages):
        """Each is (id or None, body) or (id, body, headers). The id is not in Nats-Msg-Id, by which
        the server itself would remove duplicates."""
        with self.server.connect() as client:
            client.publish_all(self.name, [
                ({**({"Message-Id": i} if i is not None else {}), **(more[0] if more else {})}, body)
                for i, body, *more in messages])

    def counts(self):
        """Messages that are not acknowledged yet, and dead letters."""
        with self.server.connect() as client:
            try:
                about = client.ask(f"CONSUMER.INFO.{self.name}.semel")
                left = about["num_pending"] + about["num_ack_pending"]
            except AssertionError:  # no consumer yet
                left = client.ask(f"STREAM.INFO.{self.name}")["state"]["messages"]
            return left, client.ask(f"STREAM.INFO.{self.dead}")["state"]["messages"]

    def left(self):
        """All that is not settled."""
        return self.counts()[0]

    def redelivered(self):
        with self.server.connect() as client:
            return client.ask(f"CONSUMER.INFO.{self.name}.semel")["num_redelivered"]

    def take_dead(self):
        """Every dead letter: (headers by lower-case name, body)."""
        return self.read(self.dead)

    def read(self, name=None):
        """Everything in the stream, in its order: (headers by lower-case name, body)."""
        name = name or self.name
        with self.server.connect() as client:
            state = client.ask(f"STREAM.INFO.{name}")["state"]
            if state["messages"] == 0:
                return []
            numbers = range(state["first_seq"], state["last_seq"] + 1)
            return [self._kept(answer["message"]) for answer in client.ask_all(
                f"STREAM.MSG.GET.{name}", [{"seq": number} for number in numbers])]

    @staticmethod
    def _kept(message):
        lines = base64.b64decode(message.get("hdrs", "")).decode().split("\r\n")[1:]
        headers = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return headers, base64.b64decode(message.get("data", ""))
