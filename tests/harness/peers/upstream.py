"""The executor of the tests: a process of its own that counts its effects.

Every request but GET, HEAD, OPTIONS and TRACE is one effect, counted when its whole body has
arrived and before anything is answered. The answer is JSON with the effect's unique number. What
else happens is scripted per request by the header X-Test, words separated by "; ":

  status=503            the answer's status              header.Foo=bar   a header of it
  size=N                N fixed bytes as its body         body=text        this body
  type=text/plain       its Content-Type                  outcome=retry    Idempotency-Outcome
  chunked | nolength    instead of Content-Length         interim=103      a 1xx answer before it
  gate=NAME             wait until the test opens NAME    delay=0.2        wait that long
  echo                  stream the request's body back    early            answer before the body
  sse=3; gates=g        events; the i-th (from the 2nd) waits for gate g<i>, the end for g-end
  cut=2                 reset the stream after that many events
  close=before          close instead of answering        close=reset      reset instead
  close=mid | midreset  ... half way through the body     close=after      after the answer, said
  close=silent          after the answer, unannounced
  badchunk | garbage    a broken answer
  first=2               all of this in answer to the first 2 attempts only; later ones succeed

Values are percent-decoded. Two optional arguments: a port to listen on, and a journal, a file that gets
a line with the key and the path of each request that arrives, and so survives a kill -9. The ports are printed on stdout as one line of JSON. On the control port
one JSON object a line is answered by one: see Control.
"""

import asyncio
import base64
import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import urllib.parse

HEAD_BYTES_MAX = 1 << 20
READ_BYTES = 1 << 18
SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")


class Hangup(Exception):
    """The script says to end the connection here."""


class Script:
    def __init__(self, text):
        self.headers = []
        self._words = {}
        for word in filter(None, (w.strip() for w in text.split(";"))):
            name, _, value = word.partition("=")
            value = urllib.parse.unquote(value, encoding="latin-1")
            if name.startswith("header."):
                self.headers.append((name[len("header."):], value))
            else:
                self._words[name] = value

    def __contains__(self, name):
        return name in self._words

    def get(self, name, default=None):
        return self._words.get(name, default)


class Ledger:
    """Requests that have arrived, and their effects. Notifies `changed` of every change."""

    def __init__(self, journal=None):
        self.changed = asyncio.Condition()
        self.journal = journal and open(journal, "ab", buffering=0)
        self.open = 0
        self.effect = 0  # never goes back: an effect's number is unique in this process
        self.run = os.urandom(6).hex()
        self.forget()

    def forget(self):
        self.requests, self.raw_heads = [], []
        self.connections, self.effects = 0, 0
        self.gates = {}

    def gate(self, name):
        return self.gates.setdefault(name, asyncio.Event())

    async def note(self):
        async with self.changed:
            self.changed.notify_all()

    def count(self, what, key=None, path=None):
        if what == "open":
            return self.open
        if what == "connections":
            return self.connections
        if key is None and path is None:
            return len(self.requests) if what == "arrived" else self.effects
        return sum(1 for r in self.requests
                   if (key is None or r["key"] == key) and (path is None or r["path"] == path)
                   and (what == "arrived" or r["effect"] is not None))


