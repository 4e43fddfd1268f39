"""Thousands of messages, relays killed at random, a destination that is down for a while."""

import json
import random
import threading
import time

from http_client import TIME_SCALE
from receiver import Receiver
from relay_harness import Relay
from semel_harness import eventually

MESSAGES = 2400
KEYS = 40
RELAYS = 3
KILLS = 8


def test_relays_killed_at_random_lose_nothing_and_keep_the_order(database):
    dice = random.Random(27)
    receiver = Receiver()
    relays = [Relay(database.url, {"d": receiver.url}, lease="1s", max_attempts=1000).start()
              for _ in range(RELAYS)]
    enqueued = {}

    def produce(writer):
        own = random.Random(writer)
        connection = database.connect()
        with connection.cursor() as cursor:
            for i in range(MESSAGES // 4):
                key = None if own.random() < 0.2 else f"{own.randrange(KEYS)}"
                body = json.dumps({"writer": writer, "i": i, "key": key}).encode()
                cursor.execute("SELECT semel.enqueue('d', %s, %s)", (body, key))
                enqueued[cursor.fetchone()[0]] = key, body
                connection.commit()
                if i % 50 == 0:
                    time.sleep(own.random() / 10)

    try:
        writers = [threading.Thread(target=produce, args=(writer,)) for writer in range(4)]
        for writer in writers:
            writer.start()
        for kill in range(KILLS):
            time.sleep(0.3 + dice.random() / 3)
            if kill == 2:
                receiver.down()
            if kill == 5:
                receiver.up()
            at = dice.randrange(RELAYS)
            relays[at].kill9()
            relays[at].start()
        for writer in writers:
            writer.join()
        receiver.wait_accepted(MESSAGES, timeout=120 * TIME_SCALE)
        eventually(lambda: database.one("SELECT count(*) FROM semel.outbox_rows") == 0)
        eventually(lambda: database.one("SELECT count(*) FROM semel.outbox_lanes") == 0)
    finally:
        for relay in relays:
            relay.discard()
        receiver.down()

    in_order = {}  # the bodies of each key, by their numbers: the order of the commits
    for number in sorted(enqueued):
        key, body = enqueued[number]
        in_order.setdefault(key, []).append(body)
    arrived_in_order = {}
    for delivery in receiver.firsts():
        arrived_in_order.setdefault(delivery.json["key"], []).append(delivery.body)
    assert sorted(arrived_in_order.pop(None)) == sorted(in_order.pop(None))
    assert arrived_in_order == in_order
    keys_of = {}
    for delivery in receiver.arrived:
        keys_of.setdefault(delivery.body, set()).add(delivery.key)
    assert len(keys_of) == MESSAGES and all(len(keys) == 1 for keys in keys_of.values())
    print(f"{len(receiver.arrived)} deliveries arrived for {MESSAGES} messages")
