import pytest

from harness.semel_fixtures import *  # noqa: F401,F403

from harness.consume import Consumer, NatsBroker, RabbitmqBroker
from harness.servers.nats_server import NatsServer
from harness.servers.rabbitmq_server import RabbitmqServer

SERVERS = {"rabbitmq": (RabbitmqServer, RabbitmqBroker), "nats": (NatsServer, NatsBroker)}


@pytest.fixture(scope="session", params=sorted(SERVERS))
def broker(request):
    server_class, broker_class = SERVERS[request.param]
    server = server_class()
    try:
        yield broker_class(server.start())
    finally:
        server.discard()


@pytest.fixture
def consumers():
    """Makes consumers that end with the test."""
    made = []

    def make(*entries, **top):
        made.append(Consumer(*entries, **top))
        return made[-1].start()

    yield make
    for consumer in made:
        consumer.discard()
