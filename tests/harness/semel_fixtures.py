"""The fixtures of the gateway and chaos tests."""

import resource

import pytest

from harness.clients.certificates import Certificates
from harness.peers.raw_upstream import RawUpstream
from harness.ports import free_port
from harness.semel import TRIED_STORES, Gateway, new_key
from harness.peers.upstream_control import Upstream


@pytest.fixture(scope="session")
def upstream_process():
    process = Upstream()
    yield process
    process.stop()


@pytest.fixture
def upstream(upstream_process):
    """The counting upstream, with nothing counted yet."""
    upstream_process.reset()
    yield upstream_process
    upstream_process.reset()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=TRIED_STORES)
def store(request):
    return request.param


def _factory(upstream_process):
    started = []

    def start(*routes, **top):
        """Starts a gateway. A route that names no upstream gets the counting one."""
        routes = [{"upstream": upstream_process.url, **route} for route in routes]
        gateway = Gateway(routes, **top)
        started.append(gateway)
        return gateway.start()

    yield start
    upstream_process.reset()  # nothing may hang behind a gate while the gateways drain
    failures = []
    for gateway in started:
        try:
            gateway.discard()
        except AssertionError as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


@pytest.fixture
def start_gateway(upstream, upstream_process):
    """Starts gateways that live as long as the test."""
    yield from _factory(upstream_process)


@pytest.fixture(scope="module")
def module_gateway(upstream_process):
    """Starts gateways that live as long as the test file."""
    yield from _factory(upstream_process)


@pytest.fixture
def raw_upstream():
    """Starts upstreams whose connections are scripted by the test."""
    started = []

    def start(script, **options):
        started.append(RawUpstream(script, **options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def mortal_upstreams(tmp_path):
    """Starts counting upstreams that may be killed and started again, each with a journal of the keys and paths that
    reached it."""
    started = []

    def start(count):
        for number in range(count):
            journal = tmp_path / f"journal{len(started)}"
            journal.touch()
            one = Upstream(free_port(), journal)
            one.journal = lambda file=journal: [line.split() for line in file.read_text().splitlines()]
            started.append(one)
        return started[-count:]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def key():
    return new_key()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for gateway in Gateway.live:
            report.sections.append(("the gateway's stderr", gateway.stderr_tail()))


@pytest.fixture
def many_descriptors():
    """As many files as the machine allows, for thousands of connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))  # the gateway inherits it
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
