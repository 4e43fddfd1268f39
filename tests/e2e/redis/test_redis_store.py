"""The redis store, on one real server: what Redis is given to keep, and for how long; what happens
when it forgets, stops, or must not be used."""

import pathlib
import re
import subprocess

import pytest

from harness.clients.http_client import request_bytes
from harness.ports import free_port
from harness.servers.redis_server import RedisServer
from harness.semel import (Gateway, assert_problem, assert_replay, binary, eventually, new_key,
                           scaled)

BODY = {"amount": 100}
ROUTES = ({"name": "charges", "path": "/charges", "ttl": "1h", "tombstone": "1h"},
          {"name": "held", "path": "/held", "unknown": "hold", "upstream_timeout": scaled(300),
           "late_answer": "1s"},
          {"name": "brief", "path": "/brief", "ttl": "1s"})


@pytest.fixture
def gateway(start_gateway, redis):
    return start_gateway(*ROUTES, store={"kind": "redis", "url": redis.url()})


def record_key(gateway, key):
    id = gateway.record(key)["id"]
    return "semel:{%s}:%s" % (id[:2], id)


def test_no_record_has_a_time_to_live_in_redis(gateway, upstream, redis, key):
    """DESIGN 6, trap 16: Redis never removes a record by itself, neither under a running execution nor
    by the clock of whichever server has been promoted."""
    with gateway.connect() as first:
        first.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=ttl"))
        upstream.wait_effects(1, key)
        name = record_key(gateway, key)
        assert redis("PTTL", name) == -1, "in progress"
        upstream.open_gate("ttl")
        assert first.read_response().status == 200
    assert redis("PTTL", name) == -1, "completed: the sweeper removes it"

    held = new_key()
    assert gateway.post("/held", json=BODY, key=held, test="gate=never").status == 504
    eventually(lambda: gateway.record(held)["state"] == "unknown")
    assert redis("PTTL", record_key(gateway, held)) == -1, "unknown"
    upstream.open_gate("never")


def test_an_expired_key_is_gone_from_every_index(gateway, upstream, redis, key):
    assert gateway.post("/brief", json=BODY, key=key).status == 200
    name = record_key(gateway, key)
    bucket = name[:len("semel:{00}:")]
    assert redis("ZCARD", bucket + "ids") >= 1
    eventually(lambda: redis("EXISTS", name) == 0)
    for index in ("ids", "due", "unknown"):
        members = redis("ZRANGE", bucket + index, 0, -1)
        assert bytes.fromhex(name[len(bucket):]) not in members, index


def test_what_redis_removed_by_itself_leaves_the_indexes(gateway, upstream, redis, key):
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    name = record_key(gateway, key)
    bucket = name[:len("semel:{00}:")]
    id = bytes.fromhex(name[len(bucket):])
    redis("PEXPIRE", name, 1)
    eventually(lambda: redis("EXISTS", name) == 0)
    redis("ZADD", bucket + "due", 1, id)  # the sweeper comes by
    eventually(lambda: redis("ZSCORE", bucket + "ids", id) is None)
    assert redis("ZSCORE", bucket + "due", id) is None


def test_a_server_that_lost_its_scripts_is_taught_again(gateway, upstream, redis, key):
    first = gateway.post("/charges", json=BODY, key=key)
    redis("SCRIPT", "FLUSH")
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert gateway.post("/charges", json=BODY, key=new_key()).status == 200
    assert upstream.effects(key) == 1


def test_kill_9_of_the_server_forgets_nothing_acknowledged(gateway, upstream, redis):
    keys = [new_key() for _ in range(50)]
    answers = [gateway.post("/charges", json=BODY, key=k) for k in keys]
    redis.kill9()
    refused = gateway.post("/charges", json=BODY, key=new_key())
    assert_problem(refused, 503, "store-unavailable")
    assert eventually(lambda: gateway.admin("/readyz").status == 503)
    redis.start()
    eventually(lambda: gateway.admin("/readyz").status == 200)
    for k, first in zip(keys, answers):
        assert_replay(gateway.post("/charges", json=BODY, key=k), first)
        assert upstream.effects(k) == 1


def test_a_claim_of_a_killed_gateway_is_unknown_when_its_lease_is_over(start_gateway, upstream,
                                                                       redis, key):
    routes = [{"path": "/short", "lease": "1s"}]
    store = {"kind": "redis", "url": redis.url()}
    killed, other = (start_gateway(*routes, store=store) for _ in range(2))
    with killed.connect() as connection:
        connection.send(request_bytes("POST", "/short", json=BODY, key=key, test="gate=dead"))
        upstream.wait_effects(1, key)
        assert_problem(other.post("/short", json=BODY, key=key), 409, "in-progress")
        killed.kill9()
    eventually(lambda: other.post("/short", json=BODY, key=key).json()["code"] == "outcome-unknown")
    assert other.metrics()["semel_unknown_records"] >= 1
    assert upstream.effects(key) == 1
    killed.start()


def refused(store, upstream):
    """Returns the error output of a `semel serve` that does not start."""
    gateway = Gateway([{"path": "/*", "upstream": upstream.url}], store=store)
    try:
        with pytest.raises(AssertionError, match="before ready"):
            gateway.start()
        return gateway.stderr()
    finally:
        gateway.discard()


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "volatile-lfu"])
def test_a_server_that_evicts_is_refused(new_redis, upstream, policy):
    server = new_redis(maxmemory_policy=policy)
    said = refused({"kind": "redis", "url": server.url()}, upstream)
    assert f"maxmemory-policy is {policy}" in said and "noeviction" in said


