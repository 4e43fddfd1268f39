"""The orders example, killed at every point of an order: the client's retry, the completer in the service
or `semel complete` goes on from the last transaction. One order, one charge, one mail."""

import http.server
import json
import os
import pathlib
import queue
import subprocess
import threading

import pytest

from harness import ROOT
from harness.clients.http_client import TIME_SCALE, Connection, ConnectionEnded, request_bytes
from harness.semel import Gateway, binary, eventually, new_key

EXAMPLE = pathlib.Path(os.environ.get("SEMEL_BINARY", "")).parent / "examples/orders/example_orders"
TABLES = ROOT / "examples/orders/schema.sql"
ORDER = {"item": "book", "amount": 4200}
POINTS = ["reserve", "before-charge", "after-charge", "book", "finish", "answer"]


class Processor:
    """A card processor that deduplicates by Idempotency-Key, and counts."""

    def __init__(self):
        processor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = processor.charge(self.headers["Idempotency-Key"], body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.charges = {}  # by key: every body that came under it
        self.status = 201
        self.on_charge = lambda: None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def charge(self, key, body):
        self.charges.setdefault(key, []).append(body)
        self.on_charge()
        number = list(self.charges).index(key) + 1
        return self.status, json.dumps({"id": f"ch_{number}"}).encode()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Service:
    def __init__(self, database, processor, crash_at="", complete_every_ms=None):
        arguments = [database.url, processor.address, "127.0.0.1:0"]
        if complete_every_ms is not None:
            arguments.append(str(complete_every_ms))
        self.process = subprocess.Popen([EXAMPLE, *arguments], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "ORDERS_CRASH_AT": crash_at})
        self.address = ("127.0.0.1", int(self.process.stdout.readline().split()[1]))

    def order(self, key, body=None, **headers):
        with Connection(self.address) as connection:
            connection.send(request_bytes("POST", "/orders", json=body or ORDER, key=key, **headers))
            return connection.read_response()

    def wait_killed(self):
        assert self.process.wait(20 * TIME_SCALE) == -9

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def processor():
    one = Processor()
    yield one
    one.stop()


@pytest.fixture
def orders(database):
    database.execute(TABLES.read_text())
    return database


@pytest.fixture
def start(orders, processor):
    started = []

    def run(**options):
        started.append(Service(orders, processor, **options))
        return started[-1]

    yield run
    for service in started:
        service.end()


def pass_time(database):
    """As if the lease of whoever was killed had run out."""
    database.execute("UPDATE semel.records SET lease_until = 1, due_at = 1 WHERE state = 2")
    database.execute("UPDATE semel.operations SET next_try_at = 1")


def crash(service, key):
    with pytest.raises((ConnectionEnded, ConnectionError)):
        service.order(key)
    service.wait_killed()


def assert_one_order(database, processor, status="paid"):
    assert database.execute("SELECT status, charge, amount FROM orders") == [(status, "ch_1", 4200)]
    assert len(processor.charges) == 1
    [bodies] = processor.charges.values()
    assert len(set(bodies)) == 1, "the same key with another body"
    assert database.one("SELECT count(*) FROM semel.outbox") == 1
    assert database.one("SELECT count(*) FROM semel.operations") == 0
    assert database.one("SELECT array_agg(state) FROM semel.records") == [3]


@pytest.mark.parametrize("point", POINTS)
def test_a_retry_goes_on_after_a_crash(start, orders, processor, point):
    key = new_key()
    crash(start(crash_at=point), key)
    if point != "answer":
        service = start()
        assert service.order(key).status == 409, "its lease has not run out"
        pass_time(orders)
        first = service.order(key)
        assert first.status == 201 and not first.replayed
    again = start().order(key)
    assert again.status == 201 and again.replayed
    assert again.json()["status"] == "paid"
    assert_one_order(orders, processor)


@pytest.mark.parametrize("point", POINTS[:-1])
def test_the_completer_goes_on_after_a_crash(start, orders, processor, point):
    key = new_key()
    crash(start(crash_at=point), key)
    pass_time(orders)
    service = start(complete_every_ms=50)
    eventually(lambda: orders.one("SELECT count(*) FROM semel.operations") == 0)
    answer = service.order(key)
    assert answer.status == 201 and answer.replayed
    assert_one_order(orders, processor)


def test_killed_again_and_again_it_still_ends_once(start, orders, processor):
    key = new_key()
    for point in POINTS[:-1]:
        crash(start(crash_at=point), key)
        pass_time(orders)
    assert start().order(key).status == 201
    assert_one_order(orders, processor)


def test_killed_while_the_processor_works(start, orders, processor):
    key = new_key()
    service = start()
    processor.on_charge = service.process.kill
    crash(service, key)
    processor.on_charge = lambda: None
    pass_time(orders)
    assert start().order(key).status == 201
    assert_one_order(orders, processor)
    assert [len(bodies) for bodies in processor.charges.values()] == [2]


