"""examples/python-orders as it stands, on a real server: by itself, behind a gateway, and killed between
semel.complete and COMMIT."""

import json
import threading

import pytest

from harness.clients.http_client import Connection, ConnectionEnded
from harness.peers.orders_service import EXAMPLE, OrdersService, set_up
from harness.servers.pg_proxy import PgProxy
from harness.semel import Gateway, eventually

TEA = json.dumps({"item": "tea", "quantity": 2}).encode()


class Orders(OrdersService):
    """Its way to the database leads through a proxy, which can stop it there."""

    def __init__(self, database):
        self.proxy = PgProxy(database.server.port)
        super().__init__(f"postgresql://shop@127.0.0.1:{self.proxy.port}/{database.name}")

    def start(self):
        self.proxy.stop_at_commit = None
        self.proxy.stopped.clear()
        return super().start()

    def discard(self):
        self.kill9()
        self.proxy.close()

    def kill9_at_commit(self, when):
        """From now on: `before` it is sent to the server, or `after` the server has done it."""
        self.proxy.stop_at_commit = when

        def kill():
            self.proxy.stopped.wait()
            self.kill9()
        killer = threading.Thread(target=kill)
        killer.start()
        return killer


@pytest.fixture
def shop(postgres, database):
    """The database as the README sets it up."""
    postgres.execute("DROP ROLE IF EXISTS shop", database="postgres")
    set_up(database)
    yield database
    database.execute("DROP OWNED BY shop")


@pytest.fixture
def orders(shop):
    service = Orders(shop).start()
    yield service
    service.discard()


def ask(port, key, body=TEA):
    with Connection(("127.0.0.1", port)) as connection:
        return connection.request("POST", "/orders", body, key=key, headers=[("Authorization", "Bearer k1")])


def count(shop):
    return shop.one("SELECT count(*) FROM public.orders")


def noticed(shop):
    """Waits until the server has seen that the killed service is gone."""
    eventually(lambda: not shop.one("SELECT count(*) FROM pg_stat_activity WHERE usename = 'shop'"))


# By itself


def test_an_order_is_made_once_and_answered_the_same(shop, orders, key):
    first = ask(orders.port, key)
    assert first.status == 201 and first.json()["item"] == "tea"
    again = ask(orders.port, key)
    assert (again.status, again.body, again.replayed) == (201, first.body, True)
    assert ask(orders.port, key, b'{"item": "tea", "quantity": 3}').status == 422
    assert count(shop) == 1


def test_an_order_that_can_never_be_made_is_refused_the_same_way_each_time(shop, orders, key):
    first = ask(orders.port, key, b'{"item": "tea", "quantity": 0}')
    again = ask(orders.port, key, b'{"item": "tea", "quantity": 0}')
    assert (first.status, again.status, again.body) == (422, 422, first.body)
    assert again.replayed and count(shop) == 0


def test_the_role_of_the_service_can_do_orders_and_nothing_else(shop):
    assert shop.one("SELECT verdict FROM semel.claim('x', 'orders', 'k')", user="shop") == "execute"
    with pytest.raises(Exception, match="not granted"):
        shop.execute("SELECT semel.claim('x', 'refunds', 'k')", user="shop")


@pytest.mark.parametrize("when, left_behind", [("before", 0), ("after", 1)])
def test_killed_at_its_commit_it_has_made_the_order_or_not_and_the_retry_makes_it_one(
        shop, orders, key, when, left_behind):
    killer = orders.kill9_at_commit(when)
    with pytest.raises(ConnectionEnded):
        ask(orders.port, key)
    killer.join()
    noticed(shop)
    assert count(shop) == left_behind
    orders.start()
    again = ask(orders.port, key)
    assert (again.status, again.replayed) == (201, when == "after")
    assert count(shop) == 1


# Behind the gateway


@pytest.fixture
def gateway(shop, orders, tmp_path):
    """With the example's own configuration, on free ports."""
    text = (EXAMPLE / "semel.yaml").read_text().replace("127.0.0.1:8080", "127.0.0.1:0")
    config = tmp_path / "semel.yaml"
    config.write_text(text + "admin: {listen: 127.0.0.1:0}\n")
    started = Gateway(config_file=config, environment={"SEMEL_DB": shop.url,
                                                       "ORDERS": orders.address})
    yield started.start()
    started.discard()


def test_behind_the_gateway_an_order_is_made_once_and_answered_the_same(shop, gateway, key):
    first = ask(gateway.address[1], key)
    assert first.status == 201 and first.json()["item"] == "tea"
    assert first.header("Content-Type") == "application/json" and not first.replayed
    again = ask(gateway.address[1], key)
    assert (again.status, again.body, again.replayed) == (201, first.body, True)
    assert ask(gateway.address[1], key, b'{"item": "tea", "quantity": 3}').status == 422
    assert count(shop) == 1
    shown = gateway.record(key)
    assert (shown["state"], shown["reason"]) == ("completed", "completed by shop")
    assert [line["note"] for line in shown["history"]] == ["claimed", "completed by shop"]


def test_behind_the_gateway_a_crowd_makes_one_order(shop, gateway, key):
    answers = []
    crowd = [threading.Thread(target=lambda: answers.append(ask(gateway.address[1], key))) for _ in range(16)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert {(answer.status, answer.body) for answer in answers} == {(201, answers[0].body)} and len(answers) == 16
    assert count(shop) == 1


@pytest.mark.parametrize("when, left_behind", [("before", 0), ("after", 1)])
def test_behind_the_gateway_a_service_killed_at_its_commit_needs_nobodys_help(
        shop, orders, gateway, key, when, left_behind):
    killer = orders.kill9_at_commit(when)
    first = ask(gateway.address[1], key)
    killer.join()
    noticed(shop)
    assert count(shop) == left_behind
    # A committed answer is given, though the service never sent it; without a commit there is none.
    assert first.status == (201 if when == "after" else 502)
    orders.start()
    again = ask(gateway.address[1], key)
    assert (again.status, again.replayed) == (201, when == "after")
    assert when == "before" or again.body == first.body
    assert count(shop) == 1


def test_behind_the_gateway_a_commit_that_fails_leaves_nothing_and_the_retry_makes_the_order(shop, gateway, key):
    shop.execute("""
        CREATE FUNCTION public.fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'no'; END $$;
        CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON public.orders DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION public.fail_at_commit()""")
    assert ask(gateway.address[1], key).status == 503
    shop.execute("DROP TRIGGER fails ON public.orders")
    again = ask(gateway.address[1], key)
    assert (again.status, again.replayed) == (201, False)
    assert count(shop) == 1
