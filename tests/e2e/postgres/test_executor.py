"""`completes: executor`: the service completes the record in the transaction of its effect. The
gateway answers with what was committed, and never stores a success that was not."""

import subprocess
import sys

import pytest

from harness import TESTS
from harness.clients.http_client import TIME_SCALE, request_bytes
from harness.servers.postgres_nodes import start_node
from harness.semel import Background, assert_problem, eventually, let_pass

APP = TESTS / "harness/peers/committing_app.py"
LEASE = 1.0 * TIME_SCALE
ROUTE = {"name": "orders", "path": "/orders", "completes": "executor", "unknown": "retry",
         "lease": f"{int(LEASE * 1000)}ms", "upstream_timeout": "10s"}


class App:
    def __init__(self, url):
        self.url = url
        self.process = None

    def start(self):
        self.process = subprocess.Popen([sys.executable, str(APP), self.url],
                                        stdout=subprocess.PIPE, text=True)
        self.upstream = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        return self

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def app(database):
    database.execute("CREATE TABLE effects (key text, attempt integer)")
    database.execute("CREATE TABLE refusals (code text)")
    app = App(database.url).start()
    yield app
    app.stop()


@pytest.fixture
def gateway(database, app, start_gateway):
    return start_node(start_gateway, database.url, {**ROUTE, "upstream": app.upstream})


@pytest.fixture
def effects(database):
    """The attempts that took effect, of a key."""
    return lambda key: [a for (a,) in database.execute(
        "SELECT attempt FROM effects WHERE key = %s ORDER BY attempt", key)]


def assert_committed(answer, attempt=1):
    assert answer.status == 201, answer
    assert answer.body == b"committed in attempt %d" % attempt
    assert answer.header("X-Made") == "by the service"
    assert answer.header("Content-Type") == "text/plain"


def retried(gateway, key):
    """Retries with the same key until the answer is there."""
    def once():
        answer = gateway.post("/orders", key=key)
        assert answer.status in (201, 409, 503), answer
        return answer.status == 201 and answer
    return eventually(once, timeout=20 * TIME_SCALE, every=0.1)


@pytest.mark.parametrize("how", ["commit", "stream"])
def test_the_client_gets_what_was_committed(gateway, effects, key, how):
    first = gateway.post("/orders", key=key, test=how)
    assert_committed(first)
    assert first.header("Idempotency-Replayed") is None
    assert first.header("Idempotency-Expires")
    replay = gateway.post("/orders", key=key)
    assert_committed(replay)
    assert replay.header("Idempotency-Replayed") == "true"
    assert effects(key) == [1]


def test_headers_that_the_route_denies_are_not_given_out_of_what_the_service_committed(
        database, app, start_gateway, key):
    gateway = start_node(start_gateway, database.url, {**ROUTE, "upstream": app.upstream, "in_progress": "accept",
                                                       "replay_headers": {"deny": ["X-Made"]}})
    first = gateway.post("/orders", key=key)
    assert (first.status, first.header("Content-Type"), first.header("X-Made")) == (201, "text/plain", None)
    # Nor is what never is replayed, should it have found its way into the record.
    database.execute("UPDATE semel.answers SET headers = headers || convert_to(E'Set-Cookie: session=1\r\n', 'UTF8')")
    replay = gateway.post("/orders", key=key)
    assert (replay.status, replay.body, replay.header("Content-Type")) == (201, first.body, "text/plain")
    assert (replay.header("X-Made"), replay.header("Set-Cookie")) == (None, None)
    accepted = gateway.post("/orders", key=key + "-async", headers=[("Prefer", "respond-async")])
    shown = gateway.get(accepted.header("Location") + "?wait=10s").json()
    assert shown["state"] == "completed"
    assert [name for name, _ in shown["response"]["headers"]] == ["Content-Type"]


def test_an_answer_before_the_commit_is_believed_once_it_is_committed(gateway, effects, key):
    """Trap 24."""
    assert_committed(gateway.post("/orders", key=key, test="answer-before-commit"))
    assert effects(key) == [1]


def test_a_success_that_was_not_committed_is_never_stored(gateway, database, effects, key):
    """Trap 24: the executor answers 200, and its COMMIT never was."""
    problem = assert_problem(gateway.post("/orders", key=key, test="roll-back"), 409,
                             "outcome-unknown")
    assert problem["new_key_safe"] is False
    assert database.one("SELECT state FROM semel.records") == 5
    assert effects(key) == []
    assert_committed(gateway.post("/orders", key=key), attempt=2)
    assert effects(key) == [2]


