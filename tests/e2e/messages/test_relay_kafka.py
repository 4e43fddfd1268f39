"""`semel relay` to Kafka, against librdkafka's mock cluster: Debian has no broker. tests/interop has the real one."""

import json

import pytest

from harness.servers.mock_kafka import MockKafka
from harness.postgres_fixtures import *  # noqa: F401,F403
from harness.relay import Relay, semel
from harness.semel import eventually


@pytest.fixture(scope="module")
def kafka():
    cluster = MockKafka()
    yield cluster
    cluster.stop()


@pytest.fixture
def relay(kafka, database):
    topic = kafka.topic()
    made = Relay(database.url, {"q": {"kind": "kafka", "brokers": kafka.brokers, "topic": topic,
                                      "timeout": "5s"}}).start()
    made.topic = topic
    yield made
    made.discard()


def enqueue(database, body, ordering_key=None, headers=None):
    database.execute("SELECT semel.enqueue('q', %s, %s, %s)", body, ordering_key,
                     json.dumps(headers or {}))


def is_empty(database):
    return database.one("SELECT NOT EXISTS (SELECT FROM semel.outbox)")


def test_a_message_arrives_as_it_was_enqueued(kafka, database, relay):
    enqueue(database, b'{"order": 7}', "ada", {"X-Test": "1", "ce-type": "order.placed"})
    eventually(lambda: is_empty(database))
    [arrived] = kafka.ask("read", relay.topic)
    assert (arrived["body"], arrived["key"]) == ('{"order": 7}', "ada")
    headers = arrived["headers"]
    assert len(headers.pop("ce_id")) == 43 and headers.pop("ce_time").endswith("Z")
    assert headers == {"content-type": "application/json", "X-Test": "1", "ce_specversion": "1.0",
                       "ce_type": "order.placed", "ce_source": "urn:semel:outbox",
                       "ce_partitionkey": "ada"}


def test_the_order_is_kept_while_the_broker_is_away(kafka, database, relay):
    for number in range(20):
        enqueue(database, b"%d" % number, "k")
    kafka.ask("down")
    for number in range(20, 60):
        enqueue(database, b"%d" % number, "k")
    kafka.ask("up")
    eventually(lambda: is_empty(database), timeout=60)
    firsts = {}
    for one in kafka.ask("read", relay.topic):
        assert firsts.setdefault(one["headers"]["ce_id"], one["body"]) == one["body"]
    assert list(firsts.values()) == [str(number) for number in range(60)]


def test_a_message_too_large_is_a_dead_letter(kafka, database, relay):
    enqueue(database, b"x" * 2_000_000)
    enqueue(database, b"small")
    eventually(lambda: not database.one("SELECT EXISTS (SELECT FROM semel.outbox)"))
    [row] = json.loads(semel("outbox", "ls", "--url", database.url, "--json", "--dead"))
    assert row["attempts"] == 1 and "too large" in row["last_error"]
    assert [one["body"] for one in kafka.ask("read", relay.topic)] == ["small"]
