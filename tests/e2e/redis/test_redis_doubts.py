"""A gateway that has reason to doubt its own clock, or its server: clocks that are days apart, a replica
with a fast clock that is promoted, a server that does not tell its time, settings that are changed while
everything runs."""

import pytest

from harness.clients.http_client import request_bytes
from harness.servers.redis_server import RedisError, Replicated, until
from harness.semel import assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}
DAY = 86400
ROUTES = ({"name": "charges", "path": "/charges", "ttl": "1h"},
          {"name": "again", "path": "/again", "unknown": "retry", "lease": "30s"})


@pytest.fixture
def new_gateway(start_gateway, redis):
    def start(machine=None, **store):
        return start_gateway(*ROUTES, store={"kind": "redis", "url": redis.url(), **store},
                             environment=machine.environment if machine else None)
    return start


def is_ready(gateway):
    return gateway.admin("/readyz").status == 200


def doubt(gateway):
    """Waits for /readyz to report a doubt, and returns its text."""
    answer = eventually(lambda: (a := gateway.admin("/readyz")).status == 503 and a)
    return answer.body.decode()


def test_a_node_days_ahead_sweeps_nothing_and_takes_nothing_over(new_gateway, new_machine, upstream,
                                                                 key):
    right = new_gateway()
    first = right.post("/charges", json=BODY, key=key)
    running = new_key()
    with right.connect() as connection:
        connection.send(request_bytes("POST", "/again", json=BODY, key=running, test="gate=runs"))
        upstream.wait_effects(1, running)

        machine = new_machine(ahead=3 * DAY)
        fast = new_gateway(machine)
        assert "3 days ahead of that of Redis" in doubt(fast)
        assert "3 days ahead" in fast.stderr()
        assert_replay(fast.post("/charges", json=BODY, key=key), first)
        assert_problem(fast.post("/again", json=BODY, key=running), 409, "in-progress")
        # New records are only kept longer than needed, which does no harm.
        fresh = new_key()
        begun = fast.post("/charges", json=BODY, key=fresh)
        assert begun.status == 200
        assert_replay(right.post("/charges", json=BODY, key=fresh), begun)
        metrics = fast.metrics()
        assert metrics["semel_store_clock_ahead_seconds"] == pytest.approx(3 * DAY, abs=5)
        assert (metrics["semel_store_doubts_clock"], metrics["semel_store_doubts_claims"]) == (1, 0)

        machine.set_clock(0)
        eventually(lambda: is_ready(fast))
        assert fast.metrics()["semel_purged_records_total"] == 0
        assert right.record(key)["state"] == "completed"
        assert right.record(running)["state"] == "in_progress"
        upstream.open_gate("runs")
        assert connection.read_response().status == 200
    assert upstream.effects(key) == upstream.effects(running) == upstream.effects(fresh) == 1
    assert is_ready(right) and right.metrics()["semel_store_doubts_clock"] == 0


def test_a_clock_that_is_set_ahead_is_doubted_at_once(new_gateway, new_machine, upstream, key):
    """Not only when the server is asked again: a sweep may come first."""
    machine = new_machine()
    gateway = new_gateway(machine)
    assert is_ready(gateway)
    first = gateway.post("/charges", json=BODY, key=key)
    machine.set_clock(3 * DAY)
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert gateway.admin("/readyz").status == 503
    machine.set_clock(0)
    eventually(lambda: is_ready(gateway))
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1
    assert gateway.metrics()["semel_purged_records_total"] == 0


def test_a_node_behind_begins_nothing_new(new_gateway, new_machine, upstream, key):
    """Its claims would be over before they began, by everybody else's clock."""
    right = new_gateway()
    first = right.post("/charges", json=BODY, key=key)
    machine = new_machine(ahead=-DAY)
    slow = new_gateway(machine)
    assert "24 hours behind that of Redis" in doubt(slow)
    assert_replay(slow.post("/charges", json=BODY, key=key), first)
    fresh = new_key()
    assert_problem(slow.post("/charges", json=BODY, key=fresh), 503, "store-unavailable")
    assert upstream.effects(fresh) == 0
    assert slow.metrics()["semel_store_doubts_claims"] == 1
    machine.set_clock(0)
    eventually(lambda: is_ready(slow))
    assert slow.post("/charges", json=BODY, key=fresh).status == 200
    assert upstream.effects(key) == upstream.effects(fresh) == 1


