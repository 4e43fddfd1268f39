"""Issue 4, items 1 and 2: two gateways on one database are one gateway. Who waits on one node hears
of what ends on the other; an application's open transaction and an absent database hold up only what
they must."""

import os
import subprocess
import time

import psycopg2
import pytest

from harness.clients.http_client import TIME_SCALE, request_bytes
from harness.ports import free_port
from harness.servers.postgres_server import unprivileged
from harness.semel import (Background, Gateway, assert_problem, assert_replay, eventually, new_key, settle)

BODY = {"amount": 100}
ROUTES = ({"name": "charges", "path": "/charges"},
          {"name": "waits", "path": "/waits", "in_progress": "wait", "wait_timeout": "20s"})


def as_store(url, **more):
    return {"kind": "postgres", "url": url, **more}


@pytest.fixture
def nodes(start_gateway, database):
    """Two gateways on one database."""
    return [start_gateway(*ROUTES, store=as_store(database.url)) for _ in range(2)]


def test_100_requests_over_two_nodes_have_one_effect(nodes, upstream, key):
    wire = request_bytes("POST", "/charges", json=BODY, key=key)
    connections = [nodes[n % 2].connect() for n in range(100)]
    try:
        for connection in connections:
            connection.send(wire)
        answers = [connection.read_response() for connection in connections]
    finally:
        for connection in connections:
            connection.close()
    assert upstream.effects(key) == 1
    assert {a.status for a in answers} <= {200, 409}
    for answer in answers:
        if answer.status == 409:
            assert_problem(answer, 409, "in-progress")
    first = next(a for a in answers if a.status == 200 and not a.replayed)
    for node in nodes:
        assert_replay(node.post("/charges", json=BODY, key=key), first)
    assert_problem(nodes[1].post("/charges", json={"amount": 2}, key=key), 422, "key-reused")
    assert upstream.effects(key) == 1


def test_a_duplicate_waiting_on_the_other_node_is_answered_at_once(nodes, upstream, database, key):
    a, b = nodes
    delays = []
    for n in range(5):
        one = f"{n}-{key}"
        first = Background(a.post, "/waits", json=BODY, key=one, test=f"gate={one}")
        upstream.wait_effects(1, one)
        with b.connect() as waiting:
            waiting.send(request_bytes("POST", "/waits", json=BODY, key=one))
            eventually(lambda: database.one("SELECT count(*) FROM semel.records WHERE awaited") == 1)
            upstream.open_gate(one)
            answer = first.result()
            done = time.monotonic()
            assert_replay(waiting.read_response(), answer)
            delays.append(time.monotonic() - done)
        assert upstream.effects(one) == 1
    delays.sort()
    print(f"answered on B after the completion on A: median {delays[2] * 1000:.1f} ms, "
          f"most {delays[-1] * 1000:.1f} ms")
    assert delays[2] < 0.25 * TIME_SCALE


def test_1000_waiters_share_one_connection(nodes, upstream, database, key):
    a, b = nodes
    first = Background(a.post, "/waits", json=BODY, key=key, test="gate=g")
    upstream.wait_effects(1, key)
    count = ("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
             "AND application_name = 'semel'")
    before = database.one(count)
    wire = request_bytes("POST", "/waits", json=BODY, key=key)
    waiting = [b.connect() for _ in range(1000)]
    try:
        for connection in waiting:
            connection.send(wire)
        eventually(lambda: database.one("SELECT count(*) FROM semel.records WHERE awaited") == 1)
        eventually(lambda: b.metrics()["semel_connections"] >= 1000)
        settle()
        assert database.one(count) == before
        upstream.open_gate("g")
        answer = first.result()
        for connection in waiting:
            assert_replay(connection.read_response(), answer)
    finally:
        for connection in waiting:
            connection.close()
    assert upstream.effects(key) == 1


