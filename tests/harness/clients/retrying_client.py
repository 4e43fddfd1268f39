"""A client that retries, as a good one does, whatever happens to the gateways it speaks to."""

import random
import threading
import time

from harness.clients.http_client import Connection, ConnectionEnded, request_bytes
from harness.semel import assert_problem, assert_replay, new_key


class RetryingClient(threading.Thread):
    """Sends one operation after the other, each under its own key, and retries it with the same key
    until it is answered for good or its outcome is known to be unknown. Between two operations it
    rests, for `rest` seconds on average."""

    def __init__(self, number, gateways, ending, path="/charges", rest=0):
        super().__init__()
        self._random = random.Random(number)
        self._gateways, self._ending, self._path = gateways, ending, path
        self._connection = None
        self._rest = rest
        self.acknowledged = {}  # key → (wire, response)
        self.held = {}  # key → wire
        self.unsettled = {}
        self.tries = 0
        self.failure = None

    def run(self):
        try:
            while not self._ending.is_set():
                self._operation()
                if self._rest:
                    self._ending.wait(self._random.uniform(0, 2 * self._rest))
        except BaseException as failure:
            self.failure = failure

    def _operation(self):
        key = new_key()
        delay = self._random.choice([0, 0, 0.002, 0.01])
        size = self._random.choice([0, 0, 100, 20_000])
        wire = request_bytes("POST", self._path, key=key,
                             json={"n": self._random.random(), "pad": "x" * size},
                             test=f"delay={delay}; status={self._random.choice([200, 201, 402])}")
        while not self._ending.is_set():
            answer = self._try(wire)
            if answer is None or answer.status == 503:
                time.sleep(0.005)
            elif answer.status in (200, 201, 402):
                self.acknowledged[key] = (wire, answer)
                return
            elif answer.json()["code"] == "outcome-unknown":
                self.held[key] = wire
                return
            else:
                # An earlier try of this client is still running on a connection it gave up.
                assert answer.json()["code"] == "in-progress", answer
                time.sleep(0.005)
        self.unsettled[key] = wire

    def _try(self, wire):
        """The answer, or None if there is none to be had at the moment."""
        self.tries += 1
        try:
            if self._connection is None:
                self._connection = Connection(self._random.choice(self._gateways).address)
            self._connection.send(wire)
            return self._connection.read_response()
        except (ConnectionEnded, OSError):
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            return None


class Fleet:
    """Many of them at once. `seed` decides what they send; the scheduling is the machine's."""

    def __init__(self, count, gateways, seed, **options):
        self._ending = threading.Event()
        self._clients = [RetryingClient(seed + n, gateways, self._ending, **options)
                         for n in range(count)]

    def __enter__(self):
        for client in self._clients:
            client.start()
        return self

    def __exit__(self, *_):
        self._ending.set()
        for client in self._clients:
            client.join()

    def check(self):
        for client in self._clients:
            assert client.failure is None, repr(client.failure)

    @property
    def acknowledged(self):
        return {k: v for client in self._clients for k, v in client.acknowledged.items()}

    @property
    def held(self):
        return {k: v for client in self._clients for k, v in client.held.items()}

    @property
    def tries(self):
        return sum(client.tries for client in self._clients)


def effects_by_key(upstream):
    effects = {}
    for request in upstream.requests():
        if request["effect"] is not None:
            effects.setdefault(request["key"], []).append(request["effect"])
    return effects


def assert_once_and_remembered(fleet, gateway, upstream):
    """Nothing was executed twice, and what was acknowledged is answered the same for ever."""
    fleet.check()
    effects = effects_by_key(upstream)
    twice = {key: numbers for key, numbers in effects.items() if len(numbers) > 1}
    assert not twice, f"executed more than once: {twice}"
    with gateway.connect() as connection:
        for key, (wire, first) in fleet.acknowledged.items():
            assert effects[key] == [first.effect]
            connection.send(wire)
            assert_replay(connection.read_response(), first)
        settled = {}
        for key, wire in fleet.held.items():
            connection.send(wire)
            answer = connection.read_response()
            # Its owner was not dead: it could record the outcome after all, or give back a claim on
            # which nothing had been executed, so that this request was.
            if answer.status in (200, 201, 402):
                settled[key] = answer.effect
            else:
                assert_problem(answer, 409, "outcome-unknown")
        effects = effects_by_key(upstream)
        assert {key: effects[key] for key in settled} == {k: [e] for k, e in settled.items()}
