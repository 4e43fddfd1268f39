"""Two consumers share a PostgreSQL store, and the orders service of examples/python-orders is the handler: it
commits each order with its record. Consumers, service and broker are killed with -9; with `unknown: retry`
nobody is asked for help, and every message makes exactly one order.

SEMEL_MESSAGES is the number of ids (400)."""

import collections
import json
import os
import random

from harness.consume import until_settled
from harness.orders_fixtures import service, shop  # noqa: F401
from harness.semel import eventually

MESSAGES = int(os.environ.get("SEMEL_MESSAGES", "400"))
SEED = 20261115
Handler = collections.namedtuple("Handler", "url")
BLOWS = ["consumer", "service", "broker", "consumer", "consumer"]


def test_every_message_makes_exactly_one_order(shop, service, broker, consumers):
    dice = random.Random(SEED)
    queue = broker.queue()
    keys = [f"message-{number}" for number in range(MESSAGES)]
    copies = keys + dice.choices(keys, k=MESSAGES // 4)
    dice.shuffle(copies)
    queue.publish([(key, json.dumps({"item": key, "quantity": 1}).encode()) for key in copies])
    source = {"ack_wait": "3s"} if broker.name == "nats" else {}
    entry = {**broker.entry(queue, Handler(service.address), source={**source, "prefetch": 32}),
             "name": "orders", "to": f"{service.address}/orders", "completes": "executor",
             "unknown": "retry", "lease": "2s", "upstream_timeout": "10s", "in_flight": 8,
             "max_attempts": 1000}
    both = [consumers(entry, store={"kind": "postgres", "url": shop.url}) for _ in range(2)]

    def orders():
        return shop.one("SELECT count(*) FROM public.orders")

    for number, blow in enumerate(BLOWS, 1):
        eventually(lambda: orders() >= number * MESSAGES // 8, timeout=900)
        if blow == "service":
            service.kill9()
            service.start()
        elif blow == "broker":
            broker.server.kill9()
            broker.server.start()
        else:
            one = dice.choice(both)
            one.kill9()
            one.start()
    until_settled(queue, *both, operation="orders", timeout=900)
    made = dict(shop.execute("SELECT item, count(*) FROM public.orders GROUP BY item"))
    assert made == {key: 1 for key in keys}
    assert shop.one("SELECT count(*) FROM semel.guards") == 0
