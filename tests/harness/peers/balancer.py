"""A load balancer over gateways: it hands each connection to one of them, the next in turn, and tries
another where nobody answers. What was sent is sent again only if not one byte came back."""

import collections
import itertools
import select
import socket
import socketserver
import threading

from harness.clients.http_client import TIMEOUT

CONNECT_SECONDS = 2
ROUNDS = 20


class Balancer:
    def __init__(self, gateways):
        self._gateways = gateways
        self._turn = itertools.count()
        self.retried = collections.Counter()  # why → how often
        balancer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                balancer._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 1024
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = self._server.server_address
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _serve(self, client):
        sent = bytearray()  # by the client, as long as nothing has come back
        for _ in range(ROUNDS * len(self._gateways)):
            gateway = self._gateways[next(self._turn) % len(self._gateways)]
            try:
                backend = socket.create_connection(gateway.address, CONNECT_SECONDS)
            except OSError:
                self.retried["refused"] += 1
                threading.Event().wait(0.01)
                continue
            with backend:
                if self._relay(client, backend, sent):
                    return
            self.retried["no answer"] += 1

    @staticmethod
    def _relay(client, backend, sent):
        """False: the backend ended without a byte, and another may be tried."""
        answered = False
        try:
            backend.sendall(sent)
            while True:
                ready, _, _ = select.select([client, backend], [], [], TIMEOUT)
                if not ready:
                    return True
                if backend in ready:
                    data = backend.recv(65536)
                    if not data:
                        return answered
                    answered = True
                    client.sendall(data)
                if client in ready:
                    data = client.recv(65536)
                    if not data:
                        return True
                    sent += data
                    backend.sendall(data)
        except OSError:
            return answered
