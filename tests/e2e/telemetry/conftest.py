import pytest

from harness.semel_fixtures import *  # noqa: F401,F403

from harness.consume import Consumer, NatsBroker
from harness.peers.collector import Collector
from harness.peers.receiver import Receiver
from harness.servers.nats_server import NatsServer


@pytest.fixture
def collector():
    one = Collector()
    yield one
    one.down()


@pytest.fixture
def receiver():
    one = Receiver()
    yield one
    one.down()


@pytest.fixture
def broker():
    server = NatsServer()
    try:
        yield NatsBroker(server.start())
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
