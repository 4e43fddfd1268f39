"""The PostgreSQL server that the gateways of one test process share: started when the first one
needs it, gone when the process ends. Each gateway has a database of its own."""

import atexit
import itertools
import os
import subprocess

from harness.servers.postgres_server import PostgresServer

_numbers = itertools.count(1)
_server = None
_free = []


def server():
    global _server
    if _server is None:
        _server = PostgresServer()
        atexit.register(_server.discard)
        _server.start()
        url = _server.create_database("with_schema")
        subprocess.run([os.environ["SEMEL_BINARY"], "schema", "apply", "--url", url], check=True,
                       stdout=subprocess.DEVNULL)
    return _server


def new_database():
    """The URL of a database with nothing but the schema in it."""
    if _free:
        return _free.pop()
    name = f"gateway_{next(_numbers)}"
    server().execute(f"CREATE DATABASE {name} TEMPLATE with_schema", database="postgres")
    return server().url(name)


def give_back(url):
    """Emptied, for the next: making one takes a second."""
    name = url.rsplit("/", 1)[1]
    server().execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                     "WHERE datname = %s", name, database="postgres")
    for table in ("records", "answers", "chunks", "nodes", "outbox", "outbox_lanes", "dead_letters"):
        server().execute(f"DELETE FROM semel.{table}", database=name)
    _free.append(url)
