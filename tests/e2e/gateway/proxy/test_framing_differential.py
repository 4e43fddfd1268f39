"""Hostile framings through Semel to real servers: what Semel took for one request, nginx and Node
read as that request, with the same method, target, fields and body, and nothing besides."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import TESTS
from harness.clients.hostile_framings import framings
from harness.clients.http_client import TIMEOUT, Connection, ConnectionEnded
from harness.semel import Gateway, eventually, new_key

PEERS = TESTS / "harness/peers"
FRAMINGS = framings()
# Every framing comes to each server behind Semel, with and without a key, and to each directly.
BEHIND = ("node", "nginx")
# Others may be refused by a server, as sound as they are.
KNOWN_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
REFUSALS = {400, 404, 408, 413, 414, 417, 431, 501, 505}
NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  client_max_body_size 0;
  underscores_in_headers on; ignore_invalid_headers off; large_client_header_buffers 8 64k;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
  proxy_ignore_client_abort on; proxy_next_upstream off; keepalive_requests 100000;
  server {{
    listen 127.0.0.1:{behind};
    location / {{ proxy_pass http://127.0.0.1:{behind_recorder}; }}
  }}
  server {{
    listen 127.0.0.1:{direct};
    location / {{ proxy_pass http://127.0.0.1:{direct_recorder}; }}
  }}
}}
"""


