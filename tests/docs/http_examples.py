"""Sets the stage for each exchange of docs/http.md: the routes of its gateway, and the steps that come before the request."""

import contextlib
import socket

from harness.clients.service_client import ServiceClient
from harness.semel import Background, break_store, eventually

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="
ALICE = ("Authorization", "Bearer alice")
ORDER = {"amount": 5}
TOKENS = {"WORKER_TOKEN": "worker-secret-0123456789abcdef", "CLERK_TOKEN": "clerk-secret-0123456789abcdef"}
SERVICE = {
    "listen": "127.0.0.1:0", "operations": {"jobs": {}, "payroll": {}},
    "clients": [{"name": "worker", "token_env": "WORKER_TOKEN", "tenants": [""], "operations": "*"},
                {"name": "clerk", "token_env": "CLERK_TOKEN", "tenants": [""], "operations": ["jobs"]}]}


def closed_port():
    """A port of 127.0.0.1 that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def routes():
    nowhere = f"http://127.0.0.1:{closed_port()}"
    return [
        {"name": "charges", "path": "/charges", "key": {"required": True}, "resource": {"type": "charge", "id": "/id"}},
        {"name": "waiting", "path": "/waiting", "in_progress": "wait"},
        {"name": "reports", "path": "/reports", "in_progress": "accept"},
        {"name": "exports", "path": "/exports", "max_stored_body": 4, "max_spilled_body": 0},
        {"name": "uploads", "path": "/uploads", "max_request_body": "8"},
        {"name": "limited", "path": "/limited", "limits": {"live_keys": 1}},
        {"name": "single", "path": "/single", "limits": {"in_flight": 1}},
        {"name": "slow", "path": "/slow", "upstream_timeout": "200ms"},
        {"name": "gone", "path": "/gone", "upstream": nowhere},
        {"name": "failing", "path": "/failing", "circuit": {"failures": 1, "window": "10s", "open_for": "5s"}},
        {"name": "private", "path": "/private", "reauthorize": f"{nowhere}/may"},
        {"name": "events", "path": "/events", "webhook": {"provider": "standard", "secrets": [SECRET]}},
        {"name": "flat", "path": "/flat", "key": {"required": True}, "errors": "flat"},
        {"name": "nested", "path": "/nested", "key": {"required": True}, "errors": "nested"},
        {"name": "passing", "path": "/passing", "store_down": "pass"},
        {"name": "rest", "path": "/*"},
    ]


class Stage:
    """A gateway, its upstream, and what runs in the background until the exchange is over."""

    def __init__(self, gateway, upstream):
        self.gateway, self.upstream = gateway, upstream
        self.script = "status=201; type=application/json; body=%7B%22id%22%3A%22ch_1%22%2C%22amount%22%3A5%7D"
        self.address = gateway.address
        self.values = {}  # of words in the request that only the run knows
        self._running = []

    def send(self, path, key, order=ORDER, script=None, **more):
        return self.gateway.post(path, json=order, key=f'"{key}"', test=self.script if script is None else script,
                                 headers=[ALICE, *more.pop("headers", ())], **more)

    def begin(self, path, key, gate, **more):
        """A request that is being executed until the exchange is over."""
        self._running.append((gate, Background(self.send, path, key, script=f"gate={gate}", **more)))
        self.upstream.wait_arrived(key=key)

    def end(self):
        for gate, request in self._running:
            self.upstream.open_gate(gate)
            with contextlib.suppress(Exception):
                request.result()


def executed(stage):
    pass


def forwarded(stage):
    """The second block of this one is the request as the service gets it."""


def replayed(stage):
    stage.send("/charges", "order-1001")


def refused_by_the_service(stage):
    stage.script = "status=422; type=application/json; body=%7B%22error%22%3A%22card%20declined%22%7D"


def omitted(stage):
    stage.send("/exports", "export-1")


def running(stage):
    stage.begin("/charges", "order-1002", "first")


def cut(stage):
    stage.send("/charges", "order-1003", script="close=before")


def cutting(stage):
    stage.script = "close=before"


def forgotten(stage):
    stage.send("/charges", "order-1004")
    record = stage.gateway.admin("/api/keys?key=order-1004").json()["keys"][0]["id"]
    assert stage.gateway.change(f"/api/keys/{record}/forget", {"reason": "erased"}).status == 200


def reused(stage):
    stage.send("/charges", "order-1005", order={"amount": 4})


def one_key_used(stage):
    stage.send("/limited", "order-1")


def one_running(stage):
    stage.begin("/single", "order-1", "single")


def never_answers(stage):
    stage.script = "gate=never"


def circuit_opened(stage):
    stage.send("/failing", "order-1", script="status=503")


def recorded_in_private(stage):
    stage.send("/private", "order-1006")


def accepted(stage):
    stage.script = "gate=report"


def accepted_before(stage):
    answer = stage.send("/reports", "report-2", script="gate=report2", headers=[("Prefer", "respond-async")])
    stage.values["{handle}"] = answer.header("Location").rsplit("/", 1)[1]
    stage.upstream.wait_arrived(key="report-2")


def done_before(stage):
    answer = stage.send("/reports", "report-3", headers=[("Prefer", "respond-async")])
    stage.values["{handle}"] = answer.header("Location").rsplit("/", 1)[1]


def broken(stage):
    break_store(stage.gateway)


def worker(stage):
    stage.address = stage.gateway.service_address


def claimed(stage):
    worker(stage)
    stage.values["{record}"] = ServiceClient(stage.gateway, TOKENS["WORKER_TOKEN"]).granted("job-1")["record"]


def released(stage):
    worker(stage)
    client = ServiceClient(stage.gateway, TOKENS["WORKER_TOKEN"])
    claim = client.granted("job-2", token="00112233445566778899aabbccddeeff", payload={"job": 2})
    assert client.report("release", claim, reason="nothing was done").status == 200
