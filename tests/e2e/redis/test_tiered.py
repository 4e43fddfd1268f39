"""The tiered store: PostgreSQL decides, Redis only remembers. Whatever happens to Redis, nothing is
executed twice."""

import random
import time

import pytest

from harness.clients.http_client import TIME_SCALE
from harness.clients.retrying_client import Fleet, assert_once_and_remembered
from harness.semel import assert_problem, assert_replay, eventually, let_pass, new_key

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold"}
SECRET = "the-body-of-an-answer"
SEED = 20260401


@pytest.fixture
def store(database, redis):
    redis("FLUSHALL")
    return {"kind": "tiered", "durable": {"kind": "postgres", "url": database.url},
            "cache": {"kind": "redis", "url": redis.url()}, "cache_for": "60s"}


REMOVED_BYTES_MAX = 32  # a note that a record is gone has its time only


def copies(redis):
    """Of records; a record that was removed leaves a note without one, such as that of the trial at the start."""
    return [name for name in redis("KEYS", "semel:*:cached") if redis("STRLEN", name) > REMOVED_BYTES_MAX]


def test_a_replay_is_read_from_redis_and_a_claim_is_decided_by_postgres(start_gateway, upstream,
                                                                       postgres, redis, store, key):
    gateway = start_gateway(ROUTE, store=store)
    first = gateway.post("/charges", json=BODY, key=key)
    assert first.status == 200
    eventually(lambda: copies(redis))
    postgres.stop_immediately()
    try:
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        fresh = new_key()
        assert_problem(gateway.post("/charges", json=BODY, key=fresh), 503, "store-unavailable")
        assert upstream.effects(fresh) == 0
    finally:
        postgres.start()
    eventually(lambda: gateway.post("/charges", json=BODY, key=fresh).status == 200)
    assert upstream.effects(key) == upstream.effects(fresh) == 1


def test_redis_away_is_slower_and_not_wrong(start_gateway, upstream, redis, store, key):
    gateway = start_gateway(ROUTE, store=store)
    first = gateway.post("/charges", json=BODY, key=key)
    redis.kill9()
    try:
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        assert gateway.admin("/readyz").status == 200
        fresh = new_key()
        second = gateway.post("/charges", json=BODY, key=fresh)
        assert second.status == 200
        # It starts without the cache as well.
        gateway.restart()
        assert_replay(gateway.post("/charges", json=BODY, key=fresh), second)
        assert "the cache is unavailable" in gateway.stderr()
    finally:
        redis.start()
    assert upstream.effects(key) == upstream.effects(fresh) == 1
    # A miss fills the cache.
    redis("FLUSHALL")
    eventually(lambda: gateway.post("/charges", json=BODY, key=key).replayed and copies(redis))


def test_a_server_that_hangs_is_passed_by(start_gateway, upstream, redis, store, key):
    gateway = start_gateway(ROUTE, store=store)
    first = gateway.post("/charges", json=BODY, key=key)
    redis.freeze()
    try:
        for _ in range(20):
            assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        assert gateway.post("/charges", json=BODY, key=new_key()).status == 200
    finally:
        redis.thaw()
    assert upstream.effects(key) == 1


def test_an_entry_lives_no_longer_than_cache_for(start_gateway, redis, store, key):
    gateway = start_gateway(ROUTE, store={**store, "cache_for": "1s"})
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    [copy] = eventually(lambda: copies(redis))
    assert 0 < redis("PTTL", copy) <= 1000


def test_an_entry_lives_no_longer_where_two_caches_lie_behind_each_other(start_gateway, redis,
                                                                         store, key):
    gateway = start_gateway(ROUTE, store={**store, "cache_for": "2s", "local_cache": "1MiB"})
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    [copy] = eventually(lambda: copies(redis))
    assert 0 < redis("PTTL", copy) <= 1000


@pytest.mark.parametrize("caches", [{}, {"local_cache": "1MiB"}], ids=["redis", "both"])
def test_what_is_forgotten_is_replayed_by_nobody_once_it_can_be_executed(start_gateway, upstream,
                                                                         store, key, caches):
    nodes = [start_gateway(ROUTE, store={**store, **caches, "cache_for": "3s"}) for _ in range(2)]
    first = nodes[0].post("/charges", json=BODY, key=key)
    assert first.status == 200
    for node in nodes:
        assert_replay(node.post("/charges", json=BODY, key=key), first)
    forgotten_at = time.monotonic()
    record = nodes[0].record(key)
    assert nodes[0].change(f"/api/keys/{record['id']}/forget", {"reason": "erasure"}).status == 200
    # Each says either the old answer or that it is gone, and once it is gone it stays so.
    gone, seen = set(), None
    while seen is None:
        for node in nodes:
            answer = node.post("/charges", json=BODY, key=key)
            if answer.status == 410:
                gone.add(node)
            elif answer.replayed and answer.effect == first.effect:
                assert node not in gone and time.monotonic() < forgotten_at + 3 * TIME_SCALE
            else:
                assert answer.status == 200 and gone == set(nodes), answer
                seen = seen or answer
                assert answer.effect == seen.effect
    assert time.monotonic() >= forgotten_at + 3
    assert upstream.effects(key) == 2


def test_what_lies_in_redis_is_sealed(start_gateway, redis, store, tmp_path, key):
    keys = tmp_path / "keys"
    keys.write_text("k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n")
    keys.chmod(0o600)
    gateway = start_gateway(ROUTE, store=store, encryption={"keys_file": str(keys)})
    first = gateway.post("/charges", json={"note": SECRET}, key=key,
                         test=f"header.X-Kept={SECRET}")
    assert first.status == 200
    [copy] = eventually(lambda: copies(redis))
    assert SECRET.encode() not in redis("GET", copy)
    assert_replay(gateway.post("/charges", json={"note": SECRET}, key=key), first)


def test_whatever_happens_to_redis_nothing_is_executed_twice(start_gateway, upstream, redis, store):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    gateways = [start_gateway({**ROUTE, "lease": "3s"}, store=store) for _ in range(2)]
    with Fleet(8, gateways, SEED) as fleet:
        for round in range(8):
            upstream.wait_effects(upstream.effects() + chance.randint(5, 40))
            what = round % 4
            if what == 0:
                redis("FLUSHALL")
            elif what == 1:
                redis.kill9()
                let_pass(0.2 * TIME_SCALE)
                redis.start()
            elif what == 2:
                redis.freeze()
                let_pass(0.2 * TIME_SCALE)
                redis.thaw()
            else:
                gateways[0].kill9()
                gateways[0].start()
        upstream.wait_effects(upstream.effects() + 50)
    print(f"{len(fleet.acknowledged)} acknowledged, {len(fleet.held)} held")
    assert_once_and_remembered(fleet, gateways[1], upstream)


def test_the_cache_of_the_process_answers_for_a_while(start_gateway, upstream, redis, key):
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": redis.url(),
                                          "local_cache": "1MiB", "cache_for": "60s"})
    first = gateway.post("/charges", json=BODY, key=key)
    redis.kill9()
    try:
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        assert_problem(gateway.post("/charges", json=BODY, key=new_key()), 503,
                       "store-unavailable")
        # Another payload under the key is refused without asking as well.
        assert_problem(gateway.post("/charges", json={"amount": 2}, key=key), 422, "key-reused")
    finally:
        redis.start()
    assert upstream.effects(key) == 1