def program(name):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/usr/bin")
    assert path, f"{name} is needed here; scripts/setup installs it"
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Servers:
    """Node, and nginx in front of Node, each once behind Semel and once to be asked directly. What
    nginx read it passes on to a recorder of its own."""

    def __init__(self):
        names = ["node", "nginx", "node direct", "nginx direct"]
        self._node = subprocess.Popen(
            [program("node"), str(PEERS / "framing_recorder.js"), *names],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ports = json.loads(self._node.stdout.readline())["ports"]
        self.said = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._folder = tempfile.mkdtemp(prefix="semel-nginx-")
        self.ports = {"node": ports["node"], "node direct": ports["node direct"]}
        self._nginx = None
        eventually(lambda: self._start_nginx(ports))

    def _start_nginx(self, recorders):
        """False: somebody else took a port in between."""
        self.ports.update({"nginx": free_port(), "nginx direct": free_port()})
        config = pathlib.Path(self._folder, "nginx.conf")
        config.write_text(NGINX.format(
            folder=self._folder, behind=self.ports["nginx"], direct=self.ports["nginx direct"],
            behind_recorder=recorders["nginx"], direct_recorder=recorders["nginx direct"]))
        self._nginx = subprocess.Popen(
            [program("nginx"), "-p", self._folder, "-c", str(config), "-e",
             f"{self._folder}/error.log"], stderr=subprocess.DEVNULL)
        eventually(lambda: self._nginx.poll() is not None or
                   (self._accepts("nginx") and self._accepts("nginx direct")))
        return self._nginx.poll() is None

    def _accepts(self, name):
        try:
            socket.create_connection(("127.0.0.1", self.ports[name])).close()
            return True
        except ConnectionRefusedError:
            return False

    def _read(self):
        for line in self._node.stdout:
            self.said.append(json.loads(line))

    def end(self):
        """Ends them; afterwards everything that they read has been said."""
        self._nginx.send_signal(signal.SIGQUIT)
        try:
            self._nginx.wait(TIMEOUT)
        finally:
            self._nginx.kill()
            self._node.stdin.close()
            try:
                self._node.wait(TIMEOUT)
            finally:
                self._node.kill()
                self._reader.join()
                self._node.stdout.close()
                shutil.rmtree(self._folder, ignore_errors=True)


# --- a strict reading -----------------------------------------------------------------------------


class Malformed(Exception):
    pass


TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
FIELD = re.compile(rb"(" + TOKEN + rb"):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[ \t\x21-\x7e\x80-\xff]*"
                   rb"[\x21-\x7e\x80-\xff])?)?)[ \t]*")


def read_fields(wire):
    fields = []
    while True:
        line, found, wire = wire.partition(b"\r\n")
        if not found:
            raise Malformed("the head does not end")
        if not line:
            return fields, wire
        match = FIELD.fullmatch(line)
        if not match:
            raise Malformed(f"a field {line[:40]!r}")
        fields.append((match[1].lower(), match[2]))


def read_chunks(wire):
    body = b""
    while True:
        line, found, wire = wire.partition(b"\r\n")
        match = re.fullmatch(rb"([0-9a-fA-F]{1,})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?", line)
        if not found or not match:
            raise Malformed(f"a chunk's size {line[:40]!r}")
        size = int(match[1], 16)
        if size == 0:
            return body, read_fields(wire)[1]
        body += wire[:size]
        if size >= 1 << 63 or wire[size:size + 2] != b"\r\n":
            raise Malformed("a chunk's end")
        wire = wire[size + 2:]


def read_request(wire):
    """Method, target and body of the first request as RFC 9112 has it at its strictest, and what
    comes after it."""
    line, found, rest = wire.partition(b"\r\n")
    match = re.fullmatch(rb"(" + TOKEN + rb") ([\x21-\x7e]+) HTTP/1\.([01])", line)
    if not found or not match:
        raise Malformed(f"a request line {line[:40]!r}")
    fields, rest = read_fields(rest)
    lengths = [value for name, value in fields if name == b"content-length"]
    codings = [value.lower() for name, value in fields if name == b"transfer-encoding"]
    hosts = [value for name, value in fields if name == b"host"]
    if len(hosts) > 1 or (not hosts and match[3] == b"1"):
        raise Malformed("not one Host")
    if len(lengths) + len(codings) > 1 or codings not in ([], [b"chunked"]):
        raise Malformed("not one length")
    if codings and match[3] == b"0":
        raise Malformed("chunks in HTTP/1.0")
    body = b""
    if codings:
        body, rest = read_chunks(rest)
    elif lengths:
        if not re.fullmatch(rb"[0-9]+", lengths[0]) or int(lengths[0]) > len(rest):
            raise Malformed("a length")
        body, rest = rest[:int(lengths[0])], rest[int(lengths[0]):]
    return (match[1].decode(), match[2].decode(), body.decode("latin-1")), rest


def strict_requests(wire):
    """The requests of a stream up to the first that is malformed."""
    requests = []
    try:
        while wire:
            request, wire = read_request(wire)
            requests.append(request)
    except Malformed:
        pass
    return requests


def origin_form(target):
    """The target as Semel sends it on, for the spellings that are tried here."""
    target = re.sub(r"^https?://[^/?]*", "", target)
    path, mark, query = target.partition("?")
    path = re.sub("/+", "/", path)
    path = re.sub("%(78|2d)", lambda found: chr(int(found[1], 16)), path)
    path = re.sub("%[0-9a-f]{2}", lambda found: found[0].upper(), path)
    return path + mark + query


# --- the exchange ---------------------------------------------------------------------------------


def converse(address, wire):
    """Everything that is answered to the stream, and whether the answers end where they should."""
    answers = []
    with Connection(address) as connection:
        try:
            connection.send(wire)
            connection.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it need not read what it refuses
        methods = re.findall(rb"(?:^|\r\n)(HEAD) ", wire)
        try:
            while True:
                # An answer to HEAD has no body; in these streams a HEAD comes first.
                is_head = not answers and methods and wire.startswith(b"HEAD ")
                answers.append(connection.read_response("HEAD" if is_head else "POST"))
        except ConnectionEnded as ended:
            return answers, "in a line: b''" in str(ended)


class Trial:
    """One framing on its way to one server, with a key or without."""

    def __init__(self, name, at, keyed, number):
        self.name, self.at, self.keyed = name, at, keyed
        self.label = f"{name} → {at}" + (", keyed" if keyed else "")
        self.path = f"/{at.replace(' ', '-')}/{number}{'k' if keyed else 'p'}"
        self.smuggled = f"/{at.replace(' ', '-')}/smuggled/{number}{'k' if keyed else 'p'}"
        key = b"Idempotency-Key: %s\r\n" % new_key().encode() if keyed else b""
        wire = FRAMINGS[name].replace(b"{T}", self.path.encode()).replace(
            b"{S}", self.smuggled.encode())
        # Another key for every request of the stream: they differ.
        while b"{K}" in wire:
            wire = wire.replace(b"{K}", key, 1)
            key = b"Idempotency-Key: %s\r\n" % new_key().encode() if keyed else b""
        self.wire = wire
        self.answers, self.is_clean = [], True

    def run(self, address):
        self.answers, self.is_clean = converse(address, self.wire)

    @property
    def passed(self):
        return [answer for answer in self.answers if answer.body == b"read" or
                (answer.status == 200 and self.wire.startswith(b"HEAD "))]


def fields_of(request):
    """Returns the fields of a request that a server saw, without those that each hop writes by itself
    and those that differ from request to request."""
    own = ("connection", "transfer-encoding", "content-length", "idempotency-key")
    return sorted((name, re.sub("/(node|nginx)/", "/", value)) for name, value in request["headers"]
                  if name not in own and not name.startswith("semel-"))


def divergences(trial, seen):
    """Compares the requests that the server read, `seen`, with those that Semel read: each has one
    answer, and the server reads each request passed on as a strict reader does."""
    read = [(r["method"], r["target"], r["body"]) for r in seen]
    strict = [(method, origin_form(target), body)
              for method, target, body in strict_requests(trial.wire)]
    passed = []
    for number, answer in enumerate(trial.answers):
        request = strict[number] if number < len(strict) else None
        is_last = number + 1 == len(trial.answers)
        if answer.header("Content-Type") == "application/problem+json":
            if answer.status not in REFUSALS:
                yield f"refused oddly: {answer}"
            if not request and not (is_last and trial.is_clean):
                yield f"not closed after what is malformed: {answer}"
        elif answer in trial.passed:
            passed.append(request)
        elif not request or request[0] in KNOWN_METHODS or answer.status not in (400, 405):
            yield f"the server refused what it was sent: {answer}"
    if read != passed:
        yield f"read {read}, answered {passed}, strictly it is {strict}"
    if not trial.is_clean:
        yield "the last answer was cut"


@pytest.fixture(scope="module")
def outcome():
    servers = Servers()
    trials = [Trial(name, at, keyed, number) for number, name in enumerate(FRAMINGS)
              for at in BEHIND for keyed in (False, True)]
    direct = [Trial(name, at + " direct", False, number) for number, name in enumerate(FRAMINGS)
              for at in BEHIND]
    routes = [{"name": at, "path": f"/{at}/*", "methods": ["POST", "PATCH", "PUT"],
               "upstream": f"http://127.0.0.1:{servers.ports[at]}"} for at in BEHIND]
    gateway = Gateway(routes, store="memory", limits={"header_bytes": "32KiB"})
    try:
        gateway.start()
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda trial: trial.run(gateway.address), trials))
            list(pool.map(lambda trial: trial.run(("127.0.0.1", servers.ports[trial.at])), direct))
    finally:
        gateway.discard()
        servers.end()
    return trials, direct, servers.said


