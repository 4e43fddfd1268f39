"""Kafka, against librdkafka's mock cluster: Debian has no broker. tests/interop has the real one."""

import pytest
from harness.servers.mock_kafka import MockKafka
from harness.semel import eventually, new_key
from harness.peers.upstream_control import field


@pytest.fixture(scope="module")
def kafka():
    cluster = MockKafka()
    yield cluster
    cluster.stop()


def entry(kafka, topic, upstream, **more):
    return {"name": topic, "from": {"kind": "kafka", "brokers": kafka.brokers, "topic": topic,
                                    "group": f"g-{topic}",
                                    # So soon a member that was killed is out of its group.
                                    "properties": {"session.timeout.ms": "3000"}},
            "to": f"{upstream.url}/handle", "headers": ["X-Test"],
            "key": {"from": "header", "name": "id"}, "unknown": "hold",
            "dead_letter": {"topic": f"{topic}.dead"},
            "backoff": {"min": "50ms", "max": "200ms"}, **more}


def test_each_id_once_over_partitions_and_restarts(kafka, consumers, upstream):
    topic = kafka.topic(partitions=3)
    keys = [new_key() for _ in range(20)]
    for number, key in enumerate(keys * 2):
        kafka.produce(topic, f"k{number}", '{"a":1}', id=key)
    consumer = consumers(entry(kafka, topic, upstream))
    upstream.wait_effects(20)
    eventually(lambda: len(consumer.records("completed")) == 20)
    consumer.restart()
    last = new_key()
    kafka.produce(topic, "k0", '{"a":1}', id=last)
    upstream.wait_effects(1, last)
    assert upstream.effects() == 21
    assert [upstream.effects(key=key) for key in keys] == [1] * 20


def test_poison_and_failures_are_put_aside_and_the_rest_moves_on(kafka, consumers, upstream):
    topic = kafka.topic()
    failing, unknown, good = new_key(), new_key(), new_key()
    kafka.produce(topic, None, "no-id")
    kafka.produce(topic, None, "failing", id=failing, **{"X-Test": "status=503"})
    kafka.produce(topic, None, "unknown", id=unknown, **{"X-Test": "close=before"})
    kafka.produce(topic, None, "good", id=good)
    consumer = consumers(entry(kafka, topic, upstream, max_attempts=3))
    eventually(lambda: len(kafka.dead(topic)) == 3, every=0.2)
    upstream.wait_effects(1, good)
    reasons = {letter["body"]: letter["headers"]["Semel-Dead-Letter"] for letter in kafka.dead(topic)}
    assert reasons == {"no-id": "id-missing", "failing": "attempts-exhausted",
                       "unknown": "outcome-unknown"}
    attempts = [field(request, "Semel-Attempt") for request in upstream.requests(key=failing)]
    assert attempts == ["1", "2", "3"]
    assert consumer.records("unknown") == [unknown]


def test_an_offset_is_committed_only_when_everything_before_it_is_settled(
        kafka, consumers, upstream):
    topic = kafka.topic()
    slow, quick, gate = new_key(), new_key(), new_key()
    kafka.produce(topic, None, "slow", id=slow, **{"X-Test": f"gate={gate}"})
    kafka.produce(topic, None, "quick", id=quick)
    consumer = consumers(entry(kafka, topic, upstream))
    upstream.wait_effects(1, slow)
    eventually(lambda: consumer.records("completed") == [quick])
    consumer.kill9()  # the slow one is not done: both come again
    upstream.open_gate(gate)
    consumer.start()
    eventually(lambda: len(kafka.dead(topic)) == 1, every=0.2)
    assert consumer.records("unknown") == [slow]
    assert upstream.effects(key=quick) == 1 == upstream.effects(key=slow)
