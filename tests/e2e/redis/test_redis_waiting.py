"""Duplicates that wait in one gateway for what runs in another: woken by push, and by the slow poll
where the push is missed."""

import time

import pytest

from harness.clients.http_client import TIME_SCALE, request_bytes
from harness.semel import Background, assert_replay, eventually, new_key, settle

BODY = {"amount": 100}
ROUTE = {"name": "wait", "path": "/wait", "in_progress": "wait", "wait_timeout": "60s"}
WAITERS = 8


@pytest.fixture(scope="module")
def gateways(module_gateway, redis):
    store = {"kind": "redis", "url": redis.url()}
    return [module_gateway(ROUTE, store=store) for _ in range(2)]


def waiting_elsewhere(gateways, upstream, redis, key, gate):
    """An execution in the first gateway, and duplicates that wait for it in the second."""
    first = Background(gateways[0].post, "/wait", json=BODY, key=key, test=f"gate={gate}")
    upstream.wait_effects(1, key)
    others = [Background(gateways[1].post, "/wait", json=BODY, key=key) for _ in range(WAITERS)]
    eventually(lambda: redis("KEYS", "semel:*:waiting"))
    settle()
    assert not any(other.done for other in others), "a duplicate did not wait"
    return first, others


def test_they_are_woken_by_push_and_all_get_the_one_answer(gateways, upstream, redis):
    waits = []
    for round in range(5):
        key = new_key()
        first, others = waiting_elsewhere(gateways, upstream, redis, key, f"push{round}")
        upstream.open_gate(f"push{round}")
        done = first.result()
        answered = time.monotonic()
        for other in others:
            assert_replay(other.result(), done)
        waits.append(time.monotonic() - answered)
        assert upstream.effects(key) == 1
    # A poll looks once a second; a push is there at once.
    assert sorted(waits)[2] < 0.4 * TIME_SCALE, waits


def test_nothing_is_published_where_nobody_waits(gateways, upstream, redis, key):
    with redis.client() as listener:
        listener("PSUBSCRIBE", "*")
        assert gateways[0].post("/wait", json=BODY, key=key).status == 200
        listener.send("PING")
        assert listener.reply()[0] == b"pong", "something was published"


def test_without_the_push_the_slow_poll_finds_out(gateways, upstream, redis, key):
    first, others = waiting_elsewhere(gateways, upstream, redis, key, "poll")
    with redis.client() as operator:
        operator("CONFIG", "SET", "maxclients", "1")  # nobody can subscribe again
        try:
            assert operator("CLIENT", "KILL", "TYPE", "pubsub") == len(gateways)
            upstream.open_gate("poll")
            done = first.result()
            for other in others:
                assert_replay(other.result(), done)
        finally:
            operator("CONFIG", "SET", "maxclients", "1000")
    assert upstream.effects(key) == 1
