"""The gateway is killed with -9 fifty times under the load of clients that retry. Under `hold` no
key is executed twice, and every answer that was acknowledged replays byte for byte."""

import random
import threading
import time

from http_client import TIME_SCALE, Connection, ConnectionEnded, request_bytes
from semel_harness import assert_problem, assert_replay, new_key

KILLS = 50
CLIENTS = 8
READY_SECONDS_MAX = 2 * TIME_SCALE
TOTAL_SECONDS_MAX = 90 * TIME_SCALE
SEED = 20260101  # of the moments of killing and of the requests; the scheduling is the machine's


class Client(threading.Thread):
    """Sends one operation after the other, each under its own key, and retries it with the same key
    until it is answered for good or its outcome is known to be unknown."""

    def __init__(self, number, gateway, ending):
        super().__init__()
        self._random = random.Random(SEED + number)
        self._gateway, self._ending = gateway, ending
        self._connection = None
        self.acknowledged = {}  # key → (wire, response)
        self.held = {}  # key → wire
        self.unsettled = {}
        self.tries = 0
        self.failure = None

    def run(self):
        try:
            while not self._ending.is_set():
                self._operation()
        except BaseException as failure:
            self.failure = failure

    def _operation(self):
        key = new_key()
        delay = self._random.choice([0, 0, 0.002, 0.01])
        size = self._random.choice([0, 0, 100, 20_000])
        wire = request_bytes("POST", "/charges", key=key,
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
                self._connection = Connection(self._gateway.address)
            self._connection.send(wire)
            return self._connection.read_response()
        except (ConnectionEnded, OSError):
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            return None


def test_kill_9_fifty_times_under_load(start_gateway, upstream):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    gateway = start_gateway({"name": "charges", "path": "/charges", "unknown": "hold"})
    ending = threading.Event()
    clients = [Client(n, gateway, ending) for n in range(CLIENTS)]
    begun = time.monotonic()
    slowest_start = 0.0
    for client in clients:
        client.start()
    try:
        for _ in range(KILLS):
            # The moment is counted in work done, so that every run of the gateway is under load.
            upstream.wait_effects(upstream.effects() + chance.randint(1, 60))
            gateway.kill9()
            gateway.start()
            slowest_start = max(slowest_start, gateway.ready_seconds)
        upstream.wait_effects(upstream.effects() + 50)
    finally:
        ending.set()
        for client in clients:
            client.join()
    for client in clients:
        assert client.failure is None, repr(client.failure)
    assert slowest_start < READY_SECONDS_MAX

    effects = {}
    for request in upstream.requests():
        if request["effect"] is not None:
            effects.setdefault(request["key"], []).append(request["effect"])
    twice = {key: numbers for key, numbers in effects.items() if len(numbers) > 1}
    assert not twice, f"executed more than once: {twice}"

    acknowledged = {k: v for client in clients for k, v in client.acknowledged.items()}
    held = {k: v for client in clients for k, v in client.held.items()}
    print(f"{len(acknowledged)} acknowledged, {len(held)} held, "
          f"{sum(c.tries for c in clients)} tries, slowest start {slowest_start:.2f} s")
    assert len(acknowledged) > KILLS
    with gateway.connect() as connection:
        for key, (wire, first) in acknowledged.items():
            assert effects[key] == [first.effect]
            connection.send(wire)
            replay = connection.read_response()
            assert_replay(replay, first)
        for wire in held.values():
            connection.send(wire)
            assert_problem(connection.read_response(), 409, "outcome-unknown")
    assert time.monotonic() - begun < TOTAL_SECONDS_MAX