def test_a_crowd_under_one_key_makes_one_order(start, orders, processor):
    key, statuses = new_key(), queue.Queue()
    services = [start(complete_every_ms=20), start(complete_every_ms=20)]
    crowd = [threading.Thread(target=lambda n=n: statuses.put(services[n % 2].order(key).status))
             for n in range(16)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    seen = {statuses.get() for _ in crowd}
    assert 201 in seen and seen <= {201, 409}
    assert_one_order(orders, processor)
    assert [len(bodies) for bodies in processor.charges.values()] == [1]


def test_a_processor_that_fails_is_asked_again_under_the_same_key(start, orders, processor):
    key = new_key()
    service = start()
    processor.status = 500
    assert service.order(key).status == 503
    processor.status = 201
    assert service.order(key).status == 201, "a retry resumes at once what a step gave back"
    assert_one_order(orders, processor)


def test_a_declined_card_is_an_answer_like_any_other(start, orders, processor):
    key = new_key()
    service = start()
    processor.status = 402
    assert service.order(key).status == 402
    processor.status = 201
    assert service.order(key).status == 402
    assert orders.execute("SELECT status FROM orders") == [("declined",)]


def complete_once(database, service, *more):
    return subprocess.run(
        [binary(), "complete", "--once", "--url", database.url, "--operation", "orders.create", "--to",
         "http://%s:%d/orders" % service.address, *more], capture_output=True, text=True, timeout=60)


def test_semel_complete_has_the_service_resume_it(start, orders, processor):
    key = new_key()
    crash(start(crash_at="after-charge"), key)
    service = start()
    done = complete_once(orders, service)
    assert (done.returncode, done.stdout) == (0, ""), "its lease has not run out"
    pass_time(orders)
    done = complete_once(orders, service)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"completed orders.create {key} ") and "from 'reserve'" in done.stdout
    assert_one_order(orders, processor)
    assert service.order(key).status == 201


def test_semel_complete_tells_what_is_stuck(start, orders, processor):
    key = new_key()
    crash(start(crash_at="before-charge"), key)
    service = start()
    processor.status = 500
    for _ in range(2):
        pass_time(orders)
        done = complete_once(orders, service, "--max-attempts", "2")
        assert done.returncode == 1 and "not finished" in done.stdout and "answered 503" in done.stdout
    pass_time(orders)
    done = complete_once(orders, service, "--max-attempts", "2")
    assert done.returncode == 1
    assert done.stdout.startswith(f"stuck orders.create {key} ")
    assert "the card processor answered 500" in done.stdout or "answered 503" in done.stdout
    processor.status = 201
    assert service.order(key).status == 201, "a client's retry still resumes it"
    assert_one_order(orders, processor)


def test_semel_complete_runs_until_it_is_told_to_end(start, orders, processor):
    key = new_key()
    crash(start(crash_at="book"), key)
    service = start()
    running = subprocess.Popen(
        [binary(), "complete", "--every", "50ms", "--url", orders.url, "--operation", "orders.create",
         "--to", "http://%s:%d/orders" % service.address], stdout=subprocess.PIPE, text=True)
    pass_time(orders)
    assert running.stdout.readline().startswith("completed ")
    running.terminate()
    assert running.wait(20 * TIME_SCALE) == 0
    running.stdout.close()
    assert_one_order(orders, processor)


@pytest.mark.parametrize("arguments, what", [
    ([], "--operation"),
    (["--operation", "o", "--to", "http://127.0.0.1:1/"], "no database given"),
    (["--operation", "o", "--to", "ftp://x", "--url", "u"], "--to"),
    (["--operation", "o", "--to", "https://x/", "--url", "u"], "only http://"),
    (["--operation", "o", "--to", "http://x/", "--url", "u", "--every", "5 s"], "--every"),
])
def test_semel_complete_says_what_is_wrong_with_its_command_line(arguments, what):
    done = subprocess.run([binary(), "complete", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and what in done.stderr


@pytest.fixture
def gateway_to(orders):
    """Starts a gateway on the same database, before a service that completes its records itself."""
    started = []

    def start_before(service):
        gateway = Gateway([{"name": "orders.create", "path": "/orders", "unknown": "retry",
                            "upstream": "http://%s:%d" % service.address, "completes": "executor"}])
        gateway.config["store"] = {"kind": "postgres", "url": orders.url}
        started.append(gateway)
        return gateway.start()

    yield start_before
    for gateway in started:
        gateway.discard()


@pytest.mark.parametrize("point", POINTS)
def test_behind_the_gateway_a_retry_goes_on_after_a_crash(start, gateway_to, orders, processor, point):
    key = new_key()
    service = start(crash_at=point)
    first = gateway_to(service).post("/orders", key=key, json=ORDER)
    service.wait_killed()
    # The gateway gives the answer that the service had committed before it died.
    assert first.status == (201 if point == "answer" else 502), first
    again = gateway_to(start()).post("/orders", key=key, json=ORDER)
    assert again.status == 201 and again.json()["status"] == "paid"
    assert again.replayed == (point == "answer")
    assert_one_order(orders, processor)
