"""Sets up the Python of each page, and checks its result when it has run."""

import json
import os
import pathlib
import sys
import types

import psycopg2


def sql(database):
    [(record, token)] = database.execute("SELECT record, token FROM semel.claim('acme', 'orders', 'handed')")
    connection = psycopg2.connect(database.url)
    headers = {"Semel-Record": bytes(record).hex(), "Semel-Token": bytes(token).hex()}

    def check():
        connection.close()
        verdict, body = database.one("SELECT verdict, body FROM semel.claim('acme', 'orders', 'handed')")
        assert (verdict, json.loads(bytes(body))) == ("replay", {"path": "C:\\tea"})
        assert database.one("SELECT count(*) FROM orders WHERE item = 'C:\\tea'") == 1
    return {"connection": connection, "cursor": connection.cursor(), "request": types.SimpleNamespace(headers=headers),
            "item": "C:\\tea", "json": json}, check


def outbox(database):
    connection = psycopg2.connect(database.url)

    def check():
        connection.close()
        payload, key = database.one("SELECT payload, ordering_key FROM semel.outbox_rows ORDER BY id DESC LIMIT 1")
        assert json.loads(bytes(payload)) == {"id": 8, "customer": "bob", "amount": 3} and key == "bob"
    return {"connection": connection, "json": json, "order": {"id": 8, "customer": "bob", "amount": 3}}, check


def once(_):
    os.environ["LIBSEMEL"] = str(pathlib.Path(os.environ["SEMEL_BINARY"]).parent / "libsemel.so.1")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
    values = {}

    def check():
        assert (values["once"].verdict, values["once"].body) == ("executed", b"12 accounts")
        values["engine"].close()
    return values, check


PYTHON = {"sql": sql, "outbox": outbox, "once": once}
