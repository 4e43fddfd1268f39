"""docs/admin.md: what happens now: status, the last hour, the latest decisions, and the stream of all of it."""

import json
import socket
import time

import pytest

from harness.clients.http_client import Connection, request_bytes
from harness.semel import Background, Gateway, eventually, new_key

BODY = {"amount": 100}
TOKEN = "0123456789abcdef-alice"


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "charges", "path": "/charges"}, log={"decisions": "none"})


def get(gateway, target, **more):
    answer = gateway.admin(target, **more)
    assert answer.status == 200, answer
    return answer.json()


def bearer(gateway):
    return [("Authorization", "Bearer " + gateway.admin_token())]


class Stream:
    """One reader of /api/events."""

    def __init__(self, gateway, **more):
        self.connection = Connection(gateway.admin_address)
        self.connection.send(request_bytes("GET", "/api/events", host="localhost", **more))
        self.answer = self.connection.begin_response("GET")
        self._text = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.connection.close()

    def events(self):
        """Yields (event, data) until the stream ends."""
        while True:
            while b"\n\n" in self._text:
                block, self._text = self._text.split(b"\n\n", 1)
                lines = block.decode().split("\n")
                if lines[0].startswith("event: "):
                    yield lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))
            piece = self.answer.piece()
            if not piece:
                return
            self._text += piece

    def wait_for(self, event, wanted=lambda data: True):
        for name, data in self.events():
            if name == event and wanted(data):
                return data
        raise AssertionError(f"the stream ended before {event}")


def test_status_says_who_runs_and_who_asks(gateway):
    status = get(gateway, "/api/status")
    assert status["version"] and status["node"] and len(status["run"]) == 16
    assert status["store"] == {"kind": "embedded", "trouble": None, "notes": [], "doubts": []}
    assert (status["draining"], status["workers"], status["routes"]) == (False, 2, 1)
    assert status["keys_shown"] == "digest" and status["namespace"] == "default"
    assert status["you"] == {"name": None, "may_change": False}
    assert status["started_at"] <= status["now"] and status["uptime_seconds"] >= 0
    assert get(gateway, "/api/status", headers=bearer(gateway))["you"] == {"name": "admin", "may_change": True}
    wrong = [("Authorization", "Bearer 0123456789abcdef")]
    assert get(gateway, "/api/status", headers=wrong)["you"]["may_change"] is False


def test_a_store_in_memory_is_noted(start_gateway):
    notes = get(start_gateway({"path": "/*"}, store="memory"), "/api/status")["store"]["notes"]
    assert len(notes) == 1 and "forgets" in notes[0]


def test_each_result_is_counted_in_its_second(gateway, upstream, key):
    def totals():
        points = get(gateway, "/api/stats?step=1s")["points"]
        return {name: sum(p["results"][name] for p in points) for name in ("executed", "replayed")}
    before = totals()
    for _ in range(3):
        gateway.post("/charges", json=BODY, key=key)
    eventually(lambda: totals() == {"executed": before["executed"] + 1, "replayed": before["replayed"] + 2})
    points = get(gateway, "/api/stats")["points"]
    times = [point["at"] for point in points]
    assert times == sorted(times) and len(set(times)) == len(times)
    busy = next(p for p in reversed(points) if p["results"]["executed"])
    assert 0 < busy["store_ms"]["p50"] <= busy["store_ms"]["p99"]
    assert 0 < busy["upstream_ms"]["p50"] <= busy["upstream_ms"]["p99"]
    assert busy["requests"] == sum(busy["results"].values())


