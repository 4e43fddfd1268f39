"""Failover by Sentinel and slots that move, under load. DESIGN 6, trap 28: what one replica has
acknowledged survives only if that one is promoted; here there is one."""

from harness.servers.redis_server import until
from harness.clients.retrying_client import Fleet, assert_once_and_remembered
from harness.semel import assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold", "lease": "3s"}
CLIENTS = 8
SEED = 20260301


def sentinel_store(replicated, **more):
    hosts = [sentinel.address for sentinel in replicated.sentinels]
    return {"kind": "redis", "sentinel": {"master": "semel", "hosts": hosts}, **more}


def test_trap_28_a_failover_under_load_takes_nothing_back(start_gateway, upstream, replicated):
    store = sentinel_store(replicated, replicas=1)
    gateways = [start_gateway(ROUTE, store=store) for _ in range(2)]
    old = replicated.master()
    with Fleet(CLIENTS, gateways, SEED) as fleet:
        upstream.wait_effects(50)
        old.kill9()
        until(lambda: replicated.master() is not old)
        # Nothing is written until the promoted one has a replica again.
        old.start()
        until(lambda: replicated.master().info("connected_slaves") == "1")
        upstream.wait_effects(upstream.effects() + 100)
    print(f"{len(fleet.acknowledged)} acknowledged, {len(fleet.held)} held")
    assert len(fleet.acknowledged) > 100
    assert_once_and_remembered(fleet, gateways[0], upstream)


def test_too_few_replicas_and_nothing_is_executed(start_gateway, upstream, replicated, key):
    gateway = start_gateway(ROUTE, store=sentinel_store(replicated, replicas=1))
    first = gateway.post("/charges", json=BODY, key=key)
    assert first.status == 200
    master = replicated.master()
    replica = next(s for s in replicated.servers if s is not master)
    replica.kill9()
    fresh = new_key()
    answer = gateway.post("/charges", json=BODY, key=fresh)
    assert_problem(answer, 503, "store-unavailable")
    # Without the replica, a record that was read is not certain either.
    assert_problem(gateway.post("/charges", json=BODY, key=key), 503, "store-unavailable")
    assert upstream.effects(fresh) == 0
    replica.start()
    until(lambda: master.info("connected_slaves") == "1")
    eventually(lambda: gateway.post("/charges", json=BODY, key=key).status == 200)
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1


def test_slots_that_move_under_load(start_gateway, upstream, cluster):
    store = {"kind": "redis", "cluster": [s.address for s in cluster.servers]}
    gateways = [start_gateway(ROUTE, store=store) for _ in range(2)]
    with Fleet(CLIENTS, gateways, SEED) as fleet:
        upstream.wait_effects(50)
        tags = sorted({key.decode()[7:9] for server in cluster.servers
                       for key in server("KEYS", "semel:*:ids")})[:24]
        assert len(tags) == 24
        for tag in tags:
            slot = cluster.servers[0]("CLUSTER", "KEYSLOT", "{%s}" % tag)
            owner = cluster.owner_of(slot)
            to = cluster.servers[(cluster.servers.index(owner) + 1) % 3]
            cluster.move_slot(slot, to)
        upstream.wait_effects(upstream.effects() + 100)
    print(f"{len(fleet.acknowledged)} acknowledged, {len(fleet.held)} held")
    assert_once_and_remembered(fleet, gateways[1], upstream)
    assert not fleet.held, "a slot that moves makes nobody unsure"


def test_a_member_of_the_cluster_that_is_killed_takes_only_its_own_with_it(start_gateway, upstream,
                                                                           cluster):
    for server in cluster.servers:
        server("CONFIG", "SET", "cluster-require-full-coverage", "no")
    store = {"kind": "redis", "cluster": [s.address for s in cluster.servers]}
    gateway = start_gateway(ROUTE, store=store)
    answers = {}
    for _ in range(30):
        key = new_key()
        answers[key] = gateway.post("/charges", json=BODY, key=key)
        assert answers[key].status == 200
    cluster.servers[0].kill9()
    outcomes = [gateway.post("/charges", json=BODY, key=key).status for key in answers]
    assert set(outcomes) == {200, 503}
    cluster.servers[0].start()
    for key, first in answers.items():
        eventually(lambda: gateway.post("/charges", json=BODY, key=key).status == 200)
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        assert upstream.effects(key) == 1
