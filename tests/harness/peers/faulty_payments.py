"""A payments API with idempotency keys, right unless one fault is planted. /FAULT/charges takes payments, /FAULT/count says
how many were made; `right`, `waits`, `answers-202`, `silent` and `hit-or-miss` have no fault, and `plain…` knows nothing of keys. One process serves every fault.

    python3 -m harness.peers.faulty_payments      prints its port
"""
import email.utils
import json
import os
import socket
import socketserver
import sys
import threading
import time

CALLERS = {"Bearer alice": "alice", "Bearer bob": "bob"}
TTL = 2.0          # on /FAULT/short-lived
WORK = 0.004       # so that requests of a race meet
KEY_MAX = 255
TYPE = "application/json"


class Refused(Exception):
    def __init__(self, status, why, body=True):
        super().__init__(why)
        self.answer = Answer(status, problem(status, why) if body else b"", [("Content-Type", "application/problem+json")])


class Answer:
    def __init__(self, status, body=b"", fields=()):
        self.status, self.body, self.fields = status, body, list(fields)
        self.date = email.utils.formatdate(usegmt=True)


class Record:
    def __init__(self, fingerprint):
        self.fingerprint = fingerprint
        self.answer = None
        self.contested = False
        self.claimed = time.monotonic()
        self.done_at = None
        self.done = threading.Event()


def problem(status, why):
    return json.dumps({"title": why, "status": status}).encode()


def parsed_string(text):
    """The value of an RFC 9651 String, whose parameters are ignored."""
    out, rest = "", text[1:]
    while rest:
        c, rest = rest[0], rest[1:]
        if c == '"':
            if rest and not rest.startswith(";"):
                raise Refused(400, "bad key")
            return out
        if c == "\\":
            if not rest or rest[0] not in '"\\':
                raise Refused(400, "bad key")
            c, rest = rest[0], rest[1:]
        out += c
    raise Refused(400, "bad key")


