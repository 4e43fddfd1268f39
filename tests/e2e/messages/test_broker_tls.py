"""TLS to the brokers, for what is consumed and for what is delivered: with a server that the authority
answers for, and with one that it does not."""

import pytest

from harness.consume import NatsBroker, RabbitmqBroker
from harness.servers.nats_server import NatsServer
from harness.postgres_fixtures import *  # noqa: F401,F403
from harness.servers.rabbitmq_server import RabbitmqServer
from harness.relay import Relay
from harness.semel import eventually, new_key


class Secured:
    """A broker that speaks TLS: its entries and destinations, with the address to use."""

    def __init__(self, kind, certificates, certificate):
        if kind == "rabbitmq":
            self.server = RabbitmqServer(certificate).start()
            self.broker, self.url = RabbitmqBroker(self.server), self.server.tls_url
        else:
            self.server = NatsServer(certificate, certificates.ca).start()
            self.broker, self.url = NatsBroker(self.server), self.server.url
        self.kind = kind
        self.queue = self.broker.queue()

    def source(self, ca):
        return {"url": self.url, "ca": str(ca)}

    def destination(self, ca):
        where = "routing_key" if self.kind == "rabbitmq" else "subject"
        return {"kind": self.kind, where: self.queue.name, **self.source(ca)}


@pytest.fixture(params=["nats", "rabbitmq"], scope="module")
def secured(request, certificates):
    made = Secured(request.param, certificates, certificates.upstream)
    yield made
    made.server.discard()


@pytest.fixture
def start_relay(database):
    started = []

    def start(destination):
        started.append(Relay(database.url, {"q": destination}, max_attempts=1000).start())
        database.execute("SELECT semel.enqueue('q', '{}')")
        return started[-1]
    yield start
    for one in started:
        one.discard()


def is_empty(database):
    return not database.one("SELECT EXISTS (SELECT FROM semel.outbox)")


def test_messages_are_consumed_over_tls(secured, certificates, consumers, upstream):
    queue = secured.broker.queue()
    consumers(secured.broker.entry(queue, upstream, source=secured.source(certificates.ca.cert)))
    key = new_key()
    queue.publish([(key, b"{}")])
    upstream.wait("effects", 1)
    assert [request["key"] for request in upstream.requests()] == [key]


def test_messages_are_delivered_over_tls(secured, certificates, database, start_relay):
    before = secured.queue.counts()[0]
    start_relay(secured.destination(certificates.ca.cert))
    eventually(lambda: is_empty(database))
    assert secured.queue.counts()[0] == before + 1


def test_a_server_of_another_authority_gets_nothing(secured, certificates, database, consumers,
                                                    upstream, start_relay):
    before = secured.queue.counts()[0]
    relay = start_relay(secured.destination(certificates.other_ca.cert))
    queue = secured.broker.queue()
    queue.publish([(new_key(), b"{}")])
    consumer = consumers(
        secured.broker.entry(queue, upstream, source=secured.source(certificates.other_ca.cert)))
    eventually(lambda: "delivery failed" in relay.stderr())
    eventually(lambda: "broker lost" in consumer.stderr())
    assert not is_empty(database) and secured.queue.counts()[0] == before
    assert queue.counts()[0] == 1 and upstream.requests() == []


@pytest.mark.parametrize("kind", ["nats", "rabbitmq"])
def test_a_server_of_another_name_gets_nothing(kind, certificates, database, start_relay):
    stranger = certificates.ca.issue(f"stranger-{kind}", san="DNS:elsewhere.test")
    secured = Secured(kind, certificates, stranger)
    try:
        relay = start_relay(secured.destination(certificates.ca.cert))
        eventually(lambda: "delivery failed" in relay.stderr())
        assert not is_empty(database) and secured.queue.counts()[0] == 0
    finally:
        secured.server.discard()
