"""`semel relay` to a real Kafka of three brokers: killed relays and brokers lose nothing and keep the order."""

import collections
import json

import pytest
from harness.relay import Relay
from harness.semel import eventually

ROWS = 600
KEYS = 10


@pytest.fixture
def relays(three_brokers, database):
    topic = three_brokers.topic(partitions=3)
    made = [Relay(database.url, {"q": {"kind": "kafka", "brokers": three_brokers.addresses, "topic": topic,
                                       "timeout": "10s"}}, lease="2s", max_attempts=1000).start()
            for _ in range(2)]
    yield topic, made
    for relay in made:
        relay.discard()


def enqueue(database, number):
    body = json.dumps({"n": number}).encode()
    database.execute("SELECT semel.enqueue('q', %s, %s)", body, f"key-{number % KEYS}")


def test_brokers_and_relays_are_killed_and_the_order_is_kept(three_brokers, database, relays):
    topic, made = relays

    def left():
        return database.one("SELECT count(*) FROM semel.outbox_rows")

    for number in range(ROWS):
        enqueue(database, number)
        if number in (ROWS // 4, ROWS // 2):
            made[number % 2].kill9()
            made[number % 2].start()
        if number in (ROWS // 3, 2 * ROWS // 3):
            broker = three_brokers.brokers[number % 3]
            broker.kill9()
            broker.start()
    three_brokers.wait_until_complete()
    eventually(lambda: left() == 0, timeout=120)

    first, by_id = collections.defaultdict(list), {}
    for key, body, headers in three_brokers.read(topic):
        if by_id.setdefault(headers["ce_id"], body) is body:  # the first time
            first[key.decode()].append(json.loads(body)["n"])
        assert by_id[headers["ce_id"]] == body
    assert sorted(n for numbers in first.values() for n in numbers) == list(range(ROWS))
    for numbers in first.values():
        assert numbers == sorted(numbers), "an ordering key's messages arrive in the order of their commits"
