"""A PostgreSQL server for the tests of a file, and databases on it with the schema applied."""

import itertools
import os
import subprocess

import pytest

from postgres_server import PostgresServer

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


@pytest.fixture(scope="session")
def new_database(postgres):
    """Makes databases. The schema is applied once; they are copies."""
    url = postgres.create_database("with_schema")
    subprocess.run([os.environ["SEMEL_BINARY"], "schema", "apply", "--url", url], check=True,
                   stdout=subprocess.DEVNULL)

    def make():
        name = f"test_{next(_numbers)}"
        postgres.execute(f"CREATE DATABASE {name} TEMPLATE with_schema", database="postgres")
        return Database(postgres, name)
    return make


@pytest.fixture
def database(new_database):
    return new_database()
