"""At least once made once: consumers and brokers are killed with -9 at random under load, duplicates
are everywhere, and the effects at the handler are counted.

SEMEL_MESSAGES is the number of ids (2,000), SEMEL_SEED replays a run."""

import collections
import os
import random

from harness.consume import until_settled

MESSAGES = int(os.environ.get("SEMEL_MESSAGES", "2000"))
SEED = int(os.environ.get("SEMEL_SEED", random.randrange(1 << 32)))
CONSUMER_KILLS = 4


def test_each_effect_at_most_once_and_every_message_done_or_listed_as_unknown(
        broker, consumers, upstream):
    print("SEMEL_SEED =", SEED)
    dice = random.Random(SEED)
    queue = broker.queue()
    keys = [f"message-{number:06}" for number in range(MESSAGES)]
    copies = keys + dice.choices(keys, k=MESSAGES // 3)
    dice.shuffle(copies)
    queue.publish([(key, b'{"amount": 1}', {"X-Test": "delay=0.005"}) for key in copies])
    source = {"ack_wait": "3s"} if broker.name == "nats" else {}
    consumer = consumers(broker.entry(queue, upstream, source=source, in_flight=32),
                         log={"level": "warn"})
    kills = ["consumer"] * CONSUMER_KILLS + ["broker"]
    dice.shuffle(kills)
    for number, kill in enumerate(kills, 1):
        upstream.wait("effects", number * MESSAGES // 8 + dice.randrange(MESSAGES // 16), timeout=300)
        if kill == "consumer":
            consumer.kill9()
            consumer.start()
        else:
            broker.server.kill9()
            broker.server.start()
    until_settled(queue, consumer, timeout=300)

    effects = collections.Counter(request["key"] for request in upstream.requests())
    assert max(effects.values()) == 1
    completed, unknown = set(consumer.records("completed")), set(consumer.records("unknown"))
    assert completed | unknown == set(keys) and not completed & unknown
    assert all(effects[key] == 1 for key in completed)
    assert unknown, "the kills hit nothing that ran"
    dead = broker.reasons(queue)
    assert set(dead) == unknown
    assert {reason for reason, _, _ in dead.values()} == {"outcome-unknown"}
