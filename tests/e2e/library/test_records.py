"""A record that a program makes with semel/semel.h is the gateway's, the service API's and SQL's record of the same
operation, tenant and key: whoever comes second gets the first one's answer."""

import os
import pathlib
import subprocess

import psycopg2

from harness.clients.http_client import Connection
from harness.semel import new_key

BODY = "amount=7"
REQUEST = ("POST", "/charges", "text/plain")
ROUTE = {"path": "/charges", "name": "charges", "methods": ["POST"], "fingerprint": {"body": "raw", "query": False}}


def inside(url, key, fingerprint, *http, operation="charges", tenant=""):
    program = pathlib.Path(os.environ["SEMEL_BINARY"]).parent / "tests/library_caller"
    done = subprocess.run([program, url, operation, tenant, key, fingerprint, *http], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def through(gateway, key, body=BODY):
    with Connection(gateway.address) as connection:
        return connection.request("POST", "/charges", headers={"Content-Type": "text/plain", "Idempotency-Key": f'"{key}"'},
                                  body=body.encode())


def test_the_gateway_replays_what_was_done_inside_and_the_other_way_round(database, start_gateway, upstream):
    gateway = start_gateway(ROUTE, store={"kind": "postgres", "url": database.url})
    key = new_key()
    assert inside(database.url, key, BODY, *REQUEST) == "executed 201 inside"
    replayed = through(gateway, key)
    assert (replayed.status, replayed.body, upstream.effects()) == (201, b"inside", 0)
    assert replayed.header("Idempotency-Replayed") == "true"
    assert through(gateway, key, "amount=8").status == 422

    key = new_key()
    first = through(gateway, key)
    assert (first.status, upstream.effects()) == (200, 1)
    assert inside(database.url, key, BODY, *REQUEST) == f"replayed 200 {first.body.decode()}".strip()
    assert inside(database.url, key, "amount=8", *REQUEST).startswith("mismatch")
    assert inside(database.url, key, BODY, "PUT", *REQUEST[1:]).startswith("mismatch")
    assert upstream.effects() == 1


def test_sql_replays_what_was_done_inside_and_the_other_way_round(database):
    claim = "SELECT verdict, status, body FROM semel.claim('shop', 'orders', %s, %s)"
    for fingerprint in (BODY, "", "x" * 32):
        key = new_key()
        assert inside(database.url, key, fingerprint, operation="orders", tenant="shop") == "executed 201 inside"
        verdict, status, body = database.one(claim, key, psycopg2.Binary(fingerprint.encode()))
        assert (verdict, status, bytes(body)) == ("replay", 201, b"inside")
        assert database.one(claim, key, psycopg2.Binary(b"another"))[0] == "mismatch"

        key = new_key()
        database.execute("""SELECT semel.complete(record, token, 200, '[]', 'by SQL'::bytea)
                            FROM semel.claim('shop', 'orders', %s, %s)""", key, psycopg2.Binary(fingerprint.encode()))
        assert inside(database.url, key, fingerprint, operation="orders", tenant="shop") == "replayed 200 by SQL"
        assert inside(database.url, key, "another", operation="orders", tenant="shop").startswith("mismatch")