def test_what_runs_shows_in_the_points(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g"))
        upstream.wait_effects(1, key)
        eventually(lambda: (points := get(gateway, "/api/stats")["points"]) and
                   points[-1]["in_progress"] == 1 and points[-1]["oldest_in_progress_seconds"] > 0)
        upstream.open_gate("g")
        connection.read_response()
    eventually(lambda: get(gateway, "/api/stats")["points"][-1]["in_progress"] == 0)


@pytest.mark.parametrize("query, said", [("stats?step=5s", "1s, 10s or 1m"), ("stats?since=1", "since"),
                                         ("decisions?limit=0", "1 to 1000"), ("decisions?after=x", "seq"),
                                         ("decisions?x=1", "limit or after"), ("status?a=1", "takes none"),
                                         ("events?a=1", "takes none")])
def test_a_bad_query_is_refused_with_a_sentence(gateway, query, said):
    answer = gateway.admin("/api/" + query)
    assert answer.status == 400 and said in answer.json()["detail"]


def test_decisions_are_kept_even_if_none_is_logged(gateway, upstream, key):
    last = get(gateway, "/api/decisions")["last"]
    gateway.post("/charges", json=BODY, key=key)
    gateway.post("/charges", json=BODY, key=key)
    gateway.post("/charges", json={}, key=key)
    found = eventually(lambda: (all_of := get(gateway, f"/api/decisions?after={last}"))["last"] == last + 3 and all_of)
    newest, replay, first = found["decisions"]
    assert [d["result"] for d in (first, replay, newest)] == ["executed", "replayed", "mismatch"]
    assert [d["status"] for d in (first, replay, newest)] == [200, 200, 422]
    assert first["seq"] == last + 1 and first["route"] == "charges" and first["method"] == "POST"
    assert first["record"] == gateway.record(key)["id"] and first["attempt"] == 1
    assert first["key"] is None and first["duration_ms"] > 0 and first["peer"] == "127.0.0.1"
    assert key not in gateway.admin("/api/decisions").body.decode()
    assert "event=request" not in gateway.stderr() and " request " not in gateway.stderr()


def test_the_ring_keeps_the_last_thousand(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges"}, log={"decisions": "none", "keys": "full"})
    keys = [new_key() for _ in range(5)]
    with gateway.connect() as connection:
        for number in range(1005):
            connection.request("POST", "/charges", json=BODY, key=keys[number % 5])
    found = eventually(lambda: (r := get(gateway, "/api/decisions?limit=1000"))["last"] == 1005 and r)
    assert [d["seq"] for d in found["decisions"]] == list(range(1005, 5, -1))
    assert found["decisions"][0]["key"] == keys[4]
    assert get(gateway, "/api/decisions?after=1003")["decisions"][-1]["seq"] == 1004


def test_the_stream_shows_points_decisions_and_status(gateway, upstream, key):
    with Stream(gateway) as stream:
        assert stream.answer.status == 200
        assert stream.answer.header("Content-Type") == "text/event-stream"
        assert stream.wait_for("status")["routes"] == 1
        gateway.post("/charges", json=BODY, key=key)
        assert stream.wait_for("decision")["result"] == "executed"
        assert "results" in stream.wait_for("point")


def test_a_flood_is_cut_to_fifty_a_second_and_the_rest_is_counted(gateway, upstream, key):
    with Stream(gateway) as stream:
        stream.wait_for("status")
        with gateway.connect() as connection:
            for _ in range(400):
                connection.request("POST", "/charges", json=BODY, key=key)
        shown = skipped = 0
        for event, data in stream.events():
            shown += event == "decision"
            skipped += data["count"] if event == "skipped" else 0
            if shown + skipped == 400:
                break
        assert skipped > 0 and shown >= 50


def test_at_most_32_streams(gateway):
    streams = [Stream(gateway) for _ in range(32)]
    try:
        refused = gateway.admin("/api/events")
        assert refused.status == 503 and refused.json()["code"] == "too-many-streams"
    finally:
        for stream in streams:
            stream.connection.close()
    def opens_again():
        with Stream(gateway) as stream:
            return stream.answer.status == 200
    eventually(opens_again)


def test_a_reader_that_takes_nothing_holds_up_nobody_and_is_let_go(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"}, log={"decisions": "none"})
    slow = [Connection(gateway.admin_address) for _ in range(32)]
    try:
        for connection in slow:
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.send(request_bytes("GET", "/api/events", host="localhost"))
        eventually(lambda: gateway.admin("/api/events").status == 503)
        before = gateway.resident_bytes()
        begun = time.monotonic()
        with gateway.connect() as client:
            while time.monotonic() - begun < 5:
                assert client.request("POST", "/charges", json=BODY, key=key).status == 200
        assert gateway.admin("/healthz").status == 200
        assert gateway.resident_bytes() - before < 16 << 20
    finally:
        for connection in slow:
            connection.close()


def test_streams_end_on_drain_and_when_tokens_are_read_again(start_gateway):
    gateway = start_gateway({"path": "/*"})
    with Stream(gateway) as stream:
        stream.wait_for("status")
        reading = Background(lambda: list(stream.events()))
        gateway.reload()
        reading.result()
    with Stream(gateway) as stream:
        stream.wait_for("status")
        reading = Background(lambda: list(stream.events()))
        gateway.stop()
        reading.result()


def test_elsewhere_than_on_loopback_everything_needs_a_token(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"alice {TOKEN}\n")
    tokens.chmod(0o600)
    gateway = Gateway([{"path": "/*", "upstream": "http://127.0.0.1:9"}],
                      admin={"listen": "0.0.0.0:0", "tokens_file": str(tokens)}).start()
    try:
        paths = ["status", "stats", "decisions", "events", "routes", "config", "nodes", "outbox", "queue", "keys",
                 "keys/" + "0" * 64, "keys/" + "0" * 64 + "/answer"]
        for path in paths:
            refused = gateway.admin("/api/" + path)
            assert refused.status == 401 and refused.header("WWW-Authenticate"), path
        assert gateway.admin("/api/explain", method="POST", json={"method": "GET", "target": "/"}).status == 401
        allowed = [("Authorization", "Bearer " + TOKEN)]
        assert gateway.admin("/api/status", headers=allowed).json()["you"]["name"] == "alice"
    finally:
        gateway.discard()


def test_a_foreign_host_gets_nothing(gateway):
    for path in ("status", "stats", "decisions", "events", "routes", "nodes", "queue"):
        assert gateway.admin("/api/" + path, host="evil.example").status == 421, path
