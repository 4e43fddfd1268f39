"""Measures what docs/operations.md says about sizing: memory per connection, and disk and memory per key, of the embedded store.

usage: SEMEL_BINARY=build/semel PYTHONPATH=tests python3 bench/sizing.py [KEYS]"""

import concurrent.futures
import http.server
import pathlib
import resource
import socketserver
import sys
import threading

from harness.clients.http_client import Connection, request_bytes
from harness.semel import Gateway, new_key

CONNECTIONS = 4000
SENDERS = 16
ANSWERS = (200, 2000)


class Service(http.server.BaseHTTPRequestHandler):
    """Answers with as many bytes as the path says, all different: compression finds nothing."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        size = int(self.path.rsplit("/", 1)[1])
        body = open("/dev/urandom", "rb").read(size // 2).hex().encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def disk_bytes(folder):
    return sum(file.stat().st_blocks * 512 for file in pathlib.Path(folder).rglob("*") if file.is_file())


def send_keys(gateway, size, count):
    def send(number):
        with gateway.connect() as connection:
            for _ in range(count // SENDERS):
                answer = connection.request("POST", f"/charges/{size}", b'{"amount": 5}', key=new_key())
                assert answer.status == 201, answer
    with concurrent.futures.ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(send, range(SENDERS)))


def measure_connections(upstream):
    gateway = Gateway([{"path": "/*", "upstream": upstream}], limits={"connections": CONNECTIONS + 100}).start()
    before = gateway.resident_bytes()
    open_ones = []
    for _ in range(CONNECTIONS):
        connection = Connection(gateway.address)
        connection.send(request_bytes("GET", "/.semel/policy"))
        connection.read_response("GET")
        open_ones.append(connection)
    each = (gateway.resident_bytes() - before) / CONNECTIONS
    print(f"one idle connection: {each / 1024:.1f} KiB of memory ({CONNECTIONS} at once)")
    for connection in open_ones:
        connection.close()
    gateway.discard()


def measure_keys(upstream, size, count):
    gateway = Gateway([{"path": "/*", "upstream": upstream}]).start()
    store = gateway.config["store"]["path"]
    send_keys(gateway, size, SENDERS)
    gateway.restart()  # what is in the log is written into tables
    empty = disk_bytes(store)
    send_keys(gateway, size, count)
    memory = gateway.resident_bytes()
    running = disk_bytes(store)
    gateway.restart()
    resting = disk_bytes(store)
    print(f"one key with an answer of {size} bytes: {(running - empty) / count:.0f} bytes of disk as written, "
          f"{(resting - empty) / count:.0f} after a restart; the process has {memory / 2**20:.0f} MiB ({count} keys)")
    gateway.discard()


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    service = Server(("127.0.0.1", 0), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{service.server_address[1]}"
    measure_connections(upstream)
    for size in ANSWERS:
        measure_keys(upstream, size, count)


main()