def test_waiting_survives_a_lost_notification(nodes, upstream, database, key):
    """The listening backends are ended just before the completion: nobody hears the notification."""
    a, b = nodes
    first = Background(a.post, "/waits", json=BODY, key=key, test="gate=g")
    upstream.wait_effects(1, key)
    with b.connect() as waiting:
        waiting.send(request_bytes("POST", "/waits", json=BODY, key=key))
        eventually(lambda: database.one("SELECT count(*) FROM semel.records WHERE awaited") == 1)
        database.execute("UPDATE semel.records SET awaited = false")  # as if it had been sent already
        begun = time.monotonic()
        upstream.open_gate("g")
        answer = first.result()
        assert_replay(waiting.read_response(), answer)
        assert time.monotonic() - begun < 10 * TIME_SCALE
    one = "2-" + key
    first = Background(a.post, "/waits", json=BODY, key=one, test="gate=h")
    upstream.wait_effects(1, one)
    with b.connect() as waiting:
        waiting.send(request_bytes("POST", "/waits", json=BODY, key=one))
        eventually(lambda: database.one("SELECT count(*) FROM semel.records WHERE awaited") == 1)
        ended = database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'semel'")
        assert len(ended) == 10  # four for records and one that listens, on each node
        upstream.open_gate("h")
        told = waiting.read_response()
        if told.status == 503:  # it looked at the record over a connection that was being ended
            assert_problem(told, 503, "store-unavailable")
            told = eventually(lambda: (again := b.post("/waits", json=BODY, key=one)).status != 503 and again)
        assert_replay(told, first.result())
    assert upstream.effects(key) == 1 and upstream.effects(one) == 1


def test_while_the_database_is_away_nothing_is_executed(start_gateway, upstream, own_server, key):
    gateway = start_gateway(*ROUTES, store=as_store(own_server.url()))
    first = gateway.post("/charges", json=BODY, key=key)
    own_server.stop()
    eventually(lambda: gateway.admin("/readyz").status == 503)
    arrived = upstream.arrived()
    for one in (key, new_key()):
        begun = time.monotonic()
        assert_problem(gateway.post("/charges", json=BODY, key=one), 503, "store-unavailable")
        assert time.monotonic() - begun < 3 * TIME_SCALE
    assert upstream.arrived() == arrived
    own_server.start()
    eventually(lambda: gateway.admin("/readyz").status == 200)
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert gateway.post("/charges", json=BODY, key=new_key()).status == 200
    assert upstream.effects(key) == 1


def test_a_gateway_starts_without_its_database_and_serves_when_that_comes(start_gateway, upstream,
                                                                          own_server, key):
    own_server.stop()
    gateway = start_gateway(*ROUTES, store=as_store(own_server.url()))
    assert_problem(gateway.post("/charges", json=BODY, key=key), 503, "store-unavailable")
    assert upstream.arrived() == 0
    own_server.start()
    eventually(lambda: gateway.admin("/readyz").status == 200)
    assert gateway.post("/charges", json=BODY, key=key).status == 200


def test_the_database_dies_while_work_runs(start_gateway, upstream, own_server, key):
    """Its completion is written when the database is back, and the retry gets the answer."""
    gateway = start_gateway(*ROUTES, store=as_store(own_server.url()))
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        own_server.stop_immediately()
        upstream.open_gate("g")
        answer = connection.read_response()
        assert answer.status in (409, 503, 504), answer
    own_server.start()
    replay = eventually(lambda: [r for r in [gateway.post("/charges", json=BODY, key=key)]
                                 if r.status == 200])
    assert replay[0].replayed
    assert upstream.effects(key) == 1


def test_an_applications_open_transaction_holds_up_its_own_key_only(nodes, upstream, database, key):
    gateway = nodes[0]
    first = gateway.post("/charges", json=BODY, key=key)
    held = database.connect()
    try:
        with held.cursor() as cursor:
            cursor.execute("SELECT id FROM semel.records WHERE key = %s FOR UPDATE", [key])
            # A request that needs no write is answered from the committed record.
            assert_replay(gateway.post("/charges", json=BODY, key=key), first)
            begun = time.monotonic()
            for _ in range(20):
                assert gateway.post("/charges", json=BODY, key=new_key()).status == 200
            assert time.monotonic() - begun < 5 * TIME_SCALE
    finally:
        held.close()


def test_a_claim_in_an_applications_open_transaction_is_in_progress(nodes, upstream, database, key):
    held = database.connect()
    try:
        with held.cursor() as cursor:
            cursor.execute("SELECT verdict FROM semel.claim('', 'charges', %s)", [key])
            assert cursor.fetchone() == ("execute",)
            begun = time.monotonic()
            assert_problem(nodes[0].post("/charges", json=BODY, key=key), 409, "in-progress")
            assert time.monotonic() - begun < 2 * TIME_SCALE
            held.rollback()
        assert nodes[1].post("/charges", json=BODY, key=key).status == 200
    finally:
        held.close()
    assert upstream.effects(key) == 1


