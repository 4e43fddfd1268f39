"""A rolling upgrade: the schema is brought up to the next version while nodes of this one run."""

import pytest

from postgres_nodes import start_node
from semel_harness import assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold"}


def cut_all(database):
    database.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                            "WHERE application_name = 'semel' AND datname = %s", database.name,
                            database="postgres")


def test_nodes_that_run_go_on_and_connect_no_more(database, start_gateway, upstream, key):
    node = start_node(start_gateway, database.url, ROUTE)
    first = node.post("/charges", json=BODY, key=key)
    assert first.status == 200
    database.execute("INSERT INTO semel.migrations (number, name) "
                     "SELECT max(number) + 1, 'of a later version' FROM semel.migrations")
    # Its connections are as good as before.
    assert_replay(node.post("/charges", json=BODY, key=key), first)
    assert node.post("/charges", json=BODY, key=new_key()).status == 200
    assert node.admin("/readyz").status == 200
    # Another of its version does not start.
    with pytest.raises(AssertionError, match="use a newer semel"):
        start_node(start_gateway, database.url, ROUTE)
    # Once they are gone it makes no others: it says so, executes nothing, and can be replaced.
    cut_all(database)
    eventually(lambda: b"use a newer semel" in node.admin("/readyz").body)
    assert node.admin("/readyz").status == 503
    fresh = new_key()
    assert_problem(node.post("/charges", json=BODY, key=fresh), 503, "store-unavailable")
    assert upstream.effects(fresh) == 0
    # The schema is what it knows again: it goes on by itself.
    database.execute("DELETE FROM semel.migrations WHERE name = 'of a later version'")
    eventually(lambda: node.post("/charges", json=BODY, key=fresh).status == 200, timeout=30)
    assert upstream.effects(fresh) == 1