def test_a_replica_is_refused(new_redis, upstream):
    master = new_redis()
    replica = new_redis(replicaof=f"127.0.0.1 {master.port}")
    said = refused({"kind": "redis", "url": replica.url()}, upstream)
    assert "it is a replica" in said


def test_nobody_there_is_said(upstream):
    server = RedisServer()
    said = refused({"kind": "redis", "url": server.url()}, upstream)
    assert f"Redis at {server.address}: cannot connect" in said
    server.discard()


@pytest.mark.parametrize("settings, words", [
    ({"appendonly": "no"}, "appendonly no"),
    ({"appendfsync": "no"}, "appendfsync no"),
    ({"appendfsync": "everysec"}, "appendfsync everysec"),
    ({"no_appendfsync_on_rewrite": "yes"}, "no-appendfsync-on-rewrite yes"),
])
def test_a_server_that_forgets_is_warned_of(start_gateway, new_redis, settings, words):
    gateway = start_gateway(*ROUTES, store={"kind": "redis", "url": new_redis(**settings).url()})
    assert words in gateway.stderr()


def test_a_server_that_keeps_everything_is_not_warned_of(gateway):
    assert "append-only" not in gateway.stderr()


def test_user_and_password(start_gateway, new_redis, upstream, key):
    server = new_redis(requirepass="geheim", password="geheim")
    server("ACL", "SETUSER", "semel", "on", ">p@ss", "~semel:*", "&semel:*", "+@all", "-config")
    url = f"redis://semel:p%40ss@{server.address}/0"
    gateway = start_gateway(*ROUTES, store={"kind": "redis", "url": url})
    assert "does not allow CONFIG" in gateway.stderr()
    first = gateway.post("/charges", json=BODY, key=key)
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    for wrong in (f"redis://semel:wrong@{server.address}", f"redis://{server.address}"):
        said = refused({"kind": "redis", "url": wrong}, upstream)
        assert "password" in said and "p@ss" not in said and "wrong@" not in said


def test_the_user_of_the_page_can_do_everything(start_gateway, new_redis, upstream, key):
    """No category of commands is in it: what such a category has differs between Redis 7 and 8."""
    page = (pathlib.Path(__file__).parents[3] / "docs/redis.md").read_text()
    rules = re.search(r"^ACL (SETUSER .*)$", page, re.M)[1].replace("PASSWORD", "p").split()
    assert not [rule for rule in rules if "@" in rule]
    server = new_redis()
    server("ACL", *rules)
    server("ACL", "LOG", "RESET")
    store = {"kind": "redis", "url": f"redis://semel:p@{server.address}/0"}
    routes = ({"name": "charges", "path": "/charges", "in_progress": "wait", "max_stored_body": "1KiB"},
              {"name": "brief", "path": "/brief", "ttl": "1s"})
    gateway, other = start_gateway(*routes, store=store), start_gateway(*routes, store=store)
    with gateway.connect() as first, other.connect() as waiting:
        first.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=acl"))
        upstream.wait_effects(1, key)
        waiting.send(request_bytes("POST", "/charges", json=BODY, key=key))
        eventually(lambda: other.metrics()["semel_waiting"] == 1)
        upstream.open_gate("acl")
        assert first.read_response().status == waiting.read_response().status == 200
    large = new_key()
    spilled = gateway.post("/charges", json=BODY, key=large, test="size=100000")
    assert_replay(other.post("/charges", json=BODY, key=large), spilled)
    gateway.post("/brief", json=BODY, key=(brief := new_key()))
    eventually(lambda: other.post("/brief", json=BODY, key=brief).status == 200 and upstream.effects(brief) == 2)
    assert gateway.admin("/readyz").status == other.admin("/readyz").status == 200
    assert server("ACL", "LOG") == []


def test_tls(start_gateway, upstream, certificates, key):
    server = RedisServer()
    try:
        files = {"tls-cert-file": certificates.server.cert, "tls-key-file": certificates.server.key,
                 "tls-ca-cert-file": certificates.ca.cert}
        for name, source in files.items():  # where the server may read them
            copy = server.folder / name
            copy.write_bytes(pathlib.Path(source).read_bytes())
            server.settings[name] = copy
        tls_port = free_port()
        server.settings.update({"tls-port": tls_port, "tls-auth-clients": "no"})
        server.start()
        url = f"rediss://127.0.0.1:{tls_port}/0"
        gateway = start_gateway(*ROUTES, store={"kind": "redis", "url": url,
                                                "ca": str(certificates.ca.cert)})
        first = gateway.post("/charges", json=BODY, key=key)
        assert_replay(gateway.post("/charges", json=BODY, key=key), first)
        said = refused({"kind": "redis", "url": url, "ca": str(certificates.other_ca.cert)},
                       upstream)
        assert "the certificate was not accepted" in said
    finally:
        server.discard()


def test_the_url_is_checked_before_anything_starts(tmp_path):
    file = tmp_path / "semel.yaml"
    file.write_text("tenant: {from: none}\nroutes: [{path: /*, upstream: 'http://127.0.0.1:1'}]\n"
                    "store: {kind: redis, url: 'redis://secret@host'}\n")
    done = subprocess.run([binary(), "config", "check", str(file)], capture_output=True, text=True)
    assert done.returncode != 0
    assert "store.url" in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr
