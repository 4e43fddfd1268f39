"""Under a service manager (systemd): the gateway says when it is ready, reloading and stopping, and takes sockets that
the manager has opened, so that a restart refuses nobody."""

import re
import time

import pytest

from harness.clients.http_client import Connection, ConnectionEnded, request_bytes
from harness.semel import Background, assert_replay, at_once, eventually, new_key
from harness.service_manager import Service, ServiceManager

BODY = {"amount": 100}


@pytest.fixture
def manager(tmp_path):
    made = ServiceManager(tmp_path / "notify")
    yield made
    made.close()


@pytest.fixture
def start_service(upstream):
    """Starts a gateway under the manager. It listens where the manager has opened sockets, unless told otherwise."""
    started = []

    def start(manager, **top):
        listens = {name: "127.0.0.1:%d" % made.getsockname()[1] for name, made in manager.opened}
        top = {"store": "embedded", "listen": listens.get("gateway", "127.0.0.1:0"),
               "admin": {"listen": listens.get("admin", "127.0.0.1:0")}, **top}
        started.append(Service(manager, [{"name": "charges", "path": "/*", "upstream": upstream.url}], **top))
        return started[-1].start()

    yield start
    upstream.reset()
    for service in started:
        service.discard()


def ready(manager):
    message = manager.next_message()
    assert message == {"STATUS": "Opening the store"}
    message = manager.next_message()
    assert message == {"READY": "1", "STATUS": "Serving"}


def test_it_says_when_it_is_ready_reloading_and_stopping(manager, start_service, upstream, key):
    gateway = start_service(manager, drain_timeout="60s")
    ready(manager)
    assert gateway.post("/", json=BODY).status == 200
    assert not manager.has_message()

    for text, status in (((gateway.folder / "semel.yaml").read_text(), "loaded again"), ("routes: [", "refused")):
        before = time.monotonic()
        gateway.reload_text(text)
        reloading, done = manager.next_message(), manager.next_message()
        assert reloading["RELOADING"] == "1"
        assert before <= int(reloading["MONOTONIC_USEC"]) / 1e6 <= time.monotonic()
        assert done["READY"] == "1" and status in done["STATUS"], done

    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/slow", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        gateway.terminate()
        assert manager.next_message() == {"STOPPING": "1", "STATUS": "Finishing what runs"}
        assert gateway.running
        upstream.open_gate("g")
        assert connection.read_response().status == 200
    assert gateway.wait() == 0
    assert not manager.has_message()


def test_a_manager_whose_socket_has_no_file(start_service):
    manager = ServiceManager(f"@semel-test-{new_key()}")
    try:
        start_service(manager)
        ready(manager)
    finally:
        manager.close()


def test_a_manager_that_is_gone_is_no_trouble(manager, start_service, tmp_path):
    manager.close()
    gateway = start_service(manager)
    assert gateway.post("/", json=BODY).status == 200
    assert eventually(lambda: "the service manager could not be told" in gateway.stderr())


def test_it_is_not_ready_if_it_cannot_listen(manager, start_service):
    other = ServiceManager(f"@semel-test-{new_key()}")
    taken = other.open("gateway")
    try:
        with pytest.raises(AssertionError, match="cannot listen on"):
            start_service(manager, listen=taken)
    finally:
        other.close()
    assert manager.next_message() == {"STATUS": "Opening the store"}
    assert not manager.has_message()


def test_it_serves_on_the_sockets_that_were_opened_for_it(manager, start_service, upstream, key):
    gateway_at, admin_at = manager.open("gateway"), manager.open("admin")
    gateway = start_service(manager, workers=2)
    assert "%s:%d" % gateway.address == gateway_at and "%s:%d" % gateway.admin_address == admin_at
    answers = at_once(50, gateway, "/", json=BODY, key=key)
    assert {answer.status for answer in answers} <= {200, 409} and upstream.effects(key) == 1
    assert gateway.admin("/readyz").status == 200
    # Every connection is served, whichever worker takes it up.
    for _ in range(100):
        assert gateway.get("/").status == 200


def test_what_comes_during_a_restart_waits_and_is_served(manager, start_service, upstream, key):
    manager.open("gateway")
    gateway = start_service(manager)
    first = gateway.post("/", json=BODY, key=key)
    gateway.stop()
    waiting = [Connection(gateway.address) for _ in range(20)]  # nobody accepts them now
    keys = [new_key() for _ in waiting]
    for connection, own in zip(waiting, keys):
        connection.send(request_bytes("POST", "/", json=BODY, key=own))
    gateway.start()
    for connection, own in zip(waiting, keys):
        assert connection.read_response().status == 200
        assert upstream.effects(own) == 1
        connection.close()
    assert_replay(gateway.post("/", json=BODY, key=key), first)


def test_nobody_is_refused_while_it_is_restarted(manager, start_service, upstream):
    """A connection that was accepted a moment before may end without a byte (docs/operations.md,
    "Under systemd"): its client tries again, as it would with any server."""
    manager.open("gateway")
    gateway = start_service(manager)
    address, done = gateway.address, []

    def client():
        key, keys = new_key(), []
        while len(done) < 2:
            try:
                with Connection(address) as connection:
                    assert connection.request("POST", "/", json=BODY, key=key).status == 200
            except ConnectionEnded:
                continue
            keys.append(key)
            key = new_key()
        return keys

    clients = [Background(client) for _ in range(4)]
    for _ in range(2):
        gateway.restart()
        done.append(True)
    keys = [key for one in clients for key in one.result()]
    assert keys and all(upstream.effects(key) == 1 for key in keys)


def test_sockets_for_another_process_are_left_alone(manager, start_service):
    manager.open("gateway")
    gateway = start_service(manager, listen="127.0.0.1:0", environment={"LISTEN_PID": "1"})
    assert gateway.get("/").status == 200
    assert gateway.address != manager.opened[0][1].getsockname()


@pytest.mark.parametrize("name, listens, says", [
    ("semel.socket", True, r"'semel.socket' on 127.0.0.1:\d+: set FileDescriptorName= in its unit to gateway, admin or"),
    ("gateway", True, r"'gateway' on 127.0.0.1:\d+, but \S+ has no such address in listen: make the file and"),
    ("admin", True, r"'admin' on 127.0.0.1:\d+, but \S+ has another admin.listen: make the file and ListenStream="),
    ("gateway", False, "'gateway', which is not a TCP socket that listens")])
def test_a_socket_that_it_cannot_use_is_refused(manager, start_service, name, listens, says):
    manager.open(name, listens)
    with pytest.raises(AssertionError, match="exit code 1 before ready") as refused:
        start_service(manager, listen="127.0.0.1:0", admin={"listen": "127.0.0.1:0"})
    assert re.search(says, str(refused.value)), refused.value
    assert not manager.has_message()