class Api:
    """One payments API with one fault."""

    def __init__(self, fault):
        self.fault = fault
        self.lock = threading.Lock()
        self.records, self.second_node, self.refused = {}, {}, {}
        self.charges, self.made, self.named, self.flaked = {}, 0, 0, set()
        self.running = 0
        self.connections = 0

    def has(self, fault):
        return self.fault == fault

    # --- the effect -------------------------------------------------------------------------------

    def charge(self, request):
        if request.method == "DELETE":
            found = self.charges.pop(request.path.rsplit("/", 1)[1], None)
            return Answer(200, b'{"deleted": true}', [("Content-Type", TYPE)]) if found else Answer(404)
        try:
            order = json.loads(request.body or b"{}")
        except ValueError:
            return Answer(400, problem(400, "no JSON"))
        time.sleep(order.get("slow", WORK))
        if order.get("declined"):
            return Answer(402, problem(402, "declined"), [("Content-Type", TYPE)])
        if order.get("broken"):
            return Answer(500, problem(500, "broken"), [("Content-Type", TYPE)])
        with self.lock:
            if order.get("flaky") and order["flaky"] not in self.flaked:
                self.flaked.add(order["flaky"])
                return Answer(503, problem(503, "later"), [("Content-Type", TYPE)])
            self.named += 1
            self.made += not self.has("pretends")
            name = f"ch_{self.named}"
            self.charges[name] = order
        if self.has("silent"):
            return Answer(204)
        answer = {"id": name, "amount": order.get("amount"), "state": "new"}
        if order.get("large"):
            answer["padding"] = "x" * order["large"]
        status = [("Idempotency-Status", "miss")] if self.has("hit-or-miss") else []
        return Answer(202 if self.has("answers-202") else 201, json.dumps(answer).encode(),
                      [("Content-Type", TYPE), ("Location", f"/charges/{name}"), ("Set-Cookie", f"seen={name}"), *status])

    # --- the layer --------------------------------------------------------------------------------

    def key_of(self, request):
        name = "Idempotency-Key"
        values = [value for field, value in request.fields if field == name or
                  (field.lower() == name.lower() and not self.has("name-case-sensitive"))]
        if not values:
            if self.has("missing-key-passes"):
                return None
            raise Refused(400, "a key is required", body=not self.has("missing-says-nothing"))
        if len(values) > 1 and not self.has("first-of-many"):
            raise Refused(400, "one key only")
        text = values[0]
        if text in ("", '""'):
            if self.has("empty-key-shared"):
                return ""
            raise Refused(400, "an empty key")
        if not all(0x21 <= ord(c) <= 0x7e for c in text):
            raise Refused(500 if self.has("bad-key-500") else 400, "bad key")
        if text.startswith('"'):
            if self.has("quoted-refused"):
                raise Refused(400, "no quotes")
            text = parsed_string(text) if not self.has("escapes-merged") else text.replace('\\"', "?").replace("\\\\", "?")[1:-1]
        if len(text) > KEY_MAX:
            raise Refused(500 if self.has("long-key-500") else 400, "too long")
        if self.has("key-truncated"):
            text = text[:32]
        return text.lower() if self.has("key-case-folded") else text

    def fingerprint(self, request):
        path, _, query = request.path.partition("?")
        return (request.method if not self.has("method-blind") else "",
                path if not self.has("path-blind") else "", query if not self.has("query-blind") else "",
                request.body, request.field("Accept-Encoding") if self.has("header-fingerprint") else "")

    def books(self, request):
        """Where the records are that this request sees."""
        if self.has("two-nodes") and request.connection % 2:
            return self.second_node
        return self.records

    def name_of(self, key, tenant, request):
        if self.has("body-is-key"):
            return request.body
        if self.has("per-connection"):
            return (request.connection, key)
        return (key,) if self.has("tenant-blind") else (tenant, key)

    def find(self, name, key, request):
        books = self.books(request)
        found = books.get(name)
        if not found and self.has("wildcard-key") and key[-1:] in "*%":
            found = next((record for (_, other), record in books.items() if other.startswith(key[:-1])), None)
        if not found:
            return None
        if found.answer and "short-lived" in request.path and not self.has("never-expires"):
            if time.monotonic() - found.done_at > (TTL / 2 if self.has("forgets-early") else TTL):
                return None
        if not found.answer and self.has("lock-expires") and time.monotonic() - found.claimed > 0.15:
            return None
        return found

    def mismatch(self, record, name, request):
        """The answer to another request with a used key; None: execute it."""
        if self.has("mismatch-executes") or (self.has("in-flight-mismatch-executes") and not record.answer):
            return None
        if self.has("mismatch-poisons"):
            record.fingerprint = self.fingerprint(request)
        if self.has("mismatch-clears"):
            self.books(request).pop(name, None)
        if self.has("mismatch-409"):
            return Answer(409, problem(409, "other payload"), [("Content-Type", TYPE)])
        if self.has("mismatch-says-nothing"):
            return Answer(422)
        why = "other payload"
        if self.has("mismatch-leaks") and record.answer:
            why += ": the first got " + record.answer.body.decode()
        return Answer(422, problem(422, why), [("Content-Type", TYPE)])

    def replay(self, kept):
        answer = Answer(kept.status, kept.body, [field for field in kept.fields if field[0] != "Set-Cookie"])
        if self.has("cookie-replayed"):
            answer.fields = list(kept.fields)
        if self.has("hit-or-miss"):
            answer.fields = [field for field in answer.fields if field[0] != "Idempotency-Status"] + [("Idempotency-Status", "hit")]
        elif not self.has("no-marker"):
            answer.fields.append(("Idempotent-Replayed", "true"))
        if self.has("status-lost") and kept.status < 300:
            answer.status = 200
        if self.has("error-status-lost") and kept.status == 402:
            answer.status = 400
        if self.has("headers-lost"):
            answer.fields = [field for field in answer.fields if field[0] not in ("Location", "Content-Type")]
        if self.has("body-rebuilt") and len(kept.body) < 1000:
            answer.body = json.dumps(json.loads(kept.body), indent=1).encode()
        if self.has("current-state") and kept.status == 201:
            answer.body = kept.body.replace(b'"new"', b'"settled"')
        if self.has("stored-truncated"):
            answer.body = kept.body[:20000]
        if self.has("date-replayed"):
            answer.date = kept.date
        return answer

    def busy(self, record):
        if self.fault == "waits" or self.has("waiter-gets-empty"):
            record.done.wait(10)
            if self.has("waiter-gets-empty"):
                return Answer(200)
            return self.replay(record.answer) if record.answer else Answer(409, problem(409, "busy"))
        record.contested = True
        if self.has("loser-gets-500"):
            return Answer(500, problem(500, "unique_violation"))
        fields = [] if self.has("no-retry-after") else [("Retry-After", "1")]
        return Answer(409, problem(409, "busy"), fields)

    def admit(self, name, key, request):
        """A new record to execute under, or an answer; a record that is not kept if the fault says so."""
        fingerprint = self.fingerprint(request)
        with self.lock:
            record = self.find(name, key, request)
            if record is None:
                if self.has("one-at-a-time") and self.running:
                    return None, Answer(409, problem(409, "busy"), [("Retry-After", "1")])
                if not self.has("check-then-act"):
                    record = self.books(request)[name] = Record(fingerprint)
                    return record, None
        if record is None:
            time.sleep(0.03)
            with self.lock:
                record = self.books(request)[name] = Record(fingerprint)
            return record, None
        with self.lock:
            differs = record.fingerprint not in (None, fingerprint)
            if differs and not (self.has("mismatch-replays") and record.fingerprint[:3] == fingerprint[:3]):
                answer = self.mismatch(record, name, request)
                return (Record(fingerprint), None) if answer is None else (None, answer)
        if not record.answer:
            return None, self.busy(record)
        return None, self.replay(record.answer)

    def finish(self, record, name, answer, request):
        gone = request.is_gone()
        if (self.has("stuck-after-disconnect") and gone) or (self.has("duplicate-sticks") and record.contested):
            return
        keep = answer.status not in (500, 503) or self.has("503-pinned")
        with self.lock:
            if not keep or (self.has("gone-forgets") and gone):
                self.books(request).pop(name, None)
            else:
                record.done_at = time.monotonic()
                record.answer = answer
        record.done.set()

    def answer_keyed(self, key, tenant, request):
        name = self.name_of(key, tenant, request)
        record, answer = self.admit(name, key, request)
        if answer:
            return answer, None
        with self.lock:
            self.running += 1
        answer = self.charge(request)
        with self.lock:
            self.running -= 1
        if self.has("stored-after-sent"):
            timer = threading.Timer(0.15, self.finish, (record, name, answer, request))
            timer.daemon = True
            timer.start()
        else:
            self.finish(record, name, answer, request)
        return answer, name

    def answer(self, request):
        """The answer, and the record's name if it was executed."""
        page = request.path.partition("?")[0].split("/")[2]
        if page == "count":
            return Answer(200, json.dumps({"charges": {"made": self.made}}).encode()), None
        if page == "restart":
            if self.has("restart-forgets"):
                self.records.clear()
            return Answer(200), None
        tenant = CALLERS.get(request.field("Authorization"))
        if self.fault.startswith("plain") or self.has("keys-ignored"):
            if tenant is None:
                return Answer(401, problem(401, "who?")), None
            return (self.charge(request), None) if request.method != "GET" else (Answer(200, b'{"list": []}'), None)
        try:
            if request.method == "GET" and not self.has("get-uses-key"):
                return Answer(200, b'{"list": []}', [("Content-Type", TYPE)]), None
            if tenant is None:
                return self.unauthorized(request), None
            key = self.key_of(request)
            if self.has("pipelined-executes") and request.has_next:
                return self.charge(request), None
            if key is None or (self.has("delete-ignores-key") and request.method == "DELETE"):
                return self.charge(request), None
            if self.has("401-stored") and key in self.refused:
                return Answer(401), None
            if request.method == "GET":
                record = self.records.get((tenant, key))
                return (self.replay(record.answer) if record else Answer(404)), None
            return self.answer_keyed(key, tenant, request)
        except Refused as refused:
            return refused.answer, None

    def unauthorized(self, request):
        key = self.key_of(request)
        if self.has("401-stored"):
            self.refused[key] = True
        if self.has("auth-after-replay"):
            for (_, other), record in self.records.items():
                if other == key and record.answer:
                    return self.replay(record.answer)
        return Answer(401, problem(401, "who?"))


