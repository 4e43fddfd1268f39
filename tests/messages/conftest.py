import pathlib
import sys

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
pytest.register_assert_rewrite("semel_harness", "http_client", "upstream_control")

from semel_fixtures import *  # noqa: E402,F401,F403

from consume_harness import Consumer, NatsBroker, RabbitmqBroker  # noqa: E402
from nats_server import NatsServer  # noqa: E402
from rabbitmq_server import RabbitmqServer  # noqa: E402

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
