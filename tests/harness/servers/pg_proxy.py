"""Stands between an application and PostgreSQL and stops at its COMMIT, so that a test can kill the one or the
other at that very moment; or goes silent as soon as a connection is made."""

import socket
import threading


class PgProxy:
    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.stop_at_commit = None  # or "before": it is not sent on; "after": its reply is not
        self.stopped = threading.Event()
        self.silent = False  # of new connections nothing is sent on after the handshake, for ever
        self.silenced = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target)
            except OSError:
                _close(client)
                continue
            committing = threading.Event()
            talks = self._to_server if not self.silent else self._only_handshake
            threading.Thread(target=talks, args=(client, server, committing), daemon=True).start()
            threading.Thread(target=self._to_client, args=(client, server, committing), daemon=True).start()

    def _to_server(self, client, server, committing):
        while data := _receive(client):
            if b"COMMIT\0" in data and self.stop_at_commit == "before":
                self.stopped.set()
                break
            if b"COMMIT\0" in data and self.stop_at_commit == "after":
                committing.set()
            if not _send(server, data):
                break
        if self.stop_at_commit == "before" and self.stopped.is_set():
            _receive(client)  # until the application is gone
        _close(server)

    def _only_handshake(self, client, server, _committing):
        while (data := _receive(client)) and data[:1] not in (b"P", b"Q"):
            _send(server, data)
        self.silenced += 1
        while _receive(client):
            pass
        _close(server)

    def _to_client(self, client, server, committing):
        while data := _receive(server):
            if committing.is_set():
                self.stopped.set()  # the server has committed, and the application never hears of it
                return
            if not _send(client, data):
                break
        _close(client)

    def close(self):
        self.listener.close()


def _receive(connection):
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def _send(connection, data):
    try:
        connection.sendall(data)
        return True
    except OSError:
        return False


def _close(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
