"""Two consumers share a PostgreSQL store, and the orders service of examples/python-orders is the handler: it
commits each order with its record. Consumers and service are killed with -9; with `unknown: retry` nobody
is asked for help, and every message makes exactly one order."""

import collections
import json
import random

import pytest

from consume_harness import NatsBroker
from nats_server import NatsServer
from orders_fixtures import service, shop  # noqa: F401
from semel_harness import eventually

MESSAGES = 400
SEED = 20261115
Handler = collections.namedtuple("Handler", "url")
BLOWS = ["consumer", "service", "consumer", "consumer"]


@pytest.fixture
def nats():
    server = NatsServer()
    try:
        yield NatsBroker(server.start())
    finally:
        server.discard()


def test_every_message_makes_exactly_one_order(shop, service, nats, consumers):
    dice = random.Random(SEED)
    queue = nats.queue()
    keys = [f"message-{number}" for number in range(MESSAGES)]
    copies = keys + dice.choices(keys, k=MESSAGES // 4)
    dice.shuffle(copies)
    queue.publish([(key, json.dumps({"item": key, "quantity": 1}).encode()) for key in copies])
    entry = {**nats.entry(queue, Handler(service.address), source={"ack_wait": "3s", "prefetch": 32}),
             "name": "orders", "to": f"{service.address}/orders", "completes": "executor",
             "unknown": "retry", "lease": "2s", "upstream_timeout": "10s", "in_flight": 8,
             "max_attempts": 1000}
    both = [consumers(entry, store={"kind": "postgres", "url": shop.url}) for _ in range(2)]

    def orders():
        return shop.one("SELECT count(*) FROM public.orders")

    for number, blow in enumerate(BLOWS, 1):
        eventually(lambda: orders() >= number * MESSAGES // 8, timeout=120)
        if blow == "service":
            service.kill9()
            service.start()
        else:
            one = dice.choice(both)
            one.kill9()
            one.start()
    eventually(lambda: queue.counts() == (0, 0), timeout=180, every=0.2)
    made = dict(shop.execute("SELECT item, count(*) FROM public.orders GROUP BY item"))
    assert made == {key: 1 for key in keys}
    assert shop.one("SELECT count(*) FROM semel.guards") == 0


