"""The dependencies of `semel consume` go away and come back: the store, the server's consumer."""

import pytest

from harness.consume import NatsBroker
from harness.servers.nats_server import NatsServer
from harness.servers.postgres_nodes import apply_schema
from harness.servers.postgres_server import PostgresServer
from harness.servers.rabbitmq_server import Queue
from harness.semel import eventually, new_key


@pytest.fixture
def store():
    server = PostgresServer().start()
    apply_schema(server.create_database("semel"))
    yield server
    server.discard()


def test_while_the_store_is_away_nothing_is_executed_and_nothing_acknowledged(
        broker, store, consumers, upstream):
    queue = broker.queue()
    consumer = consumers(broker.entry(queue, upstream, max_attempts=1000),
                         store={"kind": "postgres", "url": store.url("semel")})
    queue.publish([(new_key(), b"{}")])
    upstream.wait("effects", 1)
    eventually(lambda: consumer.is_idle(queue))
    store.kill9()
    keys = [new_key() for _ in range(20)]
    queue.publish([(key, b"{}") for key in keys])
    eventually(lambda: consumer.metrics()[f"semel_messages_held{{operation={queue.name}}}"] == 20)
    # Nobody can say that something will not happen; but the store is asked, and does not answer.
    eventually(lambda: "store" in consumer.stderr())
    assert len(upstream.requests()) == 1
    store.start()
    upstream.wait("effects", 21, timeout=60)
    eventually(lambda: consumer.is_idle(queue))
    assert sorted(r["key"] for r in upstream.requests()[1:]) == sorted(keys)
    assert queue.counts() == (0, 0)


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_a_consumer_that_was_deleted_is_made_again(broker, consumers, upstream):
    queue = broker.queue()
    consumer = consumers(broker.entry(queue, upstream))
    first, second = new_key(), new_key()
    queue.publish([(first, b"{}")])
    upstream.wait("effects", 1)
    eventually(lambda: consumer.is_idle(queue))
    with broker.server.connect() as client:
        client.ask(f"CONSUMER.DELETE.{queue.name}.semel")
    queue.publish([(second, b"{}")])
    upstream.wait("effects", 2, timeout=60)
    eventually(lambda: consumer.is_idle(queue))
    assert [request["key"] for request in upstream.requests()] == [first, second]


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_a_consumer_that_is_made_again_does_not_repeat_what_was_done_long_ago(broker, consumers,
                                                                            upstream):
    queue = broker.queue()
    consumer = consumers(broker.entry(queue, upstream, ttl="4s"))  # it looks every 2 s
    first, second = new_key(), new_key()
    queue.publish([(first, b"{}")])
    upstream.wait("effects", 1)
    eventually(lambda: consumer.is_idle(queue))
    eventually(lambda: not consumer.records("completed"), timeout=30)
    with broker.server.connect() as client:
        client.ask(f"CONSUMER.DELETE.{queue.name}.semel")
    queue.publish([(second, b"{}")])
    eventually(lambda: upstream.requests(key=second), timeout=60)
    eventually(lambda: consumer.is_idle(queue))
    assert [request["key"] for request in upstream.requests()] == [first, second]
    assert queue.counts()[0] == 0


def test_a_server_that_refuses_for_a_while_is_connected_again(consumers, upstream):
    server = NatsServer(credentials=("semel", "right")).start()
    try:
        queue = NatsBroker(server).queue()
        consumer = consumers(NatsBroker(server).entry(queue, upstream))
        first, second = new_key(), new_key()
        queue.publish([(first, b"{}")])
        upstream.wait("effects", 1)
        eventually(lambda: consumer.is_idle(queue))
        for password in ("other", "right"):
            server.kill9()
            server.credentials = ("semel", password)
            server.start()
            if password == "other":
                eventually(lambda: "uthorization" in consumer.stderr(), timeout=30)
        queue.publish([(second, b"{}")])
        upstream.wait("effects", 2, timeout=60)
        assert [request["key"] for request in upstream.requests()] == [first, second]
        eventually(lambda: consumer.is_idle(queue) and queue.counts() == (0, 0))
    finally:
        server.discard()


def test_a_dead_letter_that_nobody_takes_is_not_executed_again(broker, consumers, upstream):
    queue = broker.queue()
    queue.delete_dead()
    consumer = consumers(broker.entry(queue, upstream, max_attempts=2))
    key = new_key()
    queue.publish([(key, b"{}", {"X-Test": "status=503"})])
    # Each says it, and is tried again after a pause.
    eventually(lambda: consumer.stderr().count("attempts-exhausted") >= 3)
    queue.make_dead()
    eventually(lambda: consumer.is_idle(queue) and queue.counts() == (0, 1))
    reason, headers, _ = broker.reasons(queue)[key]
    assert (reason, headers["semel-attempt"]) == ("attempts-exhausted", "2")
    assert len(upstream.requests(key=key)) == 2


@pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)
def test_headers_that_leave_no_room_for_the_reason_are_left_out(broker, consumers, upstream):
    queue = broker.queue()
    key = new_key()
    queue.publish([(None, b"without an id", {"X-Big": "b" * 130_950}),
                   (key, b"{}", {"X-Big": "b" * 130_950})])
    consumer = consumers(broker.entry(queue, upstream))
    upstream.wait("effects", 1)
    eventually(lambda: queue.counts()[1] == 1 and consumer.is_idle(queue))
    [(properties, body)] = queue.take_dead()
    assert body == b"without an id" and "X-Big" not in properties.headers
    assert properties.headers["Semel-Dead-Letter"] == "id-missing"
    assert "do not fit into a frame" in properties.headers["Semel-Dead-Letter-Omitted"]
    assert "broker lost" not in consumer.stderr()


@pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)
def test_what_is_rejected_goes_to_the_queues_own_dead_letters(broker, consumers, upstream):
    name = f"q{new_key()[:8]}"
    queue = Queue(broker.server, name, **{"x-dead-letter-exchange": "",
                                          "x-dead-letter-routing-key": f"{name}.dead"})
    key = new_key()
    queue.publish([(None, b"without an id"), (key, b"{}", {"X-Test": "status=200"})])
    consumer = consumers(broker.entry(queue, upstream, dead_letter="reject"))
    upstream.wait("effects", 1)
    eventually(lambda: queue.counts()[1] == 1 and consumer.is_idle(queue))
    [(properties, body)] = queue.take_dead()
    assert body == b"without an id"
    assert properties.headers["x-death"][0]["queue"] == name
    assert properties.headers["x-death"][0]["reason"] == "rejected"
    assert [request["key"] for request in upstream.requests()] == [key]


def quorum_queue(broker, *, aside=True, **arguments):
    """Where the broker counts how often a message came back."""
    name = f"q{new_key()[:8]}"
    arguments = {"x-queue-type": "quorum", **{n.replace("_", "-"): v for n, v in arguments.items()}}
    if aside:
        arguments |= {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{name}.dead"}
    return Queue(broker.server, name, **arguments)


@pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)
def test_attempts_use_up_no_deliveries_of_a_quorum_queue(broker, consumers, upstream):
    """A message that waits for its next attempt is held, not returned."""
    queue = quorum_queue(broker, x_delivery_limit=2)
    key = new_key()
    queue.publish([(key, b"{}", {"X-Test": "status=503; first=6"})])
    consumer = consumers(broker.entry(queue, upstream, max_attempts=100))
    upstream.wait("effects", 7, timeout=60)
    eventually(lambda: consumer.record(key)["state"] == "completed" and consumer.is_idle(queue))
    assert queue.counts() == (0, 0)


@pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)
@pytest.mark.parametrize("aside", [True, False], ids=["dead-letter-exchange", "none"])
def test_a_quorum_queue_gives_up_what_came_back_too_often(broker, consumers, upstream, aside):
    """Each restart while it is held returns it once. With the limit of 2 the third time is too much."""
    queue = quorum_queue(broker, aside=aside, x_delivery_limit=2)
    key = new_key()
    queue.publish([(key, b"{}", {"X-Test": "status=503"})])
    consumer = consumers(broker.entry(queue, upstream, max_attempts=100,
                                      backoff={"min": "15m", "max": "15m"}))
    for restart in range(1, 4):
        upstream.wait("effects", restart, timeout=60)
        eventually(lambda: consumer.record(key)["state"] == "released")
        consumer.stop()
        if restart < 3:
            consumer.start()
    assert queue.left() == 0
    if aside:
        eventually(lambda: queue.counts()[1] == 1)
        [(properties, _)] = queue.take_dead()
        assert properties.message_id == key
        assert properties.headers["x-death"][0]["reason"] == "delivery_limit"
    else:
        assert queue.counts() == (0, 0), "it is lost, as docs/consume.md says"
    consumer.start()
    assert consumer.record(key)["state"] == "released"


@pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)
def test_a_message_that_comes_back_again_and_again_is_warned_of(broker, consumers, upstream):
    """RabbitMQ 4 gives up after 20 times where nothing is said; RabbitMQ 3 never did."""
    queue = quorum_queue(broker)
    key = new_key()
    queue.publish([(key, b"{}")])
    queue.return_first(times=10)
    consumer = consumers(broker.entry(queue, upstream))
    eventually(lambda: "comes back again and again" in consumer.stderr())
    assert "returned=10" in consumer.stderr()
    eventually(lambda: consumer.is_idle(queue))
    consumer.stop()
    queue.publish([(new_key(), b"{}")])
    queue.return_first(times=21)
    kept = (0, 1) if broker.server.version() >= 4 else (1, 0)
    eventually(lambda: queue.counts() == kept)