def test_the_client_is_shown_the_services_status_and_never_what_an_application_says(
        database, app, start_gateway, key):
    gateway = start_node(start_gateway, database.url, {**ROUTE, "upstream": app.upstream, "in_progress": "accept"})
    accepted = gateway.post("/orders", key=key, test="roll-back", headers=[("Prefer", "respond-async")])
    shown = gateway.get(accepted.header("Location") + "?wait=10s").json()
    assert (shown["state"], shown["reason"]) == ("unknown", "status 200 without a committed record")
    database.execute("SELECT semel.release(id, token, 'status of account 7 is frozen') FROM semel.records")
    shown = gateway.get(accepted.header("Location")).json()
    assert shown["state"] == "released" and "reason" not in shown
    assert gateway.record(key)["reason"] == "status of account 7 is frozen"  # the operator sees it


def test_a_refusal_is_stored_on_the_gateways_word(gateway, effects, key):
    for replayed in (None, "true"):
        answer = gateway.post("/orders", key=key, test="refuse")
        assert (answer.status, answer.body) == (422, b"refused")
        assert answer.header("Idempotency-Replayed") == replayed
    assert effects(key) == []


def test_a_retry_outcome_releases_the_key(gateway, effects, key):
    assert gateway.post("/orders", key=key, test="try-later").status == 503
    assert_committed(gateway.post("/orders", key=key), attempt=2)
    assert effects(key) == [2]


@pytest.mark.parametrize("how", ["commit-then-fail", "cut-after-commit"])
def test_what_was_committed_counts_whatever_the_service_says_afterwards(gateway, effects, key, how):
    assert_committed(gateway.post("/orders", key=key, test=how))
    assert effects(key) == [1]


def test_nothing_was_committed_and_the_connection_broke(gateway, effects, key):
    assert gateway.post("/orders", key=key, test="cut-before-commit").status == 502
    assert_committed(gateway.post("/orders", key=key), attempt=2)
    assert effects(key) == [2]


def test_a_record_held_by_the_services_transaction_is_in_progress_for_others(
        gateway, database, app, start_gateway, effects, key):
    other = start_node(start_gateway, database.url, {**ROUTE, "upstream": app.upstream})
    first = Background(gateway.post, "/orders", key=key, test="hold-open")
    eventually(lambda: database.one("SELECT count(*) FROM pg_stat_activity WHERE state = "
                                    "'idle in transaction'") == 1)
    let_pass(LEASE)  # also when nobody could renew the lease: its row is locked
    for node in (gateway, other):
        assert_problem(node.post("/orders", key=key), 409, "in-progress")
    assert_committed(first.result())
    assert_committed(other.post("/orders", key=key))
    assert effects(key) == [1]


@pytest.mark.parametrize("how, attempts", [("die-before-commit", [2]), ("die-after-commit", [1])])
def test_the_service_dies(gateway, app, database, effects, key, how, attempts):
    gateway.post("/orders", key=key, test=how)
    app.process.wait()
    app.stop()
    app.start()
    gateway.reload(routes=[{**ROUTE, "upstream": app.upstream}])
    assert_committed(retried(gateway, key), attempt=attempts[0])
    assert effects(key) == attempts


@pytest.mark.parametrize("how, attempts", [("die-before-commit", [2]), ("die-after-commit", [1])])
def test_the_service_and_the_gateway_die(gateway, app, effects, key, how, attempts):
    connection = gateway.connect()
    connection.send(request_bytes("POST", "/orders", key=key, test=how))
    app.process.wait()
    gateway.kill9()
    connection.close()  # with the answer, if the gateway was quick enough to give one
    app.stop()
    app.start()
    gateway.config["routes"] = [{**ROUTE, "upstream": app.upstream}]
    gateway.start()
    assert_committed(retried(gateway, key), attempt=attempts[0])
    assert effects(key) == attempts


def test_a_zombie_cannot_commit_its_effect(gateway, database, effects, key):
    """The gateway dies, the service works on; the retry runs as attempt 2 and commits; what attempt 1
    then tries to commit is refused, with its effect."""
    connection = gateway.connect()
    connection.send(request_bytes("POST", "/orders", key=key, test="wait-for-takeover"))
    eventually(lambda: database.one("SELECT count(*) FROM pg_stat_activity WHERE state = "
                                    "'idle in transaction'") == 1)
    gateway.kill9()
    connection.close()
    gateway.start()
    assert_committed(retried(gateway, key), attempt=2)
    assert eventually(lambda: database.execute("SELECT code FROM refusals")) == [("SM001",)]
    assert effects(key) == [2]


def test_the_token_goes_to_no_other_route(database, start_gateway, upstream, key):
    plain = start_node(start_gateway, database.url, {"name": "plain", "path": "/plain"})
    plain.post("/plain", key=key)
    [request] = upstream.requests(key=key)
    names = {name.lower() for name, _ in request["headers"]}
    assert "semel-record" in names and "semel-token" not in names
