"""An upstream whose every connection is a small function of the test: for what happens to
connections rather than to requests."""

import socket
import ssl
import struct
import threading

from harness.clients.http_client import TIMEOUT


class Peer:
    """One accepted connection, as the script of the test sees it."""

    def __init__(self, connection):
        self.socket = connection
        self.socket.settimeout(TIMEOUT)
        self._buffer = b""

    def read_head(self):
        """A request's head, or b"" when the connection ended before it was whole."""
        while b"\r\n\r\n" not in self._buffer:
            data = self._receive()
            if not data:
                return b""
            self._buffer += data
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        return head + b"\r\n\r\n"

    def read_request(self):
        """Head and body of one request with a Content-Length."""
        head = self.read_head()
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while len(self._buffer) < length:
            data = self._receive()
            if not data:
                return b""
            self._buffer += data
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return head + body

    def _receive(self):
        try:
            return self.socket.recv(65536)
        except OSError:
            return b""

    def send(self, data):
        self.socket.sendall(data)

    def answer(self, body=b'{"ok":true}', status=200, headers=""):
        self.send(f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n{headers}"
                  f"Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def wait_closed(self):
        """Until the other side has closed the connection."""
        while self._receive():
            pass


class RawUpstream:
    """Accepts connections and runs `script(peer, number)` for each on a thread of its own, number
    from 1. With `listening=False` connections are refused until listen() is called. With `tls`, an
    ssl.SSLContext, the script sees what is inside the session."""

    def __init__(self, script, listening=True, tls=None, address=("127.0.0.1", 0)):
        self._script = script
        self._socket = socket.socket()
        self._socket.bind(address)
        self._tls = tls
        self.url = "http%s://%s:%d" % ("s" if tls else "", *self._socket.getsockname())
        self.accepted = 0
        self.failures = []
        self._threads = []
        self._peers = []
        if listening:
            self.listen()

    def listen(self):
        self._socket.listen(256)
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()
        self._threads.append(self._acceptor)

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.accepted += 1
            peer = Peer(connection)
            self._peers.append(peer)
            thread = threading.Thread(target=self._serve, args=(peer, self.accepted))
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer, number):
        try:
            if self._tls:
                peer.socket = self._tls.wrap_socket(peer.socket, server_side=True)
            self._script(peer, number)
        except OSError:
            pass  # the gateway may close whenever it likes
        except Exception as failure:  # shown by stop()
            self.failures.append(failure)
        finally:
            peer.socket.close()

    def stop_listening(self):
        """Refuses connections from now on. Those that there are stay."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def stop(self):
        self.stop_listening()
        for peer in self._peers:
            try:
                peer.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(TIMEOUT)
        assert not self.failures, self.failures
