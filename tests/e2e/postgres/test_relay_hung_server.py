"""`semel relay` on a database that stops answering without ending a connection: nothing waits for it for ever, and
when it goes on every row is delivered, in order."""

import collections
import json
import signal
import time

import pytest

from harness.clients.http_client import TIME_SCALE
from harness.peers.receiver import Receiver
from harness.relay import Relay
from harness.semel import eventually

PATIENCE_SECONDS = 10  # with the reply to a statement
DRAIN_SECONDS = 2
ROWS, KEYS = 60, 3


@pytest.fixture
def start_relay(own_server):
    started = []

    def start(destinations, **keys):
        relay = Relay(own_server.url(), destinations, **keys)
        relay.config["drain_timeout"] = f"{DRAIN_SECONDS}s"
        started.append(relay)
        return relay.start()
    yield start
    own_server.go_on()
    for one in started:
        one.discard()


@pytest.fixture
def receiver():
    one = Receiver(lambda delivery: time.sleep(0.02) or 200)
    yield one
    one.down()


def test_a_server_that_stands_still_holds_up_no_drain_and_loses_nothing(own_server, receiver, start_relay):
    own_server.stopped = []
    staying = start_relay({"d": receiver.url}, lease="1s")
    with own_server.connect() as connection, connection.cursor() as cursor:
        for number in range(ROWS):
            cursor.execute("SELECT semel.enqueue('d', %s, %s)",
                           (json.dumps(number).encode(), f"key-{number % KEYS}"))
    ending = start_relay({"d": receiver.url}, lease="1s")
    receiver.wait_accepted(ROWS // 6)
    own_server.stand_still()
    begun = time.monotonic()
    ending.signal(signal.SIGTERM)
    ending.process.wait(4 * PATIENCE_SECONDS * TIME_SCALE)
    assert time.monotonic() - begun < (PATIENCE_SECONDS + DRAIN_SECONDS + 5) * TIME_SCALE
    eventually(lambda: "no reply in time" in staying.stderr(), timeout=3 * PATIENCE_SECONDS * TIME_SCALE)
    own_server.go_on()
    receiver.wait(lambda r: len(r.firsts()) == ROWS, timeout=60 * TIME_SCALE)
    eventually(lambda: own_server.execute("SELECT count(*) FROM semel.outbox") == [(0,)])
    by_key = collections.defaultdict(list)
    for delivery in receiver.firsts():
        by_key[delivery.json % KEYS].append(delivery.json)
    assert by_key == {key: list(range(key, ROWS, KEYS)) for key in range(KEYS)}
    eventually(lambda: "the outbox is reached again" in staying.stderr())
