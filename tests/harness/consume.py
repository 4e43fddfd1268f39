"""`semel consume` as a process under test, over either broker."""

import time
import uuid

from harness.servers.nats_server import Stream
from harness.servers.rabbitmq_server import Queue
from harness.semel import Gateway, eventually


class Consumer(Gateway):
    command = "consume"

    def __init__(self, *entries, store="embedded", **top):
        super().__init__(store=store, consume=list(entries), **top)
        del self.config["routes"], self.config["listen"]

    def is_idle(self, queue, operation=None):
        """Nothing waits in the queue, and nothing is held here: brokers do not all say what a
        consumer holds. Looked at twice, for what is just between the two."""
        held = f"semel_messages_held{{operation={operation or queue.name}}}"

        def is_calm():
            return queue.counts()[0] == 0 and self.metrics()[held] == 0

        if not is_calm():
            return False
        time.sleep(0.1)
        return is_calm()

    def records(self, state):
        """The keys of the records in this state, all pages of them."""
        keys, after = [], ""
        while True:
            page = self.admin(f"/api/keys?state={state}&limit=500{after}").json()
            keys += [record["key"] for record in page["keys"]]
            if not page.get("next"):
                return keys
            after = f"&cursor={page['next']}"


def until_settled(queue, *consumers, operation=None, timeout):
    """All that was published is settled. That nothing is seen to wait or to be held is not enough: the
    broker may have sent what a busy process has not read yet. So they are stopped, which returns it, and
    started again."""
    while True:
        eventually(lambda: all(one.is_idle(queue, operation) for one in consumers), timeout=timeout,
                   every=0.2)
        for one in consumers:
            one.stop()
        left = queue.left()
        for one in consumers:
            one.start()
        if left == 0:
            return


class RabbitmqBroker:
    """The parts of a broker that tests use."""

    name = "rabbitmq"

    def __init__(self, server):
        self.server = server

    def queue(self):
        return Queue(self.server, f"q{uuid.uuid4().hex[:8]}")

    def source(self, queue, **more):
        return {"kind": "rabbitmq", "url": self.server.url, "queue": queue.name, **more}

    def entry(self, queue, upstream, source=None, **more):
        return {"name": queue.name, "from": self.source(queue, **(source or {})),
                "to": f"{upstream.url}/handle", "headers": ["X-Test"],
                "key": {"from": "property", "name": "message_id"}, "unknown": "hold",
                "dead_letter": {"exchange": "", "routing_key": queue.dead},
                "backoff": {"min": "50ms", "max": "200ms"}, **more}

    @staticmethod
    def reasons(queue):
        """id → (reason, headers by lower-case name, body) of the dead letters."""
        found = {}
        for properties, body in queue.take_dead():
            headers = {n.lower(): v for n, v in (properties.headers or {}).items()}
            found[properties.message_id] = (headers["semel-dead-letter"], headers, body)
        return found


class NatsBroker:
    name = "nats"

    def __init__(self, server):
        self.server = server

    def queue(self):
        return Stream(self.server, f"q{uuid.uuid4().hex[:8]}")

    def source(self, queue, **more):
        return {"kind": "nats", "url": self.server.url, "stream": queue.name, "consumer": "semel",
                **more}

    def entry(self, queue, upstream, source=None, **more):
        return {"name": queue.name, "from": self.source(queue, **(source or {})),
                "to": f"{upstream.url}/handle", "headers": ["X-Test"],
                "key": {"from": "header", "name": "Message-Id"}, "unknown": "hold",
                "dead_letter": {"subject": queue.dead},
                "backoff": {"min": "50ms", "max": "200ms"}, **more}

    @staticmethod
    def reasons(queue):
        return {headers.get("message-id"): (headers["semel-dead-letter"], headers, body)
                for headers, body in queue.take_dead()}
