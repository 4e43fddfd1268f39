"""The outbox under fire: thousands of rows, relays killed with -9 at random, the destination down for a
while. Every row arrives, in commit order per ordering key, and what arrives twice has the same key.

SEMEL_OUTBOX_ROWS is their number (2,000), SEMEL_SEED replays the dice."""

import collections
import json
import os
import random
import threading
import time

import pytest

from harness.clients.http_client import TIME_SCALE
from harness.outbox_ends import ENDS
from harness.postgres_fixtures import *  # noqa: F401,F403
from harness.relay import Relay
from harness.semel import eventually

ROWS = int(os.environ.get("SEMEL_OUTBOX_ROWS", "2000"))
SEED = int(os.environ.get("SEMEL_SEED", random.randrange(1 << 32)))
KEYS = 40
WRITERS = 4
RELAYS = 3
KILLS = 8
DOWN_AFTER, UP_AFTER = 2, 4  # kills


@pytest.fixture(params=sorted(ENDS))
def end(request):
    made = ENDS[request.param]()
    yield made
    made.discard()


class Writer(threading.Thread):
    """Enqueues its share in a transaction each; `rows` is what it committed."""

    def __init__(self, database, number):
        super().__init__()
        self._database, self._number = database, number
        self._dice = random.Random(SEED + number)
        self.rows = {}

    def run(self):
        connection = self._database.connect()
        with connection.cursor() as cursor:
            for i in range(ROWS // WRITERS):
                key = None if self._dice.random() < 0.2 else f"{self._dice.randrange(KEYS)}"
                body = json.dumps({"writer": self._number, "i": i, "key": key}).encode()
                cursor.execute("SELECT semel.enqueue('d', %s, %s)", (body, key))
                self.rows[cursor.fetchone()[0]] = key, body
                connection.commit()
        connection.close()


def left(database):
    return database.one("SELECT count(*) FROM semel.outbox_rows")


def by_ordering_key(bodies):
    lists = collections.defaultdict(list)
    for body in bodies:
        lists[json.loads(body)["key"]].append(body)
    return lists


def test_relays_killed_at_random_lose_nothing_and_keep_the_order(database, end):
    print("SEMEL_SEED =", SEED)
    dice = random.Random(SEED)
    began = time.monotonic()
    relays = [Relay(database.url, {"d": end.destination(timeout="3s")}, lease="1s", max_attempts=1000)
              .start() for _ in range(RELAYS)]
    writers = [Writer(database, number) for number in range(WRITERS)]
    try:
        for writer in writers:
            writer.start()
        for kill in range(1, KILLS + 1):
            if DOWN_AFTER < kill <= UP_AFTER:
                time.sleep(0.3 + dice.random())  # nothing arrives that could be awaited
            else:
                eventually(lambda: end.count() >= ROWS * kill // (2 * KILLS),
                           timeout=120 * TIME_SCALE)
            at = dice.randrange(RELAYS)
            relays[at].kill9()
            relays[at].start()
            if kill == DOWN_AFTER:
                end.down()
            if kill == UP_AFTER:
                end.up()
        for writer in writers:
            writer.join()
        eventually(lambda: left(database) == 0, timeout=300 * TIME_SCALE, every=0.2)
        eventually(lambda: database.one("SELECT count(*) FROM semel.outbox_lanes") == 0)
        took = time.monotonic() - began
    finally:
        for relay in relays:
            relay.discard()

    committed = dict(row for writer in writers for row in writer.rows.items())
    assert len(committed) == ROWS
    arrived = end.arrived()
    keys_of, firsts = collections.defaultdict(set), {}
    for one in arrived:
        keys_of[one.body].add(one.key)
        firsts.setdefault(one.key, one.body)
    # Every row, and each of them under one key, whatever the number of deliveries.
    assert sorted(keys_of) == sorted(body for _, body in committed.values())
    assert all(len(keys) == 1 for keys in keys_of.values()) and len(firsts) == ROWS
    # First arrivals are in the order of the commits, which is that of the numbers.
    expected = by_ordering_key(body for _, (_, body) in sorted(committed.items()))
    got = by_ordering_key(firsts.values())
    assert sorted(got.pop(None)) == sorted(expected.pop(None))
    assert got == expected
    print(f"{end.name}: {ROWS} rows, {KILLS} relays killed, {len(arrived)} arrivals, {took:.1f} s")
