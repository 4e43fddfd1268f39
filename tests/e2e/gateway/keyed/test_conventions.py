"""Every file in examples/conventions, run as it is, answers as its row in the README says."""

import re

import pytest

from harness import ROOT
from harness.clients.http_client import request_bytes
from harness.semel import Background, Gateway, eventually, let_pass

FOLDER = ROOT / "examples" / "conventions"
BODY = {"amount": 100}
TTL_SECONDS = 1


def rows():
    """The README's table: what it says is what is tested."""
    table = {}
    for line in (FOLDER / "README.md").read_text().splitlines():
        if match := re.match(r"\| `(\S+)\.yaml` \|(.*)\|$", line):
            columns = [column.strip() for column in match[2].split("|")]
            table[match[1]] = dict(zip(("mismatch", "in_flight", "expired", "failure", "scope"),
                                       columns))
    return table


ROWS = rows()


def test_every_file_has_a_row():
    assert {p.stem for p in FOLDER.glob("*.yaml")} == set(ROWS)


def start(name, upstream, ttl=None):
    environment = {"SEMEL_LISTEN": "127.0.0.1:0", "SEMEL_ADMIN": "127.0.0.1:0",
                   "UPSTREAM": upstream.url}
    if ttl:
        environment["TTL"] = f"{ttl}s"
    return Gateway(config_file=FOLDER / f"{name}.yaml", environment=environment).start()


@pytest.fixture(scope="module", params=sorted(ROWS))
def convention(request, upstream_process):
    gateway = start(request.param, upstream_process)
    yield Convention(request.param, gateway)
    upstream_process.reset()
    gateway.discard()


class Convention:
    """Speaks to the gateway as the convention has it."""

    def __init__(self, name, gateway):
        self.name, self.gateway, self.row = name, gateway, ROWS[name]

    def wire(self, key, path="/v1/charges", body=BODY, account="sk_live_0123456789", test=None):
        headers = {"Authorization": f"Bearer {account}"}
        if self.name == "square":
            body = {**body, "idempotency_key": key}
        else:
            headers["PayPal-Request-Id" if self.name == "paypal" else "Idempotency-Key"] = key
        return request_bytes("POST", path, json=body, headers=headers, test=test)

    def post(self, *args, **more):
        with self.gateway.connect() as connection:
            connection.send(self.wire(*args, **more))
            return connection.read_response()

    def replayed(self, answer):
        name = ("Idempotent-Replayed" if self.name in ("stripe", "increase")
                else "Idempotency-Replayed")
        return answer.header(name) == "true"


def status_in(column):
    return int(re.match(r"\d+", column)[0])


def test_a_retry_gets_the_first_answer(convention, upstream, key):
    first = convention.post(key, test="status=201")
    again = convention.post(key)
    assert (again.status, again.body) == (201, first.body) and convention.replayed(again)
    assert upstream.effects() == 1


def test_mismatch(convention, upstream, key):
    first = convention.post(key)
    other = convention.post(key, body={"amount": 101})
    assert other.status == status_in(convention.row["mismatch"]) and not convention.replayed(other)
    error = other.json().get("error")
    code = other.json().get("code") or (error["code"] if isinstance(error, dict) else error)
    assert code == "key-reused"
    if "resource" in convention.row["mismatch"]:
        assert other.json()["resource"] == {"type": "charge", "id": str(first.effect)}
    assert upstream.effects() == 1


def test_in_flight(convention, upstream, key):
    first = Background(convention.post, key, test="gate=flight")
    upstream.wait_effects(1)
    if convention.row["in_flight"] == "waits":
        second = Background(convention.post, key)
        eventually(lambda: convention.gateway.metrics()["semel_waiting"] == 1)
        upstream.open_gate("flight")
        second = second.result()
        assert (second.status, second.body) == (200, first.result().body)
        assert convention.replayed(second)
    else:
        second = convention.post(key)
        assert second.status == status_in(convention.row["in_flight"])
        assert second.header("Retry-After")
        upstream.open_gate("flight")
        assert first.result().status == 200
    assert upstream.effects() == 1


def test_a_failure_of_the_server(convention, upstream, key):
    first = convention.post(key, test="status=500")
    again = convention.post(key)
    if convention.row["failure"].startswith("replayed"):
        assert (again.status, again.body) == (500, first.body) and convention.replayed(again)
        assert upstream.effects() == 1
    else:
        assert again.status == 200 and not convention.replayed(again)
        assert upstream.effects() == 2


def test_a_failure_of_the_client(convention, upstream, key):
    convention.post(key, test="status=422")
    again = convention.post(key)
    released = "4xx" in convention.row["failure"]
    assert again.status == (200 if released else 422)
    assert upstream.effects() == (2 if released else 1)


def test_scope(convention, upstream, key):
    first = convention.post(key, "/v1/charges/1/capture")
    assert convention.post(key, "/v1/charges/1/capture", account="sk_live_another").status == 200
    assert upstream.effects() == 2  # accounts never share keys
    other_path = convention.post(key, "/v1/charges/2/capture")
    by_path = convention.row["scope"] == "account and concrete path"
    mismatch = status_in(convention.row["mismatch"])
    assert other_path.status == (200 if by_path else mismatch)
    other_route = convention.post(key, "/v1/refunds")
    assert other_route.status == (mismatch if convention.row["scope"] == "account" else 200)
    again = convention.post(key, "/v1/charges/1/capture")
    assert again.body == first.body and convention.replayed(again)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_expired(name, upstream, key):
    convention = Convention(name, start(name, upstream, ttl=TTL_SECONDS))
    try:
        assert convention.post(key).status == 200
        let_pass(TTL_SECONDS + 0.05)
        again = convention.post(key)
        assert again.status == (410 if ROWS[name]["expired"] == "410" else 200)
        assert upstream.effects() == (1 if ROWS[name]["expired"] == "410" else 2)
    finally:
        convention.gateway.discard()


def test_square_asks_for_the_key(upstream):
    gateway = start("square", upstream)
    try:
        answer = gateway.post("/v1/charges", json=BODY, headers={"Authorization": "Bearer sk_1234567"})
        assert answer.status == 400 and answer.json()["error"] == "key-missing"
    finally:
        gateway.discard()
