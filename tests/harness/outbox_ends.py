"""Where a relay delivers to, as a test sees it: a service that takes POSTs, a queue, a stream. Each
gives what has arrived, in the order of its arrival, and can be away for a while."""

import dataclasses
import uuid

from harness.servers.nats_server import NatsServer, Stream
from harness.servers.rabbitmq_server import Queue, RabbitmqServer
from harness.peers.receiver import Receiver


@dataclasses.dataclass
class Arrived:
    key: str      # derived, by which a receiver deduplicates
    body: bytes
    headers: dict  # as they came


class HttpEnd:
    name = "http"

    def __init__(self):
        self._receiver = Receiver()
        self.down, self.up = self._receiver.down, self._receiver.up

    def destination(self, **more):
        return {"url": self._receiver.url, **more}

    def count(self):
        return len({delivery.key for delivery in list(self._receiver.accepted)})

    def arrived(self):
        return [Arrived(d.key, d.body, dict(d.headers)) for d in self._receiver.accepted]

    def discard(self):
        self._receiver.down()


class _BrokerEnd:
    def __init__(self, server):
        self._server = server.start()
        self._queue = self.new_queue()

    def down(self):
        self._server.kill9()

    def up(self):
        self._server.start()

    def discard(self):
        self._server.discard()


class RabbitmqEnd(_BrokerEnd):
    name = "rabbitmq"

    def __init__(self):
        super().__init__(RabbitmqServer())

    def new_queue(self):
        return Queue(self._server, f"q{uuid.uuid4().hex[:8]}")

    def destination(self, **more):
        return {"kind": "rabbitmq", "url": self._server.url, "routing_key": self._queue.name, **more}

    def count(self):
        return self._queue.counts()[0]

    def arrived(self):
        return [Arrived(p.message_id, body, p.headers) for p, body in self._queue.take()]


class NatsEnd(_BrokerEnd):
    name = "nats"

    def __init__(self):
        super().__init__(NatsServer())

    def new_queue(self):
        return Stream(self._server, f"q{uuid.uuid4().hex[:8]}")

    def destination(self, **more):
        return {"kind": "nats", "url": self._server.url, "subject": self._queue.name, **more}

    def count(self):
        with self._server.connect() as client:
            return client.ask(f"STREAM.INFO.{self._queue.name}")["state"]["messages"]

    def arrived(self):
        return [Arrived(headers["nats-msg-id"], body, headers)
                for headers, body in self._queue.read()]


ENDS = {end.name: end for end in (HttpEnd, RabbitmqEnd, NatsEnd)}
