"""The orders service of examples/python-orders on a database of its own."""

import pytest

from harness.peers.orders_service import OrdersService, set_up
from harness.postgres_fixtures import Database
from harness.servers.postgres_nodes import apply_schema
from harness.servers.postgres_server import PostgresServer


@pytest.fixture
def shop():
    """A server of its own: each request of the service is a connection."""
    server = PostgresServer(max_connections="400", recovery_init_sync_method="syncfs")
    try:
        database = Database(server.start(), "semel")
        apply_schema(server.create_database("semel"))
        set_up(database)
        yield database
    finally:
        server.discard()


@pytest.fixture
def service(shop):
    started = OrdersService(shop.url_for("shop")).start()
    yield started
    started.kill9()
