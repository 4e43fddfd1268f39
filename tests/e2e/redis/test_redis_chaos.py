"""Three gateways, 200 clients that retry, and everything is killed at random: gateways, Redis servers,
with failover by Sentinel, slots that move. Duplicates are counted by the upstream's ledger.

`tiered`: none, whatever happens to Redis. `redis` with as many acknowledgements as replicas and
`appendfsync always`: none in these runs; docs/redis.md says what remains possible.

SEMEL_CHAOS_BLOWS: how often something is struck; a longer run."""

import os
import random
import time

from harness.clients.http_client import TIME_SCALE
from harness.servers.redis_server import until
from harness.clients.retrying_client import Fleet, assert_once_and_remembered
from harness.semel import eventually, let_pass

CLIENTS = 200
NODES = 3
# Failovers take their time, and everything that was acknowledged meanwhile is asked for again on every node.
REST_SECONDS = 1
SEED = 20260505
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold", "lease": "1s"}


def blows(usual):
    return int(os.environ.get("SEMEL_CHAOS_BLOWS") or usual)


def kill_node(chance, nodes):
    node = chance.choice(nodes)
    node.kill9()
    node.start()


def kill_and_fail_over(replicated):
    """The master dies, the replica is promoted, the old master comes back and follows it."""
    old = replicated.master()
    old.kill9()
    until(lambda: replicated.master() is not old)
    old.start()
    until(lambda: replicated.master().info("connected_slaves") == "1")


def under_fire(start_gateway, upstream, store, strikes, count):
    """Strikes `count` times, each time under load, and checks what is promised on every node."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    nodes = [start_gateway(ROUTE, store=store) for _ in range(NODES)]
    begun = time.monotonic()
    struck = []
    with Fleet(CLIENTS, nodes, SEED, rest=REST_SECONDS) as fleet:
        for number in range(count):
            # The moment is counted in work done, so that every blow falls under load.
            upstream.wait_effects(upstream.effects() + chance.randint(20, 150))
            name = list(strikes)[number % len(strikes)]
            strikes[name](chance, nodes)
            struck.append(name)
        upstream.wait_effects(upstream.effects() + 100)
    print(f"{struck}\n{len(fleet.acknowledged)} acknowledged, {len(fleet.held)} held, "
          f"{fleet.tries} tries in {time.monotonic() - begun:.0f} s")
    assert len(fleet.acknowledged) > CLIENTS
    for node in nodes:
        assert_once_and_remembered(fleet, node, upstream)


def sentinel_of(replicated):
    return {"master": "semel", "hosts": [s.address for s in replicated.sentinels]}


def test_tiered_whatever_happens_to_redis_nothing_is_executed_twice(start_gateway, upstream, database,
                                                                    replicated):
    def flush(chance, nodes):
        replicated.master()("FLUSHALL")

    def freeze(chance, nodes):
        master = replicated.master()
        master.freeze()
        let_pass(0.3 * TIME_SCALE)
        master.thaw()

    def cut(chance, nodes):
        database.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                "WHERE application_name = 'semel' AND random() < 0.7",
                                database="postgres")

    strikes = {"node": lambda chance, nodes: kill_node(chance, nodes),
               "failover": lambda chance, nodes: kill_and_fail_over(replicated),
               "flush": flush, "freeze": freeze, "cut": cut}
    store = {"kind": "tiered", "durable": {"kind": "postgres", "url": database.url},
             "cache": {"kind": "redis", "sentinel": sentinel_of(replicated)}, "cache_for": "60s"}
    under_fire(start_gateway, upstream, store, strikes, blows(6))
    eventually(lambda: database.one("SELECT count(*) FROM semel.records WHERE state = 2") == 0,
               timeout=30 * TIME_SCALE)


def test_redis_with_a_replica_survives_failovers(start_gateway, upstream, replicated):
    strikes = {"node": lambda chance, nodes: kill_node(chance, nodes),
               "failover": lambda chance, nodes: kill_and_fail_over(replicated)}
    store = {"kind": "redis", "sentinel": sentinel_of(replicated), "replicas": 1}
    under_fire(start_gateway, upstream, store, strikes, blows(4))


def test_a_cluster_survives_kills_and_slots_that_move(start_gateway, upstream, cluster):
    def slots(chance, nodes):
        for bucket in chance.sample(range(256), 12):
            slot = cluster.servers[0]("CLUSTER", "KEYSLOT", "{%02x}" % bucket)
            cluster.move_slot(slot, chance.choice(cluster.servers))

    def member(chance, nodes):
        server = chance.choice(cluster.servers)
        server.kill9()
        let_pass(0.3 * TIME_SCALE)
        server.start()
        for one in cluster.servers:
            until(lambda: b"cluster_state:ok" in one("CLUSTER", "INFO"))
        until(cluster.agrees)

    strikes = {"slots": slots, "node": lambda chance, nodes: kill_node(chance, nodes),
               "member": member}
    store = {"kind": "redis", "cluster": [s.address for s in cluster.servers]}
    under_fire(start_gateway, upstream, store, strikes, blows(9))
