"""A completed record is on disk when COMMIT returns, whatever synchronous_commit the application chose."""

import pytest

from harness.postgres_fixtures import Database
from harness.servers.postgres_nodes import apply_schema
from harness.servers.postgres_server import PostgresServer
from harness.peers.sql_app import App, make_effects


@pytest.mark.parametrize("chosen", ["off", "local", "remote_write"])
def test_trap_24_the_commit_is_synchronous_whatever_the_application_has_chosen(world, app, chosen):
    a = app()
    a.run(f"SET synchronous_commit = {chosen}")
    a.commit()
    for step in (a.complete, a.release):
        claim = a.claim(str(step))
        assert a.run("SHOW synchronous_commit") == [("on",)]  # a claim is acted on: it must not be lost either
        a.commit()
        assert a.run("SHOW synchronous_commit") == [(chosen,)]
        step(claim.held)
        assert a.run("SHOW synchronous_commit") == [("on",)]
        a.commit()
    assert a.run("SHOW synchronous_commit") == [(chosen,)]


def committed_then_killed(world, name, work):
    """Twenty transactions with synchronous_commit=off, then kill -9 of the server. How many effects are left."""
    app = App(world)
    app.run("SET synchronous_commit = off")
    app.commit()
    world.execute("SELECT pg_switch_wal()")  # a page of the log that fills up is written out: begin with an empty one
    for key in (f"{name} {number}" for number in range(20)):
        app.effect(key)
        work(app, key)
        app.commit()
    world.server.kill9()
    app.close()
    world.server.start()
    return world.one("SELECT count(*) FROM effects WHERE key LIKE %s", name + "%")


def completes(app, key):
    app.complete(app.claim(key).held, 200, [], key.encode())


def completes_and_then_knows_better(app, key):
    claim = app.claim(key)
    app.guard(claim.held)
    app.complete(claim.held)
    app.run("SET LOCAL synchronous_commit = off")  # the guard has the last word


def test_trap_24_what_was_completed_survives_the_servers_death():
    """With synchronous_commit=off the last commits before a crash are lost, unless complete() was in them."""
    server = PostgresServer(wal_writer_delay="10s", recovery_init_sync_method="syncfs")  # nothing else writes the log out meanwhile
    try:
        world = Database(server.start(), "semel")
        apply_schema(server.create_database("semel"))
        make_effects(world)
        assert committed_then_killed(world, "plain", lambda app, key: None) == 0
        assert committed_then_killed(world, "completed", completes) == 20
        assert committed_then_killed(world, "guarded", completes_and_then_knows_better) == 20
        assert App(world).claim("completed 19").body == b"completed 19"
    finally:
        server.discard()


def test_remote_apply_is_left_as_it_is(world, app):
    a = app()
    a.run("SET synchronous_commit = remote_apply")
    a.complete(a.claim().held)
    assert a.run("SHOW synchronous_commit") == [("remote_apply",)]