def trial_number(at, target):
    """Which trial's stream a request came from, wherever its server was led by it."""
    folder = at.replace(" ", "-")
    found = re.match(rf"(?:https?://[^/]*)?/*{folder}/+(?:smuggled/)?(\d+[kp])(?!\d)", target)
    return found and found[1]


class Seen:
    """The whole requests of every trial's stream, as its server read them."""

    def __init__(self, said):
        self._by_trial = {}
        self.strays = []
        for line in said:
            if "request" not in line:
                continue
            number = trial_number(line["at"], line["request"]["target"])
            if number is None:
                self.strays.append(line)
            self._by_trial.setdefault((line["at"], number), []).append(line["request"])

    def of(self, trial):
        return self._by_trial.get((trial.at, trial.path.rsplit("/", 1)[1]), [])


def test_hostile_framings_are_read_alike_by_nginx_and_node(outcome):
    trials, _, said = outcome
    assert len(FRAMINGS) >= 300
    seen = Seen(said)
    found = []
    for trial in trials:
        found += [f"{trial.label}: {what}" for what in divergences(trial, seen.of(trial))]
    assert found == [], f"{len(found)} divergences:\n" + "\n".join(found)
    assert [stray for stray in seen.strays if stray["at"] in BEHIND] == []
    refused = {s["refused"] for s in said if "refused" in s and s["at"] in BEHIND}
    # The end in the middle of a body is how an upload that broke off is told.
    assert refused <= {"HPE_INVALID_METHOD", "HPE_INVALID_EOF_STATE"}
    # The instrument works: many framings are sound, and their requests did arrive.
    assert sum(len(trial.passed) for trial in trials) > 400


def test_both_servers_see_the_same_fields(outcome):
    trials, _, said = outcome
    seen = Seen(said)
    views = {}
    for trial in trials:
        for request in seen.of(trial):
            if request["method"] in KNOWN_METHODS:
                path = request["target"].replace(f"/{trial.at}/", "/", 1)
                views.setdefault((trial.name, trial.keyed, path), []).append(fields_of(request))
    differing = {where: both for where, both in views.items()
                 if len(both) % 2 or both[:len(both) // 2] != both[len(both) // 2:]}
    assert differing == {}
    assert len(views) > 400


def test_what_both_servers_refuse_is_not_taken_as_something_else(outcome):
    """Directly, both close or answer 4xx; through Semel the stream's first request is executed."""
    trials, direct, said = outcome
    seen = Seen(said)
    taken = {trial.name for trial in trials if trial.answers and trial.answers[0] in trial.passed}
    refused = [{trial.name for trial in direct if trial.at == at and not seen.of(trial)}
               for at in ("node direct", "nginx direct")]
    # A tab after a value is blank like any other (RFC 9110, 5.6.3); neither server believes it.
    assert taken & set.intersection(*refused) <= {name for name in FRAMINGS if "tab after" in name}