class Exchange:
    """One request on a connection, and its scripted answer."""

    def __init__(self, ledger, reader, writer, raw_head, connection):
        self.ledger, self.reader, self.writer = ledger, reader, writer
        lines = raw_head.decode("latin-1").split("\r\n")
        self.method, self.target, self.version = lines[0].split(" ")
        self.headers = [(n, v.strip()) for n, _, v in (h.partition(":") for h in lines[1:] if h)]
        self.script = Script(self.header("x-test") or "")
        key = self.header("idempotency-key")
        self.entry = {
            "method": self.method, "target": self.target, "path": self.target.split("?")[0],
            "headers": self.headers, "connection": connection, "effect": None, "digest": None,
            "bytes": 0, "trailers": [], "key": key.strip('"') if key else None,
            "attempt": self.header("semel-attempt"),
        }
        if int(self.entry["attempt"] or 0) > int(self.script.get("first", "1000000")):
            self.script = Script("")
        session = writer.get_extra_info("ssl_object")
        if session:
            self.entry |= {"sni": getattr(session, "sni", None), "tls": session.version(),
                           "peer": session.getpeercert()}
        ledger.requests.append(self.entry)
        ledger.raw_heads.append(raw_head)
        if ledger.journal:
            ledger.journal.write(f"{self.entry['key']} {self.entry['path']}\n".encode())

    def header(self, name):
        return next((v for n, v in self.headers if n.lower() == name), None)

    async def body(self):
        if (self.header("transfer-encoding") or "").lower() == "chunked":
            while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                async for piece in self.counted(size):
                    yield piece
                if await self.reader.readexactly(2) != b"\r\n":
                    raise Hangup
            while (line := await self.reader.readuntil(b"\r\n")) != b"\r\n":
                self.entry["trailers"].append(line.decode("latin-1").strip())
        else:
            async for piece in self.counted(int(self.header("content-length") or 0)):
                yield piece

    async def counted(self, left):
        while left:
            piece = await self.reader.read(min(left, READ_BYTES))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            yield piece

    async def take_body(self, sink=None):
        if (self.header("expect") or "").lower() == "100-continue" and "early" not in self.script:
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        digest = hashlib.sha256()
        async for piece in self.body():
            digest.update(piece)
            self.entry["bytes"] += len(piece)
            if sink:
                await sink(piece)
        self.entry["digest"] = digest.hexdigest()
        if self.method not in SAFE_METHODS:
            self.ledger.effect += 1
            self.ledger.effects += 1
            self.entry["effect"] = self.ledger.effect
        await self.ledger.note()

    async def run(self):
        """Whether the connection can be used again."""
        await self.ledger.note()
        if "echo" in self.script:
            return await self.echo()
        if "early" not in self.script:
            await self.take_body()
        if "gate" in self.script:
            await self.ledger.gate(self.script.get("gate")).wait()
        if "delay" in self.script:
            await asyncio.sleep(float(self.script.get("delay")))
        await self.answer()
        if "early" in self.script:
            await self.take_body()
        return self.script.get("close") is None and "nolength" not in self.script

    async def echo(self):
        self.head(200, [("Content-Type", "application/octet-stream"),
                        ("Transfer-Encoding", "chunked")])

        async def sink(piece):
            self.writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await self.writer.drain()
        await self.take_body(sink)
        self.writer.write(b"0\r\n\r\n")
        return True

    def head(self, status, headers):
        lines = [f"HTTP/1.1 {status} Scripted"] + [f"{n}: {v}" for n, v in headers]
        self.writer.write("\r\n".join(lines + ["", ""]).encode("latin-1"))

    def content(self):
        if "size" in self.script:
            size = int(self.script.get("size"))
            return (b"0123456789abcdef" * (size // 16 + 1))[:size]
        if "body" in self.script:
            return self.script.get("body").encode("latin-1")
        return json.dumps({"effect": self.entry["effect"], "run": self.ledger.run,
                           "key": self.entry["key"], "attempt": self.entry["attempt"],
                           "path": self.entry["path"]}).encode() + b"\n"

    async def answer(self):
        script, close = self.script, self.script.get("close")
        if close in ("before", "reset"):
            raise Hangup(close)
        if "garbage" in script:
            self.writer.write(b"this is not HTTP\r\n\r\n")
            raise Hangup
        if "interim" in script:
            self.writer.write(f"HTTP/1.1 {script.get('interim')} Interim\r\n"
                              "X-Interim: yes\r\n\r\n".encode())
        headers = list(script.headers)
        if "outcome" in script:
            headers.append(("Idempotency-Outcome", script.get("outcome")))
        if close == "after":
            headers.append(("Connection", "close"))
        if "sse" in script:
            return await self.events(headers)
        status = int(script.get("status", "200"))
        body = self.content()
        if status not in (204, 304):
            headers.append(("Content-Type", script.get("type", "application/json")))
        if "chunked" in script or "badchunk" in script:
            headers.append(("Transfer-Encoding", "chunked"))
        elif status not in (204, 304):
            headers.append(("Connection", "close") if "nolength" in script else
                           ("Content-Length", str(len(body))))
        self.head(status, headers)
        if self.method == "HEAD" or status in (204, 304):
            return
        if close in ("mid", "midreset"):
            body = body[:len(body) // 2]
        if "badchunk" in script:
            self.writer.write(b"5\r\nhello\r\nzz\r\nworld\r\n")
            raise Hangup
        if "chunked" in script:
            for at in range(0, len(body), 65536):
                piece = body[at:at + 65536]
                self.writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await self.writer.drain()
            if not close:
                self.writer.write(b"0\r\n\r\n")
        else:
            self.writer.write(body)
        await self.writer.drain()
        if close in ("mid", "midreset"):
            raise Hangup("reset" if close == "midreset" else close)

    async def events(self, headers):
        gates, cut = self.script.get("gates"), int(self.script.get("cut", "0"))
        self.head(200, headers + [("Content-Type", "text/event-stream"),
                                  ("Transfer-Encoding", "chunked")])
        for number in range(1, int(self.script.get("sse")) + 1):
            if gates and number > 1:
                await self.ledger.gate(f"{gates}{number}").wait()
            event = f"id: {number}\ndata: event {number} of {self.entry['effect']}\n\n".encode()
            self.writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await self.writer.drain()
            if number == cut:
                raise Hangup("mid")
        if gates:
            await self.ledger.gate(f"{gates}-end").wait()
        self.writer.write(b"0\r\n\r\n")


class Server:
    def __init__(self, ledger):
        self.ledger = ledger
        self.busy = set()  # writers whose exchange is under way
        self.tls_listeners = {}  # by port

    async def serve(self, reader, writer):
        self.ledger.connections += 1
        self.ledger.open += 1
        number = self.ledger.connections
        await self.ledger.note()
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.busy.add(writer)
                exchange = Exchange(self.ledger, reader, writer, head, number)
                reusable = await exchange.run()
                await writer.drain()
                self.busy.discard(writer)
                if not reusable:
                    break
        except Hangup as hangup:
            if str(hangup) == "reset":
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            self.busy.discard(writer)
            writer.close()
            self.ledger.open -= 1
            await self.ledger.note()

    async def listen_tls(self, cert, key, client_ca, port):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
        context.load_cert_chain(cert, key)
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED

        def see_name(session, name, _):
            session.sni = name
        context.sni_callback = see_name
        if port in self.tls_listeners:
            self.tls_listeners.pop(port).close()
        listener = await asyncio.start_server(self.serve, "127.0.0.1", port, ssl=context,
                                              limit=HEAD_BYTES_MAX)
        port = listener.sockets[0].getsockname()[1]
        self.tls_listeners[port] = listener
        return port

    def close_tls(self):
        for listener in self.tls_listeners.values():
            listener.close()
        self.tls_listeners.clear()

    def abort_busy(self):
        for writer in list(self.busy):
            writer.transport.abort()


class Control:
    """The test's side: one JSON object a line, answered by one."""

    def __init__(self, ledger, server):
        self.ledger, self.server = ledger, server

    async def serve(self, reader, writer):
        try:
            while line := await reader.readline():
                ask = json.loads(line)
                answer = await getattr(self, "do_" + ask.pop("do"))(**ask)
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def do_ledger(self):
        return self.ledger.requests

    async def do_count(self, what, key=None, path=None):
        return self.ledger.count(what, key, path)

    async def do_raw_head(self, index):
        return base64.b64encode(self.ledger.raw_heads[index]).decode()

    async def do_listen_tls(self, cert, key, client_ca, port):
        return await self.server.listen_tls(cert, key, client_ca, port)

    async def do_open(self, gate):
        self.ledger.gate(gate).set()

    async def do_wait(self, what, count, timeout, key=None, path=None, at_most=False):
        """Waits until the count is reached (or, at_most, has fallen to it); the count then."""
        def reached():
            now = self.ledger.count(what, key, path)
            return now <= count if at_most else now >= count
        try:
            async with self.ledger.changed:
                await asyncio.wait_for(self.ledger.changed.wait_for(reached), timeout)
        except asyncio.TimeoutError:
            pass
        return self.ledger.count(what, key, path)

    async def do_reset(self):
        """Ends what still waits behind a gate and forgets everything."""
        self.server.abort_busy()
        self.server.close_tls()
        for gate in self.ledger.gates.values():
            gate.set()
        self.ledger.forget()


async def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    ledger = Ledger(*sys.argv[2:])
    server = Server(ledger)
    control = Control(ledger, server)
    public = await asyncio.start_server(server.serve, "127.0.0.1", port, limit=HEAD_BYTES_MAX,
                                        backlog=1024)
    private = await asyncio.start_server(control.serve, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
    print(json.dumps({"port": public.sockets[0].getsockname()[1],
                      "control": private.sockets[0].getsockname()[1]}), flush=True)
    # The process ends with whoever started it: its stdin is a pipe held open by the test.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
