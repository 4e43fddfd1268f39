"""Three gateways behind a load balancer that retries connections are restarted one after the other,
under load, again and again: no request fails, and none is executed twice."""

import random
import threading
import time

import pytest

from harness.peers.balancer import Balancer
from harness.clients.http_client import Connection, request_bytes
from harness.semel import assert_replay, new_key
from harness.clients.retrying_client import effects_by_key

CLIENTS = 24
ROUNDS = 2
SEED = 20260503
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold"}


@pytest.fixture(params=["postgres", "redis", "tiered"])
def store(request, database, redis):
    durable = {"kind": "postgres", "url": database.url}
    fast = {"kind": "redis", "url": redis.url()}
    return {"postgres": durable, "redis": fast,
            "tiered": {"kind": "tiered", "durable": durable, "cache": fast}}[request.param]


class Client(threading.Thread):
    """Sends one request after the other, each once, and wants an answer to each."""

    def __init__(self, number, balancer, ending):
        super().__init__()
        self._random, self._balancer, self._ending = random.Random(number), balancer, ending
        self.answers = {}  # key → (wire, answer)
        self.failures = []

    def run(self):
        while not self._ending.is_set():
            key = new_key()
            delay = self._random.choice([0, 0.01, 0.05, 0.2])
            wire = request_bytes("POST", "/charges", key=key, json={"n": self._random.random()},
                                 test=f"delay={delay}; status=201")
            try:
                with Connection(self._balancer.address) as connection:
                    connection.send(wire)
                    self.answers[key] = (wire, connection.read_response())
            except Exception as failure:  # whatever it is, a request has failed
                self.failures.append((key, repr(failure)))


def test_no_request_fails_while_every_node_is_restarted(start_gateway, upstream, store):
    print(f"seed {SEED}")
    nodes = [start_gateway(ROUTE, store=store) for _ in range(3)]
    ending = threading.Event()
    begun = time.monotonic()
    with Balancer(nodes) as balancer:
        clients = [Client(SEED + n, balancer, ending) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            for _ in range(ROUNDS):
                for node in nodes:
                    upstream.wait_effects(upstream.effects() + 50)
                    node.restart()
            upstream.wait_effects(upstream.effects() + 50)
        finally:
            ending.set()
            for client in clients:
                client.join()
    answers = {key: pair for client in clients for key, pair in client.answers.items()}
    failures = [failure for client in clients for failure in client.failures]
    bad = [answer for _, answer in answers.values() if answer.status != 201]
    print(f"{len(answers)} requests in {time.monotonic() - begun:.0f} s, retried by the balancer: "
          f"{dict(balancer.retried)}")
    assert not failures and not bad, (failures[:5], bad[:5])
    effects = effects_by_key(upstream)
    assert {key: len(found) for key, found in effects.items()} == {key: 1 for key in answers}
    for node in nodes:
        with node.connect() as connection:
            for key in list(answers)[:100]:
                wire, first = answers[key]
                connection.send(wire)
                assert_replay(connection.read_response(), first)