def test_a_pooler_in_between_is_refused(own_server, upstream, tmp_path):
    port = free_port()
    config = own_server.folder / "pgbouncer.ini"
    config.write_text(f"""
[databases]
semel = host=127.0.0.1 port={own_server.port} dbname=semel user=semel
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
ignore_startup_parameters = extra_float_digits
""")
    config.chmod(0o644)
    pooler = subprocess.Popen(["/usr/sbin/pgbouncer", "-q", str(config)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              **unprivileged())
    url = f"postgresql://semel@127.0.0.1:{port}/semel"
    gateway = Gateway([{"path": "/*", "upstream": upstream.url}], store=as_store(url))
    try:
        def takes_connections():
            try:
                psycopg2.connect(url).close()
                return True
            except psycopg2.OperationalError:
                return False
        eventually(takes_connections)
        with pytest.raises(AssertionError, match="exit code 1"):
            gateway.start()
        assert "pooler" in gateway.stderr() and "connect to the server itself" in gateway.stderr()
    finally:
        gateway.discard()
        pooler.terminate()
        pooler.wait()


def test_a_database_without_the_schema_is_refused(postgres, upstream):
    url = postgres.create_database("bare")
    gateway = Gateway([{"path": "/*", "upstream": upstream.url}], store=as_store(url))
    try:
        with pytest.raises(AssertionError, match="exit code 1"):
            gateway.start()
        assert "run semel schema apply" in gateway.stderr()
    finally:
        gateway.discard()


def set_forward(database, gateway):
    """The database's clock, by two days."""
    source = database.one("SELECT prosrc FROM pg_proc WHERE oid = 'semel.now_ms()'::regprocedure")
    database.execute("CREATE OR REPLACE FUNCTION semel.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS "
                     f"$now$ SELECT 86400000 * 2 + ({source.strip().rstrip(';')}) $now$")
    eventually(lambda: "the clock was set" in gateway.stderr())


def sweep(database, gateway):
    """When a key that is stamped now is gone, the sweeper has come by."""
    brief = new_key()
    assert gateway.post("/brief", json=BODY, key=brief).status == 200
    eventually(lambda: database.one("SELECT count(*) FROM semel.records WHERE key = %s", brief) == 0)


@pytest.fixture
def swept(start_gateway, database):
    return start_gateway({"name": "charges", "path": "/charges", "ttl": "1h"},
                         {"name": "brief", "path": "/brief", "ttl": "1s"}, store=as_store(database.url))


def test_a_step_of_the_databases_clock_removes_no_answer(swept, database, upstream, key):
    first = swept.post("/charges", json=BODY, key=key)
    set_forward(database, swept)
    sweep(database, swept)
    assert_replay(swept.post("/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1


def test_an_answer_that_is_gone_is_not_an_empty_one(swept, database, upstream, key):
    """By the clock that was set its time is over, and the sweeper must not keep what is left of it."""
    assert swept.post("/charges", json=BODY, key=key).status == 200
    day = database.one("SELECT answer_day FROM semel.records WHERE key = %s", key)
    database.execute(f"DROP TABLE semel.answers_{day}")
    set_forward(database, swept)
    sweep(database, swept)
    assert_problem(swept.post("/charges", json=BODY, key=key), 503, "store-unavailable")
    assert upstream.effects(key) == 1


def test_a_chunk_that_is_not_taken_at_once_is_tried_again(start_gateway, database, upstream, key):
    gateway = start_gateway({"path": "/charges", "max_stored_body": "64KiB"}, store=as_store(database.url))
    assert gateway.post("/charges", json=BODY, key=new_key(), test="size=300000").status == 200
    database.execute("CREATE FUNCTION public.refuse_twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                     "IF nextval('public.tries') < 3 THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$")
    database.execute("CREATE SEQUENCE public.tries")
    database.execute("CREATE TRIGGER refuse BEFORE INSERT ON semel.chunks "
                     "FOR EACH ROW EXECUTE FUNCTION public.refuse_twice()")
    first = gateway.post("/charges", json=BODY, key=key, test="size=300000")
    assert_replay(gateway.post("/charges", json=BODY, key=key, test="size=300000"), first)
    assert len(first.body) == 300_000 and database.one("SELECT last_value FROM public.tries") > 3
