import pytest

from harness.semel_fixtures import *  # noqa: F401,F403
from harness.postgres_fixtures import *  # noqa: F401,F403

from harness.consume import Consumer
from harness.servers.kafka_server import KafkaCluster


def cluster(nodes):
    made = KafkaCluster(nodes)
    try:
        yield made.start()
    finally:
        made.discard()


@pytest.fixture(scope="session")
def kafka():
    """One broker."""
    yield from cluster(1)


@pytest.fixture(scope="module")
def three_brokers():
    yield from cluster(3)


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
