"""A primary whose commits wait for a synchronous standby. Whatever happens to the primary, what was
acknowledged is on the standby, and what is not there was never acted on."""

import subprocess
import threading

import psycopg2
import pytest

from harness.peers.orders_service import OrdersService, set_up
from harness.postgres_fixtures import Database
from harness.servers.postgres_nodes import apply_schema, start_node
from harness.servers.postgres_server import BINARIES, PostgresServer
from harness.clients.retrying_client import Fleet, assert_once_and_remembered, effects_by_key
from harness.semel import Background, assert_problem, assert_replay, binary, eventually, settle
from harness.peers.sql_app import App

SEED = 20260303
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold", "lease": "1s"}
ORDER = {"item": "tea", "quantity": 2}
IN_PROGRESS, COMPLETED = 2, 3


@pytest.fixture
def pair():
    """A primary with the schema, and its synchronous standby."""
    primary = PostgresServer().start()
    standby = None
    try:
        apply_schema(primary.create_database("semel"))
        standby = primary.add_standby()
        yield primary, standby
    finally:
        for server in (primary, standby):
            if server:
                server.discard()


def either(primary, standby):
    """A URL by which whichever of them is the primary is found."""
    return f"postgresql://semel@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/semel"


def said(*command):
    done = subprocess.run([binary(), *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_of_several_hosts_the_one_that_takes_writes_is_used(pair, start_gateway, upstream, tmp_path):
    """A standby stands first in the URL, and the URL says nothing about it."""
    primary, standby = pair
    url = f"postgresql://semel@127.0.0.1:{standby.port},127.0.0.1:{primary.port}/semel"
    said("schema", "apply", "--url", url, "--schema", "another")
    gateway = start_node(start_gateway, url, ROUTE)
    assert gateway.post("/charges", key="k").status == 200

    primary.execute("SELECT semel.enqueue('nobody', 'x')")
    assert said("outbox", "drop", "--all", "--yes", "--url", url) == "dropped 1\ndropped 1 row\n"
    said("complete", "--once", "--operation", "o", "--to", "http://127.0.0.1:9/", "--url", url)
    with subprocess.Popen([binary(), "relay", "--url", url, "--destination", "d=http://127.0.0.1:9/"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as relay:
        assert relay.stdout.readline() == "ready\n"
        relay.terminate()
        assert relay.wait() == 0
    # `target_session_attrs=any` connects to the first host.
    refused = subprocess.run([binary(), "schema", "apply", "--schema", "third", "--url", url + "?target_session_attrs=any"],
                             capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "read-only" in refused.stderr


def test_a_standby_promoted_under_load_has_everything_that_was_acknowledged(
        pair, start_gateway, upstream):
    primary, standby = pair
    url = either(primary, standby)
    nodes = [start_node(start_gateway, url, ROUTE) for _ in range(2)]
    with Fleet(50, nodes, SEED) as fleet:
        upstream.wait_effects(500)
        primary.kill9()
        standby.promote()
        upstream.wait_effects(upstream.effects() + 500)
    print(f"{len(fleet.acknowledged)} acknowledged, {len(fleet.held)} held")
    assert len(fleet.acknowledged) > 500
    eventually(lambda: standby.execute("SELECT count(*) FROM semel.records WHERE state = 2") == [(0,)], timeout=30)
    assert_once_and_remembered(fleet, nodes[0], upstream)


def test_a_claim_whose_commit_still_waits_for_the_standby_is_not_acted_on(
        pair, start_gateway, upstream, key):
    """Trap 28. The connection is cut while the commit waits: the row is there to be read, and yet
    nothing is proved by it. The standby does not have it."""
    primary, standby = pair
    gateway = start_node(start_gateway, either(primary, standby), ROUTE)
    assert gateway.post("/charges", key="before").status == 200

    standby.stop()
    first = Background(gateway.post, "/charges", key=key)

    def waits():
        return primary.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
                               "AND application_name = 'semel'")[0][0]
    eventually(lambda: waits() > 0)
    primary.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE wait_event = 'SyncRep'")
    eventually(lambda: primary.execute("SELECT count(*) FROM semel.records WHERE key = %s", key) == [(1,)])
    answer = first.result()
    assert answer.status == 503 and answer.json()["code"] == "store-unavailable"
    retry = gateway.post("/charges", key=key)
    assert retry.status in (409, 503), retry
    assert key not in effects_by_key(upstream)

    primary.kill9()
    standby.start()
    standby.promote()
    answer = eventually(lambda: (a := gateway.post("/charges", key=key)).status == 200 and a)
    assert effects_by_key(upstream)[key] == [answer.effect]


def waiting_for_standby(primary):
    return primary.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")[0][0]


class Committing:
    """A COMMIT of its own thread."""

    def __init__(self, app):
        self.error = None
        self.thread = threading.Thread(target=self._run, args=(app,), daemon=True)
        self.thread.start()

    def _run(self, app):
        try:
            app.commit()
        except psycopg2.Error as error:
            self.error = error


def test_a_replay_in_sql_is_not_committed_before_the_standby_has_what_it_tells(pair):
    """Trap 28, inside an application's transaction. The first COMMIT is cut off while it waits: the row is there to
    be read, and the standby does not have it."""
    primary, standby = pair
    database = Database(primary, "semel")
    first, second = App(database), App(database)
    first.complete(first.claim("before").held)
    first.commit()

    standby.stop()
    first.complete(first.claim("k").held)
    cut_off = Committing(first)
    eventually(lambda: waiting_for_standby(primary) == 1)
    primary.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    cut_off.thread.join()
    assert cut_off.error

    second.run("SET synchronous_commit = off")
    told = second.claim("k")
    assert (told.verdict, told.body) == ("replay", b"made")
    relies = Committing(second)
    eventually(lambda: waiting_for_standby(primary) == 1)
    settle()
    assert relies.thread.is_alive()

    primary.kill9()
    relies.thread.join()
    assert relies.error
    standby.start()
    standby.promote()
    third = App(Database(standby, "semel"))
    assert third.claim("k").verdict == "execute"  # nobody was told that it is done
    assert third.claim("before").verdict == "replay"
    third.commit()


def test_a_replay_in_sql_waits_for_a_standby_only_where_there_is_one(world, app):
    a = app()
    a.complete(a.claim().held)
    a.commit()
    a.claim()
    assert a.run("SELECT pg_current_xact_id_if_assigned()") == [(None,)]
    a.rollback()


# A completion whose wait was cut is on the primary and nowhere else. Whoever reads it there waits for the standby,
# and so tells nobody of an answer that a failover would take back.


def cut_waits(primary, how, user):
    """The commits of this user that wait for the standby now: they count on the primary from here on."""
    waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = %s"
    eventually(lambda: primary.execute(f"SELECT count(*) {waiting}", user) != [(0,)])
    primary.execute(f"SELECT pg_{how}_backend(pid) {waiting}", user)


def state_of(server, key):
    return [state for state, in server.execute("SELECT state FROM semel.records WHERE key = %s", key)]


def test_a_completion_that_no_standby_has_is_replayed_by_no_gateway(pair, start_gateway, upstream):
    primary, standby = pair
    # As a role that does not own the schema, to show that it may wait.
    primary.execute("CREATE ROLE gateway LOGIN; SELECT semel.allow_gateway('gateway')")
    url = either(primary, standby).replace("semel@", "gateway@", 1)
    store = {"kind": "postgres", "url": url, "local_cache": "1MiB"}
    nodes = [start_gateway(ROUTE, store=store) for _ in range(2)]
    for how in ("cancel", "terminate"):
        eventually(lambda: nodes[0].post("/charges", key=f"before {how}").status == 200, timeout=30)
        first = Background(nodes[0].post, "/charges", key=how, test=f"gate={how}")
        upstream.wait("arrived", 1, key=how)
        standby.stop()
        upstream.open_gate(how)
        cut_waits(primary, how, "gateway")
        eventually(lambda: state_of(primary, how) == [COMPLETED])
        answer = nodes[1].post("/charges", key=how)
        assert answer.status == 503 and answer.json()["code"] == "store-unavailable"
        assert first.result().status == 503
        if how == "cancel":
            standby.start()
        else:
            primary.kill9()
            standby.start()
            assert state_of(standby, how) == [IN_PROGRESS]  # the answer is gone, and nobody was told of it
            standby.promote()
        settled = eventually(lambda: (a := nodes[1].post("/charges", key=how)).status != 503 and a, timeout=30)
        if settled.status == 200:
            assert effects_by_key(upstream)[how] == [settled.effect]
        else:
            assert settled.json()["code"] in ("outcome-unknown", "in-progress")
        assert upstream.effects(how) == 1


def test_an_answer_of_the_application_that_no_standby_has_is_given_by_no_gateway(pair, start_gateway):
    """The COMMIT of examples/python-orders is cut off while it waits. Cut by a cancel it looks like success there."""
    primary, standby = pair
    set_up(Database(primary, "semel"))
    url = either(primary, standby)
    service = OrdersService(url.replace("semel@", "shop@", 1)).start()
    try:
        gateway = start_node(start_gateway, url, {"name": "orders", "path": "/orders", "completes": "executor",
                                                  "unknown": "retry", "upstream": service.address})
        for number, how in enumerate(("cancel", "terminate"), 1):
            holder = App(Database(primary, "semel"))
            holder.run("LOCK TABLE public.orders IN EXCLUSIVE MODE")
            first = Background(gateway.post, "/orders", json=ORDER, key=how)
            eventually(lambda: primary.execute("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(1,)])
            standby.stop()
            holder.rollback()
            cut_waits(primary, how, "shop")
            eventually(lambda: state_of(primary, how) == [COMPLETED])
            assert first.result().status >= 500
            assert gateway.post("/orders", json=ORDER, key=how).status == 503
            standby.start()
            settled = eventually(lambda: (a := gateway.post("/orders", json=ORDER, key=how)).status == 201 and a,
                                 timeout=30)
            assert settled.replayed
            assert primary.execute("SELECT count(*) FROM public.orders") == [(number,)]
            holder.close()
    finally:
        service.kill9()


def orders_on(server):
    """The ids of all orders, in order."""
    return [number for number, in server.execute("SELECT id FROM public.orders ORDER BY id")]


@pytest.mark.parametrize("how", ["cancel", "terminate"])
def test_an_answer_of_the_application_that_a_failover_takes_back_was_given_to_nobody(pair, start_gateway, how):
    """The standby is promoted without the order that the service has committed on the primary."""
    primary, standby = pair
    set_up(Database(primary, "semel"))
    url = either(primary, standby)
    service = OrdersService(url.replace("semel@", "shop@", 1) + "?target_session_attrs=read-write").start()
    holder = App(Database(primary, "semel"))
    try:
        nodes = [start_node(start_gateway, url, {"name": "orders", "path": "/orders", "completes": "executor",
                                                 "unknown": "retry", "lease": "1s", "upstream": service.address})
                 for _ in range(2)]
        kept = nodes[0].post("/orders", json=ORDER, key="kept")
        assert kept.status == 201

        holder.run("LOCK TABLE public.orders IN EXCLUSIVE MODE")
        first = Background(nodes[0].post, "/orders", json=ORDER, key="lost")
        eventually(lambda: primary.execute("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(1,)])
        standby.stop()
        holder.rollback()
        cut_waits(primary, how, "shop")
        eventually(lambda: state_of(primary, "lost") == [COMPLETED])
        assert len(orders_on(primary)) == 2  # everybody on the primary can see the order
        assert_problem(nodes[1].post("/orders", json=ORDER, key="lost"), 503, "store-unavailable")
        assert first.result().status >= 500

        primary.kill9()
        standby.start()
        assert state_of(standby, "lost") == [IN_PROGRESS]
        assert orders_on(standby) == [kept.json()["order"]]
        standby.promote()

        def final_answer():
            """The answer of whichever gateway has one first."""
            answers = (node.post("/orders", json=ORDER, key="lost") for node in nodes)
            return next((answer for answer in answers if answer.status == 201), None)
        final = eventually(final_answer, timeout=30)
        for node in nodes:
            for key, answer in (("kept", kept), ("lost", final)):
                replay = eventually(lambda: (a := node.post("/orders", json=ORDER, key=key)).status != 503 and a)
                assert_replay(replay, answer)
        assert orders_on(standby) == [kept.json()["order"], final.json()["order"]]
        assert state_of(standby, "lost") == [COMPLETED]
    finally:
        holder.close()
        service.kill9()


WARNING = "synchronous_standby_names is empty"


def test_a_follower_that_no_commit_waits_for_is_warned_of_at_start(own_server, start_gateway, tmp_path):
    """As a role that may see no more of it than that it is there."""
    own_server.execute("CREATE ROLE gateway LOGIN; SELECT semel.allow_gateway('gateway')")
    url = own_server.url(user="gateway")
    missing = "semel.answers_" + str(own_server.execute("SELECT semel.day_of(semel.now_ms()) + 30")[0][0])

    def has_looked():
        return own_server.execute("SELECT to_regclass(%s) IS NOT NULL", missing) == [(True,)]
    own_server.execute(f"DROP TABLE {missing}")
    alone = start_node(start_gateway, url, ROUTE)
    eventually(has_looked)  # at standbys first
    assert WARNING not in alone.stderr()

    follower = subprocess.Popen([BINARIES / "pg_receivewal", "-D", tmp_path, "-d", own_server.url("postgres")])
    try:
        eventually(lambda: own_server.execute("SELECT count(*) FROM pg_stat_replication") == [(1,)])
        followed = start_node(start_gateway, url, ROUTE)
        eventually(lambda: WARNING in followed.stderr())
        own_server.execute("ALTER SYSTEM SET synchronous_standby_names = 'pg_receivewal'")
        own_server.execute("SELECT pg_reload_conf()")
        eventually(lambda: own_server.execute("SELECT semel.may_lose_at_failover()") == [(False,)])
    finally:
        own_server.execute("ALTER SYSTEM RESET synchronous_standby_names")
        own_server.execute("SELECT pg_reload_conf()")
        follower.terminate()
        follower.wait()
    own_server.execute("SELECT pg_create_physical_replication_slot('standby')")  # of one that is away
    eventually(lambda: own_server.execute("SELECT semel.may_lose_at_failover()") == [(True,)])
