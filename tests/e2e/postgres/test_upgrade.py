"""The schema and its upgrades: what was applied is known by checksum, functions are applied again when they
differ, and nodes that run go on meanwhile."""

import hashlib
import pathlib
import re
import subprocess

import pytest

from harness import ROOT
from harness.postgres_fixtures import Database
from harness.servers.postgres_nodes import apply_schema, start_node
from harness.servers.postgres_server import BINARIES
from harness.clients.retrying_client import Fleet, assert_once_and_remembered
from harness.semel import assert_problem, assert_replay, binary, eventually, new_key

SEED = 20261116
HERE = pathlib.Path(__file__).resolve().parent
SQL = ROOT / "sql"
BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold"}
PROGRAMS = {
    "relay": ["relay", "--allow-urls"],
    "outbox": ["outbox", "ls"],
    "complete": ["complete", "--operation", "orders.create", "--to", "http://127.0.0.1:1/"],
}


def semel(*arguments):
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=60)


def refusal(*arguments):
    done = semel(*arguments)
    assert done.returncode == 1, done
    return done.stderr


def refusals(url, start_gateway):
    """Starts every program that uses the schema on it, and returns their error texts by name."""
    with pytest.raises(AssertionError) as refused:
        start_node(start_gateway, url, ROUTE)
    said = {name: refusal(*command, "--url", url) for name, command in PROGRAMS.items()}
    return {"serve": str(refused.value), **said}


@pytest.fixture
def empty(postgres):
    """A database without the schema."""
    name = f"empty_{new_key()[:8]}".replace("-", "_")
    postgres.create_database(name)
    return Database(postgres, name)


@pytest.fixture
def without_checksums(empty):
    """A database with the schema as it was applied before checksums were kept."""
    empty.execute("CREATE SCHEMA semel")
    empty.execute("CREATE TABLE semel.migrations (number integer PRIMARY KEY, name text NOT NULL, "
                  "applied_at timestamptz NOT NULL DEFAULT clock_timestamp())")
    for file in sorted((HERE / "schema_without_checksums").glob("*.sql")):
        empty.execute(file.read_text())
        empty.execute("INSERT INTO semel.migrations (number, name) VALUES (%s, %s)", int(file.name[:3]),
                      file.stem)
    return empty


def test_a_released_file_does_not_change():
    """A change of tables is a new file. Lines are added to released.sha256, never changed."""
    released = dict(reversed(line.split()) for line in (HERE / "released.sha256").read_text().splitlines())
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in SQL.glob("[0-9]*.sql")}
    assert found == released


def test_a_schema_without_checksums_is_upgraded_and_keeps_its_records(
        without_checksums, start_gateway, upstream, key):
    database = without_checksums
    record, token = database.one("SELECT record, token FROM semel.claim('acme', 'charges', %s)", key)
    database.execute("SELECT semel.complete(%s, %s, 201, '{}', 'of before')", record, token)
    for name, said in refusals(database.url, start_gateway).items():
        assert "run semel schema apply" in said, name
    assert "from version 5 to" in semel("schema", "apply", "--url", database.url).stdout
    verdict, body = database.one("SELECT verdict, body FROM semel.claim('acme', 'charges', %s)", key)
    assert (verdict, bytes(body)) == ("replay", b"of before")
    node = start_node(start_gateway, database.url, ROUTE)
    first = node.post("/charges", json=BODY, key=key)
    assert_replay(node.post("/charges", json=BODY, key=key), first)
    assert (first.status, upstream.effects(key)) == (200, 1)


def test_tables_that_were_never_released_are_not_taken_for_those_that_were(without_checksums):
    """A database of an edited file has the same number."""
    without_checksums.execute("ALTER TABLE semel.leases DROP COLUMN base CASCADE")
    assert "never released" in refusal("schema", "apply", "--url", without_checksums.url)


def test_functions_that_differ_are_refused_and_applied_again(database, start_gateway, upstream, key):
    database.execute("CREATE OR REPLACE FUNCTION semel.hello(name text) RETURNS bigint LANGUAGE sql AS "
                     "'SELECT 1 / 0::bigint'; UPDATE semel.migrations SET checksum = 'another' WHERE number = 0")
    for name, said in refusals(database.url, start_gateway).items():
        assert "functions" in said and "run semel schema apply" in said, name
    assert "functions applied" in semel("schema", "apply", "--url", database.url).stdout
    node = start_node(start_gateway, database.url, ROUTE)
    assert node.post("/charges", json=BODY, key=key).status == 200
    assert "functions" not in semel("schema", "apply", "--url", database.url).stdout


def test_a_file_that_was_applied_with_another_text_is_refused(database, start_gateway):
    database.execute("UPDATE semel.migrations SET checksum = 'another' WHERE number = 2")
    for name, said in refusals(database.url, start_gateway).items():
        assert "002_store" in said and "a different text" in said, name
    assert "a different text" in refusal("schema", "apply", "--url", database.url)


def test_functions_of_a_later_version_are_not_replaced(database):
    database.execute("UPDATE semel.migrations SET checksum = 'another', applied_by = '99.0.0' WHERE number = 0")
    assert "use a newer semel" in refusal("schema", "apply", "--url", database.url)
    assert database.one("SELECT checksum FROM semel.migrations WHERE number = 0") == "another"


@pytest.mark.parametrize("made", ["empty", "without_checksums"])
def test_what_is_printed_can_be_applied_by_psql_and_counts(made, request, start_gateway, key):
    database = request.getfixturevalue(made)
    for _ in range(2):
        subprocess.run([BINARIES / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", database.url],
                       input=semel("schema", "print").stdout, text=True, check=True,
                       stdout=subprocess.DEVNULL)
    assert re.search(r"already at version \d+\n", semel("schema", "apply", "--url", database.url).stdout)
    assert start_node(start_gateway, database.url, ROUTE).post("/charges", json=BODY, key=key).status == 200


@pytest.mark.parametrize("made", ["empty", "without_checksums"])
def test_ten_nodes_apply_at_once(made, request):
    database = request.getfixturevalue(made)
    running = [subprocess.Popen([binary(), "schema", "apply", "--url", database.url],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for _ in range(10)]
    outcomes = [(process.communicate(timeout=60), process.returncode) for process in running]
    assert all(code == 0 for _, code in outcomes), outcomes
    assert sum("from version" in said for (said, _), _ in outcomes) == 1


def test_functions_are_applied_under_load_and_nothing_fails(database, start_gateway, upstream):
    nodes = [start_node(start_gateway, database.url, ROUTE) for _ in range(2)]
    with Fleet(20, nodes, SEED) as fleet:
        for _ in range(5):
            upstream.wait_effects(upstream.effects() + 100)
            database.execute("UPDATE semel.migrations SET checksum = 'another' WHERE number = 0")
            apply_schema(database.url)
    assert all(node.admin("/readyz").status == 200 for node in nodes)
    assert_once_and_remembered(fleet, nodes[0], upstream)


def test_a_table_that_an_application_has_open_is_waited_for(without_checksums):
    database = without_checksums
    application = database.connect()
    with application.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM semel.records")
    applying = subprocess.Popen([binary(), "schema", "apply", "--url", database.url])
    eventually(lambda: database.one("SELECT count(*) FROM pg_locks WHERE NOT granted") == 1)
    # It gives way to others: nobody waits behind it for long.
    eventually(lambda: database.one("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
    assert applying.poll() is None
    application.rollback()
    assert applying.wait(timeout=30) == 0
    application.close()


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
