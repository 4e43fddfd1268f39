"""Two gateways on one database, 200 clients that retry, and everything is killed at random: either
gateway, the database, the connections between them in the middle of writes. Under `hold` nothing is
executed twice, and every answer that was acknowledged replays."""

import random
import time

from harness.clients.http_client import TIME_SCALE
from harness.servers.postgres_nodes import start_node
from harness.clients.retrying_client import Fleet, assert_once_and_remembered
from harness.semel import eventually

CLIENTS = 200
BLOWS = 24
SEED = 20260202
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold", "lease": "1s"}


def cut_connections(server):
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                   "WHERE application_name = 'semel' AND random() < 0.7", database="postgres")


def strike(chance, server, nodes):
    """Something dies. What can be started again is."""
    blow = chance.choice(["node", "node", "cut", "cut", "crash", "immediate", "restart"])
    if blow == "node":
        node = chance.choice(nodes)
        node.kill9()
        node.start()
    elif blow == "cut":
        cut_connections(server)
    else:
        {"crash": server.kill9, "immediate": server.stop_immediately, "restart": server.stop}[blow]()
        server.start()
    return blow


def test_everything_is_killed_at_random_and_no_key_is_executed_twice(database, start_gateway,
                                                                      upstream):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    nodes = [start_node(start_gateway, database.url, ROUTE) for _ in range(2)]
    begun = time.monotonic()
    blows = []
    with Fleet(CLIENTS, nodes, SEED) as fleet:
        for _ in range(BLOWS):
            # The moment is counted in work done, so that every blow falls under load.
            upstream.wait_effects(upstream.effects() + chance.randint(20, 200))
            blows.append(strike(chance, database.server, nodes))
        upstream.wait_effects(upstream.effects() + 100)
    print(f"{blows}\n{len(fleet.acknowledged)} acknowledged, {len(fleet.held)} held, "
          f"{fleet.tries} tries in {time.monotonic() - begun:.0f} s")
    assert len(fleet.acknowledged) > CLIENTS
    # A record that a dead node left in progress becomes unknown once its lease has run out.
    eventually(lambda: database.one("SELECT count(*) FROM semel.records WHERE state = 2") == 0,
               timeout=30 * TIME_SCALE)
    assert_once_and_remembered(fleet, nodes[0], upstream)
    assert_once_and_remembered(fleet, nodes[1], upstream)
