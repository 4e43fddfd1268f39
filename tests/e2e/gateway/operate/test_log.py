"""docs/spec.md 16: the log. One line per keyed request answered, whatever the answer was; written soon, and to the end."""

import hashlib
import json
import pathlib
import signal

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import eventually, new_key

BODY = {"amount": 100}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def lines(gateway, event="request", file=None):
    """The events of this name, as objects."""
    text = pathlib.Path(file).read_text() if file else gateway.stderr()
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in found if line["event"] == event]


def last_line(gateway, count):
    """The last of so many lines, without what differs from run to run."""
    eventually(lambda: len(lines(gateway)) == count)
    line = lines(gateway)[-1]
    assert line["level"] == "info" and float(line["ms"]) > 0 and line["peer"] == "127.0.0.1"
    return {name: value for name, value in line.items()
            if name not in ("time", "level", "node", "run", "event", "ms", "peer")}


@pytest.fixture
def gateway(start_gateway):
    return start_gateway({"name": "charges", "path": "/charges", "key": {"required": True}},
                         {"name": "away", "path": "/away", "upstream": "http://127.0.0.1:1"},
                         {"path": "/*"}, tenant={"from": "authorization"}, log={"format": "json"})


def post(gateway, path="/charges", key=None, json=BODY, secret="sk_live_1", **more):
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return gateway.post(path, json=json, key=key, headers={**headers, **more.pop("headers", {})}, **more)


def test_every_answer_to_a_keyed_request_leaves_a_line(gateway, upstream, key):
    assert post(gateway, key=key, headers={"traceparent": TRACE}).status == 200
    executed = last_line(gateway, 1)
    record = gateway.record(key)["id"][:16]
    tenant = executed.pop("tenant")
    assert executed == {"result": "executed", "status": "200", "route": "charges", "record": record, "attempt": "1",
                        "trace": TRACE}
    assert len(tenant) == 16
    about = {"route": "charges", "record": record, "attempt": "1", "tenant": tenant}

    assert post(gateway, key=key).status == 200
    assert last_line(gateway, 2) == {"result": "replayed", "status": "200", **about}
    assert post(gateway, key=key, json={"amount": 2}).status == 422
    assert last_line(gateway, 3) == {"result": "mismatch", "status": "422", "code": "key-reused", **about}
    assert post(gateway, key=key, secret="").status == 401
    assert last_line(gateway, 4) == {"result": "refused", "status": "401", "code": "tenant-unknown",
                                     "route": "charges", "key": hashlib.sha256(key.encode()).hexdigest()[:16]}
    assert post(gateway, json={}).status == 400
    assert last_line(gateway, 5) == {"result": "refused", "status": "400", "code": "key-missing", "route": "charges"}

    with gateway.connect() as connection:
        running = new_key()
        connection.send(request_bytes("POST", "/charges", json=BODY, key=running, test="gate=g",
                                      headers={"Authorization": "Bearer sk_live_1"}))
        upstream.wait_effects(1, running)
        assert post(gateway, key=running).status == 409
        line = last_line(gateway, 6)
        assert (line["result"], line["code"], line["attempt"]) == ("conflict", "in-progress", "1")
        upstream.open_gate("g")
        assert connection.read_response().status == 200
    assert last_line(gateway, 7)["result"] == "executed"
    assert post(gateway, "/away", key=new_key()).status == 502
    line = last_line(gateway, 8)
    assert (line["result"], line["status"], line["code"]) == ("executed", "502", "upstream-unreachable")

    # Without a key: not a decision.
    assert post(gateway, "/other").status == 200
    assert post(gateway, key=key).status == 200
    assert last_line(gateway, 9)["result"] == "replayed"
    assert "sk_live_1" not in gateway.stderr() and key not in gateway.stderr()


def test_keys_are_shown_where_that_is_asked_for(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*"}, log={"format": "json", "keys": "full"})
    assert gateway.post("/", json=BODY, key=key).status == 200
    assert last_line(gateway, 1)["key"] == key


@pytest.mark.parametrize("decisions, requests, changes", [("all", 1, 2), ("changes", 0, 2), ("none", 0, 0)])
def test_which_lines_there_are_can_be_chosen(start_gateway, upstream, key, decisions, requests, changes):
    gateway = start_gateway({"path": "/*"}, log={"format": "json", "decisions": decisions})
    assert gateway.post("/", json=BODY, key=key).status == 200
    gateway.terminate()
    assert gateway.wait() == 0
    assert (len(lines(gateway)), len(lines(gateway, "transition"))) == (requests, changes)


def test_lines_survive_the_end_and_the_file_is_opened_anew_at_sigusr1(start_gateway, upstream, tmp_path):
    tmp_path.chmod(0o755)
    file = tmp_path / "semel.log"
    gateway = start_gateway({"path": "/*"}, log={"format": "json", "file": str(file)})
    assert gateway.post("/", json=BODY, key=new_key()).status == 200
    eventually(lambda: len(lines(gateway, file=file)) == 1)
    moved = file.rename(tmp_path / "semel.log.1")
    gateway.process.send_signal(signal.SIGUSR1)
    eventually(file.exists)
    keys = [new_key() for _ in range(50)]
    for one in keys:
        assert gateway.post("/", json=BODY, key=one).status == 200
    gateway.terminate()
    assert gateway.wait() == 0
    assert len(lines(gateway, file=moved)) == 1
    assert len(lines(gateway, file=file)) == len(keys)
    assert lines(gateway) == []


def test_without_a_file_sigusr1_changes_nothing(start_gateway, upstream):
    gateway = start_gateway({"path": "/*"}, log={"format": "json"})
    gateway.process.send_signal(signal.SIGUSR1)
    assert gateway.post("/", json=BODY, key=new_key()).status == 200
    eventually(lambda: len(lines(gateway)) == 1)


def test_a_file_that_cannot_be_opened_is_refused_at_the_start(start_gateway, tmp_path):
    with pytest.raises(AssertionError, match="log.file: .*none/log cannot be opened"):
        start_gateway({"path": "/*"}, log={"file": str(tmp_path / "none/log")})
