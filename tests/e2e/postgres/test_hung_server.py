"""A server that takes connections and does not answer: nothing waits for it for ever, and when it answers again
all is as before."""

import socket
import time

from harness.clients.http_client import TIME_SCALE, request_bytes
from harness.servers.pg_proxy import PgProxy
from harness.servers.postgres_nodes import start_node
from harness.semel import assert_problem, assert_replay, eventually, new_key

ROUTE = {"name": "charges", "path": "/charges"}
SET_UP_SECONDS = 10  # a session's; then it is given up
MOST = (SET_UP_SECONDS + 10) * TIME_SCALE


def ready(gateway):
    return gateway.admin("/readyz").status == 200


def test_a_session_that_hangs_while_it_is_set_up_is_given_up(start_gateway, upstream, postgres, database, key):
    """There are two threads that connect: were they held for ever, the store would never come back."""
    proxy = PgProxy(postgres.port)
    try:
        gateway = start_node(start_gateway, f"postgresql://semel@127.0.0.1:{proxy.port}/{database.name}", ROUTE)
        first = gateway.post("/charges", key=key)
        proxy.silent = True
        database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                         "WHERE datname = current_database() AND pid <> pg_backend_pid()")
        eventually(lambda: proxy.silenced >= 2)
        assert_problem(gateway.post("/charges", key=new_key()), 503, "store-unavailable")
        proxy.silent = False
        eventually(lambda: ready(gateway), timeout=MOST)
        assert_replay(gateway.post("/charges", key=key), first)
        assert upstream.effects() == 1
    finally:
        proxy.close()


def test_who_takes_connections_and_never_answers_holds_up_neither_start_nor_end(start_gateway, upstream):
    mute = socket.create_server(("127.0.0.1", 0))
    try:
        port = mute.getsockname()[1]
        gateway = start_node(start_gateway, f"postgresql://semel@127.0.0.1:{port}/semel", ROUTE)
        assert not ready(gateway)
        assert_problem(gateway.post("/charges", key=new_key()), 503, "store-unavailable")
        assert upstream.arrived() == 0
        begun = time.monotonic()
        gateway.stop()
        assert time.monotonic() - begun < 10 * TIME_SCALE
    finally:
        mute.close()


def test_a_server_that_stands_still_in_the_middle(start_gateway, upstream, own_server, key):
    """All its processes are stopped while work runs, and go on later: the work is recorded, and done once."""
    gateway = start_node(start_gateway, own_server.url(), ROUTE)
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        own_server.stand_still()
        try:
            upstream.open_gate("g")
            eventually(lambda: not ready(gateway), timeout=30 * TIME_SCALE)
        finally:
            own_server.go_on()
        answer = connection.read_response()
    eventually(lambda: ready(gateway), timeout=MOST)
    replay = eventually(lambda: (a := gateway.post("/charges", key=key)).status == 200 and a)
    assert replay.replayed and answer.status in (200, 503), answer
    assert upstream.effects(key) == 1
