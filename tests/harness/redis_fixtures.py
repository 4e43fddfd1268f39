"""Redis servers for the tests of a file."""

import pytest

from harness.odd_machine import OddMachine
from harness.servers.redis_server import Cluster, RedisServer, Replicated


@pytest.fixture(scope="module")
def redis():
    """One server that keeps what it acknowledges. A test may kill it, and starts it again."""
    server = RedisServer()
    try:
        yield server.start()
    finally:
        server.discard()


@pytest.fixture
def new_redis():
    """Starts servers of the test's own."""
    started = []

    def start(**settings):
        started.append(RedisServer(**settings))
        return started[-1].start()

    yield start
    for server in started:
        server.discard()


@pytest.fixture
def replicated():
    """A master, a replica and a Sentinel."""
    servers = Replicated()
    yield servers
    servers.discard()


@pytest.fixture
def cluster():
    servers = Cluster()
    yield servers
    servers.discard()


@pytest.fixture
def new_machine():
    """Machines for processes of the test, whose clocks and disks it sets."""
    made = []

    def make(**how):
        made.append(OddMachine(**how))
        return made[-1]

    yield make
    for machine in made:
        machine.discard()
