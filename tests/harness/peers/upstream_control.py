"""Starts the test upstream as a process and speaks to its control port."""

import base64
import json
import pathlib
import socket
import subprocess
import sys
import threading

from harness.clients.http_client import TIMEOUT

PROGRAM = pathlib.Path(__file__).with_name("upstream.py")


class Upstream:
    """With a `port` it can be killed and started again there; `journal` is a file (see upstream.py)."""

    def __init__(self, port=0, journal=None):
        self._arguments = [str(port), *([str(journal)] if journal else [])]
        self._process = None
        self.start()

    def start(self):
        self._process = subprocess.Popen([sys.executable, str(PROGRAM), *self._arguments],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ports = json.loads(self._process.stdout.readline())
        self.address = ("127.0.0.1", ports["port"])
        self.url = f"http://127.0.0.1:{ports['port']}"
        self._control = ("127.0.0.1", ports["control"])
        self._local = threading.local()

    def stop(self):
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill9(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _ask(self, do, **ask):
        stream = getattr(self._local, "stream", None)
        if stream is None:
            connection = socket.create_connection(self._control)
            self._local.connection = connection
            self._local.stream = stream = connection.makefile("rwb")
        self._local.connection.settimeout(ask.get("timeout", 0) + TIMEOUT)
        stream.write(json.dumps({"do": do, **ask}).encode() + b"\n")
        stream.flush()
        return json.loads(stream.readline())

    def reset(self):
        self._ask("reset")

    def listen_tls(self, certificate, client_ca=None, port=0):
        """The URL of another port of the same upstream, with TLS. Closed by reset()."""
        port = self._ask("listen_tls", cert=str(certificate.cert), key=str(certificate.key),
                         client_ca=client_ca and str(client_ca), port=port)
        return f"https://127.0.0.1:{port}"

    def requests(self, key=None, path=None):
        """Requests that have arrived: method, target, headers, attempt, effect, digest, bytes, connection,
        and over TLS sni, tls and peer."""
        return [r for r in self._ask("ledger")
                if (key is None or r["key"] == key) and (path is None or r["path"] == path)]

    def last(self, key=None, path=None):
        return self.requests(key, path)[-1]

    def raw_head(self, index=-1):
        return base64.b64decode(self._ask("raw_head", index=index))

    def effects(self, key=None, path=None):
        return self._ask("count", what="effects", key=key, path=path)

    def arrived(self, key=None, path=None):
        return self._ask("count", what="arrived", key=key, path=path)

    def connections(self):
        """Connections accepted since the last reset."""
        return self._ask("count", what="connections")

    def open_gate(self, name):
        self._ask("open", gate=name)

    def wait(self, what, count, key=None, path=None, at_most=False, timeout=TIMEOUT):
        now = self._ask("wait", what=what, count=count, key=key, path=path, at_most=at_most,
                        timeout=timeout)
        reached = now <= count if at_most else now >= count
        assert reached, f"the upstream has {now} {what}, awaited {count} (key {key}, path {path})"

    def wait_arrived(self, count=1, key=None, path=None):
        self.wait("arrived", count, key, path)

    def wait_effects(self, count=1, key=None, path=None):
        """Until that many requests have arrived whole."""
        self.wait("effects", count, key, path)


def field(request, name):
    """A request's header as the upstream saw it; None if absent, joined if repeated."""
    values = [v for n, v in request["headers"] if n.lower() == name.lower()]
    return ", ".join(values) if values else None