def url_without(server, *withheld):
    """The URL of a user who may do everything else."""
    server("ACL", "SETUSER", "semel", "on", ">p", "~semel:*", "&semel:*", "+@all", *withheld)
    return f"redis://semel:p@{server.address}/0"


def test_a_node_that_is_refused_the_time_sweeps_nothing_and_takes_nothing_over(
        new_gateway, new_redis, new_machine, upstream, key):
    server = new_redis()
    right = new_gateway(url=server.url())
    first = right.post("/charges", json=BODY, key=key)
    running = new_key()
    with right.connect() as connection:
        connection.send(request_bytes("POST", "/again", json=BODY, key=running, test="gate=runs"))
        upstream.wait_effects(1, running)

        machine = new_machine(ahead=3 * DAY)
        blind = new_gateway(machine, url=url_without(server, "-time"))
        said = doubt(blind)
        assert f"Redis at {server.address} does not allow TIME" in said
        assert "NOPERM" in said and "ACL SETUSER semel +time" in said
        assert "does not allow TIME" in blind.stderr()
        assert_replay(blind.post("/charges", json=BODY, key=key), first)
        assert_problem(blind.post("/again", json=BODY, key=running), 409, "in-progress")
        # Its clock may be behind as well.
        fresh = new_key()
        assert_problem(blind.post("/charges", json=BODY, key=fresh), 503, "store-unavailable")
        metrics = blind.metrics()
        assert (metrics["semel_store_doubts_clock"], metrics["semel_store_doubts_claims"]) == (1, 1)

        server("ACL", "SETUSER", "semel", "+time")
        eventually(lambda: "3 days ahead of that of Redis" in doubt(blind))
        assert "does not allow TIME" not in doubt(blind)
        machine.set_clock(0)
        eventually(lambda: is_ready(blind))
        assert blind.metrics()["semel_purged_records_total"] == 0
        assert right.record(key)["state"] == "completed"
        assert right.record(running)["state"] == "in_progress"
        upstream.open_gate("runs")
        assert connection.read_response().status == 200
    assert blind.post("/charges", json=BODY, key=fresh).status == 200
    assert upstream.effects(key) == upstream.effects(running) == upstream.effects(fresh) == 1


def test_a_right_to_the_time_that_is_taken_away_while_it_runs(new_gateway, new_redis):
    server = new_redis()
    gateway = new_gateway(url=url_without(server))
    assert is_ready(gateway)
    server("ACL", "SETUSER", "semel", "-time")
    assert "does not allow TIME" in doubt(gateway)
    eventually(lambda: "does not allow TIME" in gateway.stderr())
    server("ACL", "SETUSER", "semel", "+time")
    eventually(lambda: is_ready(gateway))
    assert gateway.post("/charges", json=BODY, key=new_key()).status == 200


def begins_failover(replicated):
    """False: the Sentinel has not heard of the replica yet."""
    try:
        replicated.sentinels[0]("SENTINEL", "FAILOVER", "semel")
    except RedisError as error:
        assert "NOGOODSLAVE" in str(error)
        return False
    return True


def test_a_promoted_replica_with_a_fast_clock_forgets_nothing(start_gateway, new_machine, upstream,
                                                              key):
    machine = new_machine(ahead=3 * DAY)
    replicated = Replicated(replicas_machine=machine)
    try:
        store = {"kind": "redis", "sentinel": {
            "master": "semel", "hosts": [one.address for one in replicated.sentinels]}}
        gateway = start_gateway(*ROUTES, store=store)
        first = gateway.post("/charges", json=BODY, key=key)
        assert first.status == 200 and is_ready(gateway)
        old, fast = replicated.servers
        # It has all: `lag` only says when it was heard of last.
        until(lambda: f"offset={old.info('master_repl_offset')}," in old.info("slave0"))
        until(lambda: begins_failover(replicated))
        until(lambda: replicated.master() is fast)
        eventually(lambda: f"Redis at {fast.address}" in gateway.admin("/readyz").body.decode())
        assert "3 days behind" in doubt(gateway)
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        assert_problem(gateway.post("/charges", json=BODY, key=new_key()), 503, "store-unavailable")
        machine.set_clock(0)
        eventually(lambda: is_ready(gateway))
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        assert gateway.post("/charges", json=BODY, key=new_key()).status == 200
        assert upstream.effects(key) == 1
    finally:
        replicated.discard()


