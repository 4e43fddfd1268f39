"""What complete() has recorded is on disk when COMMIT returns, whatever the application chose for itself."""

import pytest

from postgres_fixtures import Database
from postgres_nodes import apply_schema
from postgres_server import PostgresServer
from sql_app import App, make_effects


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("chosen", ["off", "local", "remote_write"])
def test_trap_24_the_commit_is_synchronous_whatever_the_application_has_chosen(world, app, chosen, guarded):
    a = app()
    a.run(f"SET synchronous_commit = {chosen}")
    a.commit()
    claim = a.claim()
    assert a.run("SHOW synchronous_commit") == [("on",)]
    a.rollback()
    assert a.run("SHOW synchronous_commit") == [(chosen,)]
    a.commit()
    claim = a.claim()
    a.commit()
    if guarded:
        a.guard(claim.held)
    a.effect()
    a.complete(claim.held)
    if guarded:
        a.run(f"SET LOCAL synchronous_commit = {chosen}")  # an application that knows better, and is wrong
    else:
        assert a.run("SHOW synchronous_commit") == [("on",)]
    a.commit()
    assert a.run("SHOW synchronous_commit") == [(chosen,)]


def committed_then_killed(world, complete):
    """Twenty transactions with synchronous_commit=off, then kill -9 of the server. How many effects are left."""
    app = App(world)
    app.run("SET synchronous_commit = off")
    app.commit()
    for key in map(str, range(20)):
        app.effect(key)
        if complete:
            app.complete(app.claim(key).held, 200, [], key.encode())
        app.commit()
    world.server.kill9()
    app.close()
    world.server.start()
    return world.one("SELECT count(*) FROM effects")


def test_trap_24_what_was_completed_survives_the_servers_death():
    """With synchronous_commit=off the last commits before a crash are lost, unless complete() was in them."""
    server = PostgresServer(wal_writer_delay="10s", recovery_init_sync_method="syncfs")  # nothing else writes the log out meanwhile
    try:
        world = Database(server.start(), "semel")
        apply_schema(server.create_database("semel"))
        make_effects(world)
        assert committed_then_killed(world, complete=False) == 0
        assert committed_then_killed(world, complete=True) == 20
        assert App(world).claim("19").body == b"19"
    finally:
        server.discard()


def test_remote_apply_is_left_as_it_is(world, app):
    a = app()
    a.run("SET synchronous_commit = remote_apply")
    a.complete(a.claim().held)
    assert a.run("SHOW synchronous_commit") == [("remote_apply",)]
