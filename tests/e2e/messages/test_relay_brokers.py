"""`semel relay` to RabbitMQ and to NATS JetStream: what arrives, and what becomes of what does not."""

import datetime
import json
import signal

import pytest

from harness.postgres_fixtures import *  # noqa: F401,F403
from harness.consume import RabbitmqBroker
from harness.servers.rabbitmq_server import Queue as RabbitmqQueue, RabbitmqServer
from harness.relay import Relay, semel
from harness.semel import eventually

CE = {"rabbitmq": "cloudEvents:", "nats": "ce-"}


class Queue:
    """A queue of the broker as the destination `q`."""

    def __init__(self, broker):
        self.broker = broker
        self.queue = broker.queue()
        where = {"routing_key": self.queue.name} if broker.name == "rabbitmq" else \
            {"subject": self.queue.name}
        self.destination = {"kind": broker.name, "url": broker.server.url, **where}

    def make_full(self):
        """Where there is room for one message only. The first one of them fits."""
        if self.broker.name == "rabbitmq":
            self.queue = RabbitmqQueue(self.broker.server, f"{self.queue.name}-small",
                                       **{"x-max-length": 1, "x-overflow": "reject-publish"})
            return {"routing_key": self.queue.name}
        with self.broker.server.connect() as client:
            config = client.ask(f"STREAM.INFO.{self.queue.name}")["config"]
            client.ask(f"STREAM.UPDATE.{self.queue.name}", **{**config, "max_msgs": 1,
                                                              "discard": "new"})
        return {}

    def make_room(self):
        """Takes the one message out; its body."""
        [(_, _, _, body)] = self.arrived()
        if self.broker.name == "nats":
            with self.broker.server.connect() as client:
                client.ask(f"STREAM.PURGE.{self.queue.name}")
        return body

    def arrived(self):
        """(message id, content type, headers, body) of each, in order. RabbitMQ's are taken."""
        if self.broker.name == "rabbitmq":
            return [(p.message_id, p.content_type, p.headers, body)
                    for p, body in self.queue.take()]
        return [(h["nats-msg-id"], h["content-type"], h, body) for h, body in self.queue.read()]


@pytest.fixture
def queue(broker):
    return Queue(broker)


@pytest.fixture
def start_relay(database):
    started = []

    def start(destination, **keys):
        started.append(Relay(database.url, {"q": destination}, **keys))
        return started[-1].start()
    yield start
    for one in started:
        one.discard()


def enqueue(database, body, ordering_key=None, headers=None):
    return database.one("SELECT semel.enqueue('q', %s, %s, %s)", body, ordering_key,
                        json.dumps(headers or {}))


def is_empty(database):
    return database.one("SELECT NOT EXISTS (SELECT FROM semel.outbox) "
                        "AND NOT EXISTS (SELECT FROM semel.outbox_lanes)")


def dead(database):
    return json.loads(semel("outbox", "ls", "--url", database.url, "--json", "--dead"))


def test_a_message_arrives_as_it_was_enqueued(broker, queue, database, start_relay):
    start_relay({**queue.destination, "headers": {"X-From": "relay", "X-Both": "relay"},
                 "cloudevents": {"source": "https://shop.example/orders", "type": "order.changed"}})
    body = bytes(range(256)) * 40
    enqueue(database, body, "customer/ä 7", {"Content-Type": "application/octet-stream",
                                             "X-Both": "message", "ce-type": "order.placed",
                                             "ce-id": "not this", "ce-subject": "7"})
    eventually(lambda: is_empty(database))
    [(message_id, content_type, headers, arrived)] = queue.arrived()
    assert arrived == body
    assert content_type == "application/octet-stream"
    assert len(message_id) == 43
    prefix = CE[broker.name]
    names = (lambda name: name) if broker.name == "rabbitmq" else str.lower
    ordering_key = "customer/ä 7" if broker.name == "rabbitmq" else "customer/%C3%A4%207"
    attributes = {name[len(prefix):]: value for name, value in headers.items()
                  if name.startswith(prefix)}
    at = datetime.datetime.fromisoformat(attributes.pop("time"))
    assert abs((datetime.datetime.now(datetime.timezone.utc) - at).total_seconds()) < 60
    assert attributes == {"specversion": "1.0", "id": message_id, "type": "order.placed",
                          "source": "https://shop.example/orders", "subject": "7",
                          "partitionkey": ordering_key}
    assert headers[names("X-From")] == "relay" and headers[names("X-Both")] == "message"


def test_without_anything_said_there_are_defaults(broker, queue, database, start_relay):
    start_relay(queue.destination)
    enqueue(database, b"")
    eventually(lambda: is_empty(database))
    [(message_id, content_type, headers, body)] = queue.arrived()
    assert (content_type, body) == ("application/json", b"")
    prefix = CE[broker.name]
    assert headers[prefix + "id"] == message_id
    assert headers[prefix + "source"] == "urn:semel:outbox"
    assert headers[prefix + "type"] == "semel.outbox.message"
    assert prefix + "partitionkey" not in headers


