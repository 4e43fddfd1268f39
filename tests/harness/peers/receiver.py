"""A destination of the outbox: takes POSTs and writes down what came, in the order in which it came."""

import http.server
import json
import socket
import socketserver
import threading
import time

from harness.clients.http_client import TIMEOUT


class Delivery:
    def __init__(self, path, key, headers, body):
        self.path, self.key, self.headers, self.body = path, key, headers, body
        self.at = time.monotonic()

    @property
    def json(self):
        return json.loads(self.body)


class Receiver:
    """`answer(delivery)` gives the status of each, or (status, headers); it may block. What it gets
    is written down when the whole request is there and before it is answered; `accepted` is what was
    answered with 2xx."""

    def __init__(self, answer=lambda delivery: 200):
        self.answer = answer
        self.arrived, self.accepted = [], []
        self._changed = threading.Condition()
        self._server, self._connections = None, set()
        self._port = 0
        self.up()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}/in"

    def up(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                receiver._connections.add(self.connection)

            def finish(self):
                receiver._connections.discard(self.connection)
                try:
                    super().finish()
                except OSError:
                    pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                key = (self.headers["Idempotency-Key"] or "").strip('"')
                delivery = Delivery(self.path, key, self.headers, body)
                with receiver._changed:
                    receiver.arrived.append(delivery)
                    receiver._changed.notify_all()
                answer = receiver.answer(delivery)
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                if 200 <= status < 300:
                    with receiver._changed:
                        receiver.accepted.append(delivery)
                        receiver._changed.notify_all()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # a relay that was killed

        self._server = Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02},
                         daemon=True).start()

    def down(self):
        """Takes no connections, and drops those it has."""
        if self._server is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._server = None
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def wait(self, ready, timeout=TIMEOUT, what=""):
        """Until `ready(self)` is true."""
        with self._changed:
            assert self._changed.wait_for(lambda: ready(self), timeout), \
                f"{what}: {len(self.arrived)} arrived, {len(self.accepted)} accepted"

    def wait_accepted(self, count, timeout=TIMEOUT):
        self.wait(lambda r: len({d.key for d in r.accepted}) >= count, timeout,
                  f"awaited {count} different ones")

    def firsts(self):
        """Returns the first accepted delivery per key."""
        seen = set()
        return [d for d in self.accepted if not (d.key in seen or seen.add(d.key))]
