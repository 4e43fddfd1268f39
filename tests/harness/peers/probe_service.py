"""An executor's answers to "what became of this attempt?", as the test sets them."""

import queue
import socketserver
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ProbeService:
    """Answers every GET with `status`, `headers` and `body`; while `silent`, not at all."""

    def __init__(self):
        self.status, self.headers, self.body = 404, {}, b""
        self.silent = False
        self.asked = queue.Queue()
        self._end = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                service.asked.put({"path": url.path, "headers": dict(self.headers.items()),
                                   "query": dict(urllib.parse.parse_qsl(url.query))})
                if service.silent:
                    service._end.wait()
                    self.close_connection = True
                    return
                # The test may change them once it has seen the head of this answer.
                status, headers, body = service.status, dict(service.headers), service.body
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # the gateway may hang up

        socketserver.TCPServer.allow_reuse_address = True
        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def says_final(self, status, body, **headers):
        self.status, self.body = 200, body
        self.headers = {"Idempotency-Outcome": "final", "Semel-Status": str(status), **headers}

    def says_retry(self):
        self.status, self.body, self.headers = 200, b"", {"Idempotency-Outcome": "retry"}

    def says(self, status, body=b"", **headers):
        self.status, self.body, self.headers = status, body, headers

    def count(self):
        return self.asked.qsize()

    def hang_up(self):
        """Ends the connections of all who were kept in silence."""
        self._end.set()

    def stop(self):
        self.hang_up()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
