"""A PostgreSQL server for the tests of a file, and databases on it with the schema applied."""

import itertools

import pytest

from harness.servers.postgres_nodes import apply_schema
from harness.servers.postgres_server import PostgresServer
from harness.peers.sql_app import App, make_effects

_numbers = itertools.count(1)


class Database:
    """One database of its own, gone with its server."""

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.url = server.url(name)

    def url_for(self, user):
        return self.server.url(self.name, user)

    def connect(self, user="semel", **options):
        return self.server.connect(self.name, user, **options)

    def execute(self, statement, *values, user="semel"):
        return self.server.execute(statement, *values, database=self.name, user=user)

    def one(self, statement, *values, user="semel"):
        """The one row of the answer; if that has one column, its value."""
        [row] = self.execute(statement, *values, user=user)
        return row[0] if len(row) == 1 else row


@pytest.fixture(scope="session")
def postgres():
    server = PostgresServer()
    try:
        yield server.start()
    finally:
        server.discard()


@pytest.fixture
def own_server():
    """A server with the schema that the test may stop."""
    server = PostgresServer()
    try:
        apply_schema(server.start().create_database("semel"))
        yield server
    finally:
        server.discard()


@pytest.fixture(scope="session")
def new_database(postgres):
    """Makes databases. The schema is applied once; they are copies."""
    apply_schema(postgres.create_database("with_schema"))

    def make():
        name = f"test_{next(_numbers)}"
        postgres.execute(f"CREATE DATABASE {name} TEMPLATE with_schema", database="postgres")
        return Database(postgres, name)
    return make


@pytest.fixture
def database(new_database):
    return new_database()


@pytest.fixture(scope="module")
def world_of_the_file(new_database):
    made = new_database()
    make_effects(made)
    return made


@pytest.fixture
def world(world_of_the_file):
    """A database with the schema and a table of effects; nothing is in it."""
    world_of_the_file.execute("DELETE FROM semel.records; DELETE FROM semel.answers; DELETE FROM semel.chunks; "
                              "DELETE FROM effects")
    return world_of_the_file


@pytest.fixture
def app(world):
    """Opens sessions of an application that live as long as the test."""
    opened = []

    def start():
        opened.append(App(world))
        return opened[-1]
    yield start
    for each in opened:
        each.close()
