"""An application that calls the SQL functions, as the tests tell its story."""

import contextlib
import json

import psycopg2
import pytest


class Claim:
    def __init__(self, row):
        (self.verdict, self.record, self.token, self.attempt, self.status, self.headers, self.body) = (
            bytes(value) if isinstance(value, memoryview) else value for value in row)

    @property
    def held(self):
        return self.record, self.token


class App:
    """One session. A transaction is open from its first statement to commit() or rollback()."""

    def __init__(self, database, user="semel"):
        # A wait for another session of the test would be for ever.
        self.connection = database.connect(user, options="-c statement_timeout=20s")

    def run(self, statement, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else None

    def claim(self, key="k", tenant="acme", operation="orders", **named):
        names = "".join(f", {name} => %s" for name in named)
        [row] = self.run(f"SELECT * FROM semel.claim(%s, %s, %s{names})", tenant, operation, key,
                         *named.values())
        return Claim(row)

    def effect(self, key="k"):
        self.run("INSERT INTO effects VALUES (%s)", key)

    def complete(self, held, status=201, headers=(), body=b"made"):
        self.run("SELECT semel.complete(%s, %s, %s, %s, %s)", *held, status, json.dumps(headers), body)

    def release(self, held, reason=""):
        self.run("SELECT semel.release(%s, %s, %s)", *held, reason)

    def guard(self, held):
        self.run("SELECT semel.guard(%s, %s)", *held)

    def commit(self):
        self.connection.commit()

    def rollback(self):
        self.connection.rollback()

    def close(self):
        self.connection.close()


def make_effects(database):
    database.execute("CREATE TABLE public.effects (key text NOT NULL, at timestamptz DEFAULT clock_timestamp())")
    database.execute("GRANT ALL ON public.effects TO PUBLIC")


def lease_runs_out(database):
    """As if its owner had been gone for a minute."""
    database.execute("UPDATE semel.records SET lease_until = lease_until - 90000, due_at = due_at - 90000 "
                     "WHERE state = 2")


def effects(database):
    return database.one("SELECT count(*) FROM effects")


def state(database):
    """Returns the state of the only record."""
    return {2: "in_progress", 3: "completed", 4: "released", 5: "unknown"}[
        database.one("SELECT state FROM semel.records")]


@contextlib.contextmanager
def raises(sqlstate):
    with pytest.raises(psycopg2.Error) as raised:
        yield raised
    assert raised.value.pgcode == sqlstate, raised.value
