"""`ready` means ready: a store that cannot be used is refused at the start; one that can be read but takes no new record
is reported after `ready` on standard output, and by /readyz, until it takes one."""

import os
import subprocess

import pytest

from harness.redis_fixtures import new_machine, new_redis  # noqa: F401
from harness.semel import Gateway, assert_problem, binary, eventually, new_key
from harness.servers.postgres_server import PostgresServer

ROUTE = {"name": "charges", "path": "/v1/charges"}


@pytest.fixture(scope="module")
def postgres():
    """A server, with the schema in the database `semel`."""
    server = PostgresServer()
    try:
        server.start()
        url = server.create_database("ready")
        subprocess.run([binary(), "schema", "apply", "--url", url], check=True, stdout=subprocess.DEVNULL)
        yield server
    finally:
        server.discard()


def refused(store, **more):
    """What a gateway says that does not start on this store."""
    gateway = Gateway([{"upstream": "http://127.0.0.1:1", **ROUTE}], store=store, **more)
    try:
        with pytest.raises(AssertionError, match="exit code 1 before ready") as failure:
            gateway.start()
        return str(failure.value)
    finally:
        gateway.discard()


def assert_no_new_keys(gateway, why):
    """New keys are refused, and it has said so everywhere."""
    line = gateway.next_line()
    assert line.startswith("accepts no new keys: ") and why in line, line
    assert why in gateway.admin("/readyz").body.decode()
    assert_problem(gateway.post("/v1/charges", b"{}", key=new_key()), 503, "store-unavailable")


def assert_takes_keys_again(gateway):
    eventually(lambda: gateway.admin("/readyz").body == b"ready\n")
    assert gateway.post("/v1/charges", b"{}", key=new_key()).status == 200
    eventually(lambda: "accepts new keys" in gateway.stderr())


@pytest.mark.parametrize("kind", ["memory", "embedded", "postgres", "redis", "tiered"])
def test_a_store_that_takes_records_is_just_ready(start_gateway, upstream, kind):
    gateway = start_gateway(ROUTE, store=kind)
    assert gateway.admin("/readyz").body == b"ready\n"
    assert gateway.admin("/api/keys").json()["keys"] == []  # the trial has left nothing behind
    assert gateway.post("/v1/charges", b"{}", key=new_key()).status == 200
    gateway.terminate()
    assert gateway.next_line() is None
    gateway.wait()


def test_a_disk_that_is_low(start_gateway, tmp_path):
    space = os.statvfs(tmp_path)
    gateway = start_gateway(ROUTE, store={"kind": "embedded", "path": str(tmp_path / "data"),
                                          "free_bytes_min": 2 * space.f_blocks * space.f_frsize})
    assert_no_new_keys(gateway, "MiB are free on its disk")


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "file").touch()
    assert "is not a directory" in refused({"kind": "embedded", "path": str(tmp_path / "file")})
    assert "cannot create the directory" in refused({"kind": "embedded", "path": "/proc/semel"})


def test_postgres_without_schema_or_rights(postgres):
    assert "run semel schema apply" in refused({"kind": "postgres", "url": postgres.create_database("empty")})
    postgres.execute("CREATE ROLE poor LOGIN", database="ready")
    poor = {"kind": "postgres", "url": postgres.url("ready", user="poor")}
    assert "allow_gateway('poor')" in refused(poor)
    postgres.execute("SELECT semel.allow_gateway('poor')", database="ready")
    postgres.execute("REVOKE INSERT ON semel.records FROM poor", database="ready")
    assert "has no right to INSERT on semel.records" in refused(poor)


@pytest.fixture(scope="module")
def standby(postgres):
    server = postgres.add_standby()
    yield f"postgresql://semel@127.0.0.1:{server.port}/ready"
    server.discard()


def test_a_standby(standby, start_gateway, new_redis):
    alone = {"kind": "postgres", "url": standby}
    tiered = {"kind": "tiered", "durable": alone, "cache": {"kind": "redis", "url": new_redis().url()}}
    for store in (alone, tiered):
        # Which of its statements the standby refuses first is up to chance.
        assert_no_new_keys(start_gateway(ROUTE, store=store), "PostgreSQL: cannot execute ")


def test_redis_that_evicts_or_is_a_replica(new_redis):
    redis = new_redis()
    redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert "maxmemory-policy is allkeys-lru" in refused({"kind": "redis", "url": redis.url()})
    replica = new_redis(replicaof=f"127.0.0.1 {redis.port}")
    assert "it is a replica, which accepts no writes" in refused({"kind": "redis", "url": replica.url()})


@pytest.mark.parametrize("name, bad, good, why", [
    ("maxmemory", "1", "0", "OOM command not allowed"),
    ("min-replicas-to-write", "1", "0", "NOREPLICAS")])
def test_redis_that_takes_no_writes(new_redis, start_gateway, upstream, name, bad, good, why):
    redis = new_redis()
    redis("CONFIG", "SET", name, bad)
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": redis.url()})
    assert_no_new_keys(gateway, why)
    redis("CONFIG", "SET", name, good)
    assert_takes_keys_again(gateway)


def test_redis_without_the_right_to_write(new_redis, start_gateway, upstream):
    redis = new_redis()
    redis("ACL", "SETUSER", "reader", "on", ">secret-of-reader", "~*", "&*", "+@all", "-set")
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": redis.url().replace("redis://", "redis://reader:secret-of-reader@")})
    assert_no_new_keys(gateway, "can't run this command")
    redis("ACL", "SETUSER", "reader", "+set")
    assert_takes_keys_again(gateway)


def test_redis_without_the_replicas_that_are_wanted(new_redis, start_gateway):
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": new_redis().url(), "replicas": 1})
    line = gateway.next_line()
    assert line.startswith("accepts no new keys: "), line
    assert "accepts no new keys: " in gateway.admin("/readyz").body.decode()


def test_redis_whose_clock_is_in_doubt(new_redis, new_machine, start_gateway):
    machine = new_machine(ahead=-86400)
    gateway = start_gateway(ROUTE, store={"kind": "redis", "url": new_redis().url()}, environment=machine.environment)
    line = gateway.next_line()
    assert line.startswith("accepts no new keys: ") and "behind" in line, line
    assert gateway.admin("/readyz").status == 503
