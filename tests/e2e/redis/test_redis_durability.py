"""Losses in the table of docs/redis.md, as far as a disk that hangs can bring them about; and that
`appendfsync always` has none of them."""

import pytest

from harness.servers.redis_server import until
from harness.semel import Background, assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold"}


def hang_disk(server, machine):
    """Returns when a sync of the server's file is under way, and does not end."""
    machine.hang_disk()
    with server.client() as client:
        def is_hanging():
            client("SET", "something", "written")
            return b"aof_pending_bio_fsync:1" in client("INFO", "persistence")
        until(is_hanging)


def acknowledged_and_not_in_the_file(gateway, server):
    """A key that was answered while what it wrote waits in the server's memory."""
    def one():
        key = new_key()
        assert gateway.post("/charges", json=BODY, key=key).status == 200
        # Every two seconds Redis writes after all, synced or not.
        return key if server.info("aof_buffer_length") != "0" else None
    return until(one)


def start_again(server, machine, gateway):
    machine.hang_disk(False)
    server.start()
    eventually(lambda: gateway.admin("/readyz").status == 200)


def test_everysec_a_kill_loses_nothing_while_the_disk_keeps_up(start_gateway, new_redis, upstream):
    server = new_redis(appendfsync="everysec")
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": server.url()})
    answers = {key: gateway.post("/charges", json=BODY, key=key)
               for key in (new_key() for _ in range(50))}
    server.kill9()
    server.start()
    eventually(lambda: gateway.admin("/readyz").status == 200)
    for key, first in answers.items():
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        assert upstream.effects(key) == 1


def test_everysec_a_kill_while_the_disk_hangs_forgets_what_was_acknowledged(
        start_gateway, new_redis, new_machine, upstream):
    machine = new_machine()
    server = new_redis(appendfsync="everysec", machine=machine)
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": server.url()})
    assert "on a slow disk so does killing" in gateway.stderr()
    hang_disk(server, machine)
    key = acknowledged_and_not_in_the_file(gateway, server)
    server.kill9()
    start_again(server, machine, gateway)
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    assert upstream.effects(key) == 2, "as the table says"


def test_always_nothing_is_acknowledged_while_the_disk_hangs(start_gateway, new_redis, new_machine,
                                                             upstream):
    machine = new_machine()
    server = new_redis(appendfsync="always", machine=machine)
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": server.url()})
    done = new_key()
    first = gateway.post("/charges", json=BODY, key=done)
    machine.hang_disk()
    key = new_key()
    asked = Background(gateway.post, "/charges", json=BODY, key=key)
    eventually(lambda: gateway.admin("/readyz").status == 503)
    assert upstream.effects(key) == 0
    server.kill9()
    assert_problem(asked.result(), 503, "store-unavailable")
    start_again(server, machine, gateway)
    assert_replay(gateway.post("/charges", json=BODY, key=done), first)
    # The claim, as far as the file had it, is given back first.
    eventually(lambda: gateway.post("/charges", json=BODY, key=key).status == 200)
    assert upstream.effects(key) == upstream.effects(done) == 1


@pytest.mark.parametrize("appendfsync, effects", [("everysec", 2), ("always", 1)])
def test_a_master_that_comes_back_takes_from_its_replica_what_it_has_not_itself(
        start_gateway, new_redis, new_machine, upstream, appendfsync, effects):
    """With `replicas: 1` the replica had acknowledged it. A restart is not a failover."""
    machine = new_machine()
    master = new_redis(appendfsync=appendfsync, machine=machine)
    replica = new_redis(appendfsync=appendfsync, replicaof=f"127.0.0.1 {master.port}")
    until(lambda: master.info("connected_slaves") == "1")
    store = {"kind": "redis", "url": master.url(), "replicas": 1}
    gateway = start_gateway(ROUTE, store=store)
    if appendfsync == "everysec":
        hang_disk(master, machine)
        key = acknowledged_and_not_in_the_file(gateway, master)
    else:
        key = new_key()
        assert gateway.post("/charges", json=BODY, key=key).status == 200
    id = gateway.record(key)["id"]
    name = "semel:{%s}:%s" % (id[:2], id)
    assert replica("EXISTS", name) == 1
    master.kill9()
    machine.hang_disk(False)
    master.start()
    until(lambda: replica.info("master_link_status") == "up")
    assert replica("EXISTS", name) == (1 if effects == 1 else 0)
    eventually(lambda: gateway.admin("/readyz").status == 200)
    eventually(lambda: gateway.post("/charges", json=BODY, key=key).status == 200)
    assert upstream.effects(key) == effects, "as the table says"