class Request:
    def __init__(self, method, path, fields, body, connection, sock):
        self.method, self.path, self.fields, self.body = method, path, fields, body
        self.connection, self._sock = connection, sock
        self.has_next = False  # the next request is here already

    def field(self, name):
        return next((value for field, value in self.fields if field.lower() == name.lower()), "")

    def is_gone(self):
        try:
            return self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


APIS, APIS_LOCK = {}, threading.Lock()


def api_of(path):
    fault = path.split("/")[1]
    with APIS_LOCK:
        return APIS.setdefault(fault, Api(fault))


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        connection, executed = None, None
        try:
            while head := self.read_head():
                method, path, fields = head
                api = api_of(path)
                if connection is None:
                    with api.lock:
                        api.connections += 1
                        connection = api.connections
                request = self.read_body(api, method, path, fields, connection)
                if request is None:
                    return
                answer, executed = api.answer(request)
                self.send(answer)
                if request.field("Connection") == "close":
                    return
        except OSError:
            # The client has thrown the answer away, or a part of it.
            if executed and api.has("unread-forgets"):
                with api.lock:
                    api.records.pop(executed, None)

    def read_head(self):
        line = self.rfile.readline(65536).decode("latin-1").split(" ")
        if len(line) != 3:
            return None
        fields = []
        while True:
            raw = self.rfile.readline(65536)
            if not raw.endswith(b"\n"):
                return None
            text = raw.decode("latin-1").rstrip("\r\n")
            if not text:
                return line[0], line[1], fields
            name, _, value = text.partition(":")
            fields.append((name, value.strip(" ")))

    def read_body(self, api, method, path, fields, connection):
        request = Request(method, path, fields, b"", connection, self.connection)
        size = int(request.field("Content-Length") or 0)
        early = api.has("cut-request-claims") and method == "POST" and path.endswith("/charges")
        if early:
            name = (CALLERS.get(request.field("Authorization")), request.field("Idempotency-Key").strip('"'))
            with api.lock:
                fresh = name not in api.records
                if fresh:
                    api.records[name] = Record(None)
        request.body = self.rfile.read(size)
        if len(request.body) < size:
            return None
        self.connection.setblocking(False)
        request.has_next = bool(self.rfile.peek(1))
        self.connection.setblocking(True)
        if early and fresh:
            with api.lock:
                api.records.pop(name, None)
        return request

    def send(self, answer):
        head = f"HTTP/1.1 {answer.status} X\r\nDate: {answer.date}\r\nContent-Length: {len(answer.body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in answer.fields)
        self.wfile.write(head.encode() + b"\r\n" + answer.body)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512


if __name__ == "__main__":
    threading.stack_size(256 * 1024)
    server = Server(("127.0.0.1", 0), Connection)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until the tests end
    os._exit(0)
