"""`semel consume` from a real Kafka: duplicates everywhere, consumers and brokers killed with -9, partitions moved.

SEMEL_MESSAGES is the number of ids in the large runs (4,000; a tenth of it in the one with orders), SEMEL_SEED replays a run."""

import collections
import os
import random

import pytest
from harness.orders_fixtures import service, shop  # noqa: F401
from harness.semel import eventually, new_key

from kafka_entry import dead_letters, kafka_entry, messages, order, until_settled

MESSAGES = int(os.environ.get("SEMEL_MESSAGES", "4000"))
ORDERS = MESSAGES // 10
SEED = int(os.environ.get("SEMEL_SEED", random.randrange(1 << 32)))
STRATEGIES = ["range", "cooperative-sticky"]


def with_duplicates(dice, keys):
    copies = keys + dice.choices(keys, k=len(keys) // 4)
    dice.shuffle(copies)
    return copies


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_partitions_move_between_members_and_each_id_is_executed_once(
        kafka, consumers, upstream, database, strategy):
    topic = kafka.topic(partitions=6)
    keys = [new_key() for _ in range(300)]
    entry = kafka_entry(kafka, topic, f"{upstream.url}/handle", in_flight=8,
                        properties={"partition.assignment.strategy": strategy})
    store = {"kind": "postgres", "url": database.url}
    first = consumers(entry, store=store)
    kafka.produce(topic, messages(keys[:100]))
    upstream.wait_effects(100)
    second = consumers(entry, store=store)  # takes over some of the partitions
    eventually(lambda: first.stderr().count("broker connected") + second.stderr().count("broker connected") >= 2,
               timeout=60)
    kafka.produce(topic, messages(keys[100:200], **{"X-Test": "delay=0.01"}))
    upstream.wait("effects", 150, timeout=60)
    first.stop()  # gives its partitions back
    kafka.produce(topic, messages(keys[200:]))
    kafka.produce(topic, messages(keys))  # every one of them again
    upstream.wait("effects", 300, timeout=60)
    until_settled(kafka, topic)
    assert [upstream.effects(key=key) for key in keys] == [1] * len(keys)
    assert dead_letters(kafka, topic) == {}


def test_a_member_keeps_the_work_of_partitions_that_stay(kafka, consumers, upstream, database):
    """With cooperative-sticky nobody lets go of a partition that it keeps: work that waits on it goes on."""
    topic = kafka.topic(partitions=6)
    gate = new_key()
    keys = [new_key() for _ in range(60)]
    entry = kafka_entry(kafka, topic, f"{upstream.url}/handle", in_flight=60,
                        properties={"partition.assignment.strategy": "cooperative-sticky"})
    store = {"kind": "postgres", "url": database.url}
    first = consumers(entry, store=store)
    kafka.produce(topic, messages(keys, **{"X-Test": f"gate={gate}"}))
    upstream.wait("effects", 60, timeout=60)
    second = consumers(entry, store=store)
    eventually(lambda: "broker connected" in second.stderr(), timeout=60)
    upstream.open_gate(gate)
    until_settled(kafka, topic)
    assert [upstream.effects(key=key) for key in keys] == [1] * len(keys)
    acknowledged = first.metrics()[f"semel_messages_total{{operation={topic},result=acknowledged}}"]
    assert acknowledged >= 20, "it must have settled what came from the partitions that it kept"


def test_each_effect_at_most_once_and_every_message_done_or_listed_as_unknown(
        three_brokers, consumers, upstream, database):
    print("SEMEL_SEED =", SEED)
    dice = random.Random(SEED)
    kafka = three_brokers
    topic = kafka.topic(partitions=6)
    keys = [f"message-{number:06}" for number in range(MESSAGES)]
    kafka.produce(topic, messages(with_duplicates(dice, keys)))
    entry = kafka_entry(kafka, topic, f"{upstream.url}/handle", in_flight=64, prefetch=256)
    both = [consumers(entry, store={"kind": "postgres", "url": database.url}, log={"level": "warn"})
            for _ in range(2)]
    kills = ["consumer"] * 4 + ["broker"] * 2
    dice.shuffle(kills)
    for number, kill in enumerate(kills, 1):
        upstream.wait("effects", number * MESSAGES // 8 + dice.randrange(MESSAGES // 16), timeout=300)
        one = dice.choice(both if kill == "consumer" else kafka.brokers)
        one.kill9()
        one.start()
        if kill == "broker":
            kafka.wait_until_complete()
    until_settled(kafka, topic)

    effects = collections.Counter(request["key"] for request in upstream.requests())
    assert max(effects.values()) == 1
    completed, unknown = set(both[0].records("completed")), set(both[0].records("unknown"))
    assert completed | unknown == set(keys) and not completed & unknown
    assert all(effects[key] == 1 for key in completed)
    assert dead_letters(kafka, topic) == {key: {"outcome-unknown"} for key in unknown}


def test_every_message_makes_exactly_one_order(kafka, shop, service, consumers):
    """The handler commits the order and the record together, so that `unknown: retry` is exact."""
    dice = random.Random(SEED)
    topic = kafka.topic(partitions=4)
    keys = [f"message-{number}" for number in range(ORDERS)]
    kafka.produce(topic, [(None, order(key), {"id": key}) for key in with_duplicates(dice, keys)])
    entry = {**kafka_entry(kafka, topic, f"{service.address}/orders", prefetch=32),
             "completes": "executor", "unknown": "retry", "lease": "2s", "upstream_timeout": "10s",
             "in_flight": 8, "max_attempts": 1000, "name": "orders"}
    both = [consumers(entry, store={"kind": "postgres", "url": shop.url}) for _ in range(2)]
    for number, blow in enumerate(["consumer", "service", "broker", "consumer"], 1):
        eventually(lambda: shop.one("SELECT count(*) FROM public.orders") >= number * ORDERS // 6,
                   timeout=300)
        one = {"service": service, "broker": kafka}.get(blow) or dice.choice(both)
        one.kill9()
        one.start()
    until_settled(kafka, topic)
    made = dict(shop.execute("SELECT item, count(*) FROM public.orders GROUP BY item"))
    assert made == {key: 1 for key in keys}
    assert dead_letters(kafka, topic) == {}