def test_the_broker_is_killed_in_the_middle(broker, queue, database, start_relay):
    relay = start_relay({**queue.destination, "timeout": "2s"}, max_attempts=1000)
    for number in range(100):
        enqueue(database, b"%d" % number, "k")
    eventually(lambda: queue.queue.counts()[0] > 10)
    broker.server.kill9()
    for number in range(100, 120):
        enqueue(database, b"%d" % number, "k")
    eventually(lambda: "broker lost" in relay.stderr() or "delivery failed" in relay.stderr())
    assert not is_empty(database)
    broker.server.start()
    eventually(lambda: is_empty(database), timeout=60)
    firsts = {}
    for message_id, _, _, body in queue.arrived():
        assert firsts.setdefault(message_id, body) == body
    assert list(firsts.values()) == [b"%d" % number for number in range(120)]
    assert dead(database) == []


def test_a_broker_that_does_not_read_holds_up_no_shutdown(database, start_relay):
    # Short of memory, RabbitMQ stops reading from those who publish, and goes on with its heartbeats.
    server = RabbitmqServer(config="vm_memory_high_watermark.absolute = 1MB\n")
    try:
        queue = Queue(RabbitmqBroker(server.start()))
        relay = start_relay({**queue.destination, "timeout": "1s"})
        more = 200  # together they are larger than what the kernels buffer
        for n in range(more):
            enqueue(database, bytes(100_000))
        eventually(lambda: "did not confirm it in time" in relay.stderr(), timeout=30)
        relay.signal(signal.SIGTERM)
        assert relay.process.wait(30) == 0
        assert database.one("SELECT count(*) FROM semel.outbox") == more
    finally:
        server.discard()


def test_what_no_queue_takes_is_no_delivery(broker, queue, database, start_relay):
    nowhere = {"routing_key": "nobody"} if broker.name == "rabbitmq" else {"subject": "nobody"}
    start_relay({**queue.destination, **nowhere}, max_attempts=3)
    enqueue(database, b"{}", "k")
    eventually(lambda: dead(database))
    [row] = dead(database)
    if broker.name == "rabbitmq":
        # It came back: trying again would not help.
        assert row["attempts"] == 1 and "no queue accepts it" in row["last_error"]
    else:
        assert row["attempts"] == 3 and "no stream accepts the subject nobody" in row["last_error"]


def test_a_dead_letter_is_delivered_when_it_is_retried(broker, queue, database, start_relay):
    """A message may not set the broker's own headers; the other messages go on without it."""
    start_relay(queue.destination)
    enqueue(database, b"bad", "k", {"Nats-Rollup": "all"})
    enqueue(database, b"good", "k")
    eventually(lambda: queue.queue.counts()[0] == 1)
    [row] = dead(database)
    assert "Nats-Rollup cannot be sent" in row["last_error"]
    database.execute("UPDATE semel.dead_letters SET headers = '{}'")
    semel("outbox", "retry", row["id"], "--url", database.url)
    eventually(lambda: is_empty(database))
    assert sorted(body for _, _, _, body in queue.arrived()) == [b"bad", b"good"]


def test_a_broker_that_is_away_at_first_is_waited_for(broker, queue, database, start_relay):
    broker.server.kill9()
    relay = start_relay(queue.destination, max_attempts=1000)
    enqueue(database, b"{}")
    eventually(lambda: "delivery failed" in relay.stderr())
    broker.server.start()
    eventually(lambda: is_empty(database), timeout=60)
    assert len(queue.arrived()) == 1


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_a_message_too_large_for_the_server_is_refused(broker, queue, database, start_relay):
    start_relay(queue.destination)
    enqueue(database, b"x" * (2 << 20), "k")
    enqueue(database, b"small", "k")
    eventually(lambda: dead(database) and queue.queue.counts()[0] == 1)
    assert dead(database)[0]["attempts"] == 1


def test_what_a_full_queue_does_not_keep_is_tried_again(broker, queue, database, start_relay):
    relay = start_relay({**queue.destination, **queue.make_full()}, max_attempts=1000)
    for body in (b"1", b"2"):
        enqueue(database, body, "k")
    eventually(lambda: "delivery failed" in relay.stderr())
    assert "the broker did not accept it" in relay.stderr() or \
        "the stream refused it: maximum messages exceeded" in relay.stderr()
    assert dead(database) == []
    assert queue.make_room() == b"1"
    eventually(lambda: is_empty(database))
    assert queue.make_room() == b"2"


def test_what_was_not_written_down_is_delivered_again_under_its_key(broker, queue, database,
                                                                    start_relay):
    enqueue(database, b"{}", "k")
    with database.connect() as connection, connection.cursor() as cursor:
        # Lanes can be taken and messages be read; that one was delivered cannot be written down.
        cursor.execute("LOCK TABLE semel.outbox IN SHARE MODE")
        relay = start_relay(queue.destination, lease="1s")
        eventually(lambda: queue.queue.counts()[0] == 1)
        relay.kill9()
        # The server would carry out the statement of the dead once it gets the lock.
        eventually(lambda: not database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'semel relay' AND datname = current_database()"))
        connection.rollback()
    relay.start()
    eventually(lambda: is_empty(database))
    arrived = queue.arrived()
    assert len({message_id for message_id, _, _, _ in arrived}) == 1
    # JetStream knows the id; RabbitMQ leaves that to who consumes.
    assert len(arrived) == (1 if broker.name == "nats" else 2)
