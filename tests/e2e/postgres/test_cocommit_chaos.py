"""Two gateways on one database, 200 clients that retry, and the orders service of examples/python-orders behind
them, which commits each order with its record. Either gateway, the service and the database are killed at
random, connections are cut in the middle of writes. With `unknown: retry` nobody is asked for help: every key has one
order at most, every answer that was acknowledged replays, and in the end every client has one."""

import json
import random
import threading
import time

import pytest

from harness.clients.http_client import TIME_SCALE, Connection, ConnectionEnded
from harness.orders_fixtures import service, shop  # noqa: F401
from harness.servers.postgres_nodes import start_node
from harness.semel import eventually, new_key

CLIENTS = 200
SEED = 20260404
CHAOS_SECONDS = 25
BLOWS = ["gateway", "gateway", "service", "service", "cut", "cut", "crash", "immediate", "restart"]
ROUTE = {"name": "orders", "path": "/orders", "completes": "executor", "unknown": "retry", "lease": "1s",
         "upstream_timeout": "10s"}


class Customer(threading.Thread):
    """Orders one thing after the other, each under its own key, and asks again until it is told that it was made."""

    def __init__(self, seed, gateways, ending):
        super().__init__()
        self._chance = random.Random(seed)
        self._gateways, self._ending = gateways, ending
        self._connection = None
        self.acknowledged = {}  # key → body
        self.pending = None
        self.failure = None

    def run(self):
        try:
            while not self._ending.is_set():
                self.pending = new_key()
                while not self._ending.is_set():
                    answer = self._try()
                    if answer is not None and answer.status == 201:
                        self.acknowledged[self.pending] = answer.body
                        self.pending = None
                        break
                    # A final refusal would be one that the service never gave.
                    assert answer is None or answer.status in (409, 502, 503, 504), answer
                    self._ending.wait(0.05 * self._chance.random())
        except BaseException as failure:
            self.failure = failure
        finally:
            self._hang_up()

    def _try(self):
        try:
            if self._connection is None:
                self._connection = Connection(self._chance.choice(self._gateways).address)
            return order(self._connection, self.pending)
        except (ConnectionEnded, OSError):
            self._hang_up()
            return None

    def _hang_up(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def order(connection, key):
    """The item is the key, so that the orders say themselves to which key they belong."""
    return connection.request("POST", "/orders", json.dumps({"item": key, "quantity": 1}).encode(), key=key)


def strike(blow, chance, shop, gateways, service):
    """Something dies. What can be started again is."""
    if blow == "gateway":
        one = chance.choice(gateways)
        one.kill9()
        one.start()
    elif blow == "service":
        service.kill9()
        service.start()
    elif blow == "cut":
        shop.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                            "AND backend_type = 'client backend' AND random() < 0.7", database="postgres")
    else:
        {"crash": shop.server.kill9, "immediate": shop.server.stop_immediately,
         "restart": shop.server.stop}[blow]()
        shop.server.start()


def test_everything_is_killed_at_random_and_every_order_is_made_once(shop, service, start_gateway):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    gateways = [start_node(start_gateway, shop.url, {**ROUTE, "upstream": service.address}) for _ in range(2)]
    ending = threading.Event()
    customers = [Customer(SEED + number, gateways, ending) for number in range(CLIENTS)]
    blows, begun = [], time.monotonic()

    def acknowledged():
        return sum(len(customer.acknowledged) for customer in customers)

    for customer in customers:
        customer.start()
    try:
        while len(blows) < len(BLOWS) or time.monotonic() - begun < CHAOS_SECONDS * TIME_SCALE:
            if len(blows) % len(BLOWS) == 0:
                next_ones = chance.sample(BLOWS, len(BLOWS))  # each of them once, in some order
            blows.append(next_ones.pop())
            # The moment is counted in work done, so that every blow falls under load.
            before, wanted = acknowledged(), chance.randint(5, 60)
            eventually(lambda: acknowledged() >= before + wanted, timeout=60 * TIME_SCALE)
            strike(blows[-1], chance, shop, gateways, service)
    finally:
        ending.set()
        for customer in customers:
            customer.join()
    print(f"{blows}\n{acknowledged()} acknowledged in {time.monotonic() - begun:.0f} s")
    assert [customer.failure for customer in customers if customer.failure] == []
    assert acknowledged() > CLIENTS

    answers = {key: body for customer in customers for key, body in customer.acknowledged.items()}
    pending = [customer.pending for customer in customers if customer.pending]
    # Customers without an answer ask again, now that all is quiet, and succeed without an operator.
    with gateways[0].connect() as connection:
        for key in pending:
            made = []
            eventually(lambda: made.append(order(connection, key)) or made[-1].status == 201, timeout=30 * TIME_SCALE)
            answers[key] = made[-1].body

    made = dict(shop.execute("SELECT item, array_agg(id) FROM public.orders GROUP BY item"))
    twice = {key: orders for key, orders in made.items() if len(orders) > 1}
    assert not twice, f"made more than once: {twice}"
    assert {key: json.loads(body)["order"] for key, body in answers.items()} == {
        key: orders[0] for key, orders in made.items()}
    for gateway, keys in zip(gateways, (sorted(answers)[::2], sorted(answers)[1::2])):
        with gateway.connect() as connection:
            for key in keys:
                replay = order(connection, key)
                assert (replay.status, replay.body, replay.replayed) == (201, answers[key], True)
    assert shop.one("SELECT count(*) FROM semel.guards") == 0