def test_a_policy_that_evicts_is_noticed_while_it_runs(new_gateway, redis, upstream, key):
    gateway = new_gateway()
    first = gateway.post("/charges", json=BODY, key=key)
    running = new_key()
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=running, test="gate=runs"))
        upstream.wait_effects(1, running)
        redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        try:
            assert "allkeys-lru" in doubt(gateway) and "noeviction" in doubt(gateway)
            eventually(lambda: "allkeys-lru" in gateway.stderr())
            fresh = new_key()
            assert_problem(gateway.post("/charges", json=BODY, key=fresh), 503, "store-unavailable")
            assert upstream.effects(fresh) == 0
            assert gateway.metrics()["semel_store_doubts_claims"] == 1
            # Completed keys are replayed, and running executions finish.
            assert_replay(gateway.post("/charges", json=BODY, key=key), first)
            upstream.open_gate("runs")
            assert connection.read_response().status == 200
            assert gateway.record(running)["state"] == "completed"
        finally:
            redis("CONFIG", "SET", "maxmemory-policy", "noeviction")
    eventually(lambda: is_ready(gateway))
    assert gateway.post("/charges", json=BODY, key=fresh).status == 200
    assert upstream.effects(fresh) == 1


def test_every_master_of_a_cluster_is_looked_at(start_gateway, cluster, upstream):
    store = {"kind": "redis", "cluster": [cluster.servers[0].address]}
    gateway = start_gateway(*ROUTES, store=store)
    last = cluster.servers[2]
    last("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
    said = doubt(gateway)
    assert f"Redis at {last.address} is volatile-ttl" in said
    assert_problem(gateway.post("/charges", json=BODY, key=new_key()), 503, "store-unavailable")
    last("CONFIG", "SET", "maxmemory-policy", "noeviction")
    eventually(lambda: is_ready(gateway))
    assert gateway.post("/charges", json=BODY, key=new_key()).status == 200


def test_a_file_that_is_given_up_while_it_runs_is_warned_of(start_gateway, new_redis):
    server = new_redis()
    gateway = start_gateway(*ROUTES, store={"kind": "redis", "url": server.url()})
    assert "append-only" not in gateway.stderr()
    server("CONFIG", "SET", "appendfsync", "everysec")
    eventually(lambda: "appendfsync everysec" in gateway.stderr())
    server("CONFIG", "SET", "appendonly", "no")
    eventually(lambda: "appendonly no" in gateway.stderr())


@pytest.mark.parametrize("withheld, words", [
    ("-info", None),  # CONFIG tells as much
    ("-config", "does not allow CONFIG"),
])
def test_what_one_command_does_not_tell_another_may(start_gateway, new_redis, upstream, withheld,
                                                    words):
    server = new_redis()
    url = url_without(server, withheld)
    gateway = start_gateway(*ROUTES, store={"kind": "redis", "url": url})
    said = gateway.stderr()
    if words:
        assert words in said
    else:
        assert "not known" not in said
    server("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert "allkeys-lru" in doubt(gateway)
    assert_problem(gateway.post("/charges", json=BODY, key=new_key()), 503, "store-unavailable")


def test_a_server_that_tells_no_settings_is_warned_of_and_used(new_gateway, new_redis):
    """Some managed services refuse both commands."""
    gateway = new_gateway(url=url_without(new_redis(), "-info", "-config"))
    assert "allows neither INFO nor CONFIG" in gateway.stderr()
    assert is_ready(gateway)
    assert gateway.post("/charges", json=BODY, key=new_key()).status == 200
