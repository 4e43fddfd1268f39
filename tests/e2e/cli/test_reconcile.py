"""`semel reconcile` compares what an executor did with what Semel recorded."""
import csv
import http.server
import io
import json
import threading

import pytest

from harness.program import run_semel
from harness.semel import new_key

ROUTE = {"name": "charges", "path": "/charges"}
BODY = {"amount": 100}


class Ledger:
    """A gateway with records of every kind, and the effects as the executor would list them."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.good = [self.send() for _ in range(20)]
        self.failed = self.send(test="status=422")
        self.released = self.send(test="status=503")
        self.unknown = self.send(test="close=reset")

    def send(self, **more):
        key = new_key()
        self.gateway.post("/charges", json=BODY, key=key, **more)
        return key

    def reconcile(self, text, *args):
        return run_semel("reconcile", "--effects", "-", "--admin", "http://%s:%d" % self.gateway.admin_address, *args,
                         stdin=text)


@pytest.fixture(scope="module")
def ledger(module_gateway):
    return Ledger(module_gateway(ROUTE, store="embedded"))


def as_lines(keys, **more):
    return "".join(json.dumps({"key": key, "operation": "charges", **more}) + "\n" for key in keys)


def as_csv(keys):
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["Key", "resource_id", "time", "amount"])
    rows.writerows([key, f"ch,{i}", "2026-01-01T00:00:00Z", 5] for i, key in enumerate(keys))
    return out.getvalue()


def findings(done):
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]["sum"]


@pytest.mark.parametrize("form", [as_lines, as_csv])
def test_they_agree(ledger, form):
    done = ledger.reconcile(form(ledger.good))
    assert done.returncode == 0, done
    assert done.stdout == "20 effects and 23 records compared: they agree\n" and done.stderr == ""


def test_each_kind_of_difference_is_found(ledger):
    stranger = new_key()
    effects = [*ledger.good[1:], ledger.good[1], stranger, ledger.failed, ledger.released, ledger.unknown]
    done = ledger.reconcile(as_lines(effects), "--json")
    assert done.returncode == 1
    found, total = findings(done)
    by_kind = {}
    for finding in found:
        sides = finding["records"] or finding["effects"]
        by_kind.setdefault(finding["finding"], set()).update(one["key"] for one in sides)
    assert by_kind == {"record_without_effect": {ledger.good[0]}, "several_effects": {ledger.good[1]},
                       "effect_without_record": {stranger},
                       "effect_of_failed_record": {ledger.failed, ledger.released}}
    assert total == {"effects": 24, "records": 23, "agree": False, "effect_without_record": 1, "record_without_effect": 1,
                     "several_effects": 1, "effect_of_failed_record": 2, "unknown_with_effect": 1}
    twice = next(finding for finding in found if finding["finding"] == "several_effects")
    assert [effect["line"] for effect in twice["effects"]] == [1, 20]
    text = ledger.reconcile(as_lines(effects)).stdout
    assert f"effect without a record\n  key {stranger}, operation charges, line 21\n" in text
    assert "1 records of unknown or running work have an effect" in text


def test_several_records_of_one_key_share_its_effects(start_gateway):
    """The effects do not say which operation they belong to. Only records that may have an effect allow one."""
    gateway = start_gateway(ROUTE, {"name": "refunds", "path": "/refunds"}, store="embedded")
    half, both = new_key(), new_key()
    for key, test in ((half, "status=503"), (both, "status=201")):
        gateway.post("/charges", json=BODY, key=key)
        gateway.post("/refunds", json=BODY, key=key, test=test)

    def kinds(*keys):
        done = run_semel("reconcile", "--effects", "-", "--admin", "http://%s:%d" % gateway.admin_address, "--json",
                         stdin="".join(json.dumps({"key": key}) + "\n" for key in keys))
        return [(finding["finding"], {one["key"] for one in finding["records"]}) for finding in findings(done)[0]]
    assert kinds(half, both, both) == []
    assert kinds(half, half, both, both) == [("several_effects", {half})]
    assert kinds(half, both) == [("record_without_effect", {both})]
    assert kinds(half, both, both, both) == [("several_effects", {both})]


def test_effects_may_name_records(ledger):
    ids = [ledger.gateway.record(key)["id"] for key in ledger.good]
    text = "".join(json.dumps({"record": one}) + "\n" for one in ids)
    assert ledger.reconcile(text).returncode == 0
    done = ledger.reconcile(text + json.dumps({"record": "ab" * 32}) + "\n", "--json")
    assert done.returncode == 1 and findings(done)[0][0]["effects"] == [{"line": 21, "record": "ab" * 32}]
    assert "line 21: names no record" in ledger.reconcile(text + as_lines(["k"])).stderr


def test_what_is_outside_of_the_time_is_not_reported(ledger):
    old = as_lines([new_key()], time="2020-01-01T00:00:00Z")
    assert ledger.reconcile(as_lines(ledger.good) + old).returncode == 1
    assert ledger.reconcile(as_lines(ledger.good) + old, "--since", "2024-01-01T00:00:00Z").returncode == 0
    # Records that are newer than the list, likewise; an effect still finds its record.
    assert ledger.reconcile(as_lines(ledger.good[:5], time="2020-01-01T00:00:00Z")).returncode == 1
    assert ledger.reconcile(as_lines(ledger.good[:5]), "--until", "2024-01-01T00:00:00Z").returncode == 0


def test_times_are_compared_as_times_and_refused_if_they_are_none(ledger):
    ghost = as_lines([new_key()], time="2024-01-01T00:30:00+01:00")  # 23:30 of the day before in UTC
    effects = as_lines(ledger.good) + ghost
    assert ledger.reconcile(effects, "--since", "2023-12-31T23:00:00Z").returncode == 1
    assert ledger.reconcile(effects, "--since", "2024-01-01T00:00:00Z").returncode == 0
    assert ledger.reconcile(effects, "--since", "2024-01-01T01:00:00+02:00").returncode == 1
    for option in ("--since", "--until"):
        for wrong in ("garbage", "99999-01-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00"):
            done = ledger.reconcile(effects, option, wrong)
            assert done.returncode == 2 and "is no time" in done.stderr
    for wrong in ("1704067200", "18.11.2026 14:39"):
        done = ledger.reconcile(as_lines([new_key()], time=wrong))
        assert done.returncode == 4 and "the time is not one of RFC 3339" in done.stderr


def test_only_one_operation_is_compared(ledger):
    other = json.dumps({"key": new_key(), "operation": "refunds"}) + "\n"
    assert ledger.reconcile(as_lines(ledger.good) + other).returncode == 1
    assert ledger.reconcile(as_lines(ledger.good) + other, "--operation", "charges").returncode == 0


@pytest.mark.parametrize("text, why", [
    ("", "is empty"),
    ("a,b\n1,2\n", "must name a column key or record"),
    ("key,time\n1\n", "line 2: has 1 fields, and the header names 2"),
    ('key,time\n"1,2\n', "line 2: has a quote that is not closed"),
    ('{"key": "a"}\n{"key": \n', "line 2: is not a JSON object"),
    ('{"tenant": "a"}\n', "line 1: names neither a key nor a record"),
    ('{"record": "abc"}\n', "line 1: a record's id has 64 hexadecimal digits"),
])
def test_effects_that_cannot_be_read(ledger, text, why):
    done = ledger.reconcile(text)
    assert done.returncode == 4 and done.stdout == "" and why in done.stderr, done


def test_nobody_to_compare_with(tmp_path):
    path = tmp_path / "effects"
    path.write_text('{"key": "a"}\n')
    done = run_semel("reconcile", "--effects", path, "--admin", "http://127.0.0.1:1")
    assert done.returncode == 4 and "no answer from the admin listener" in done.stderr
    assert run_semel("reconcile", "--effects", tmp_path / "none", "--admin", "http://127.0.0.1:1").returncode == 4
    assert run_semel("reconcile").returncode == 2


@pytest.fixture
def serve():
    """Serves one body over HTTP, in one of the ways in which servers end it."""
    servers = []

    def start(body, end):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(200)
                if end == "chunked":
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    for at in range(0, len(body), 100):
                        piece = body[at:at + 100]
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.send_header("Content-Length", str(len(body) + (50 if end == "cut off" else 0)))
                    self.end_headers()
                    self.wfile.write(body)
                self.close_connection = True

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return "http://127.0.0.1:%d/effects.jsonl" % server.server_address[1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("end, code", [("length", 0), ("chunked", 0), ("cut off", 4)])
def test_effects_from_a_url(ledger, serve, end, code):
    url = serve(as_lines(ledger.good).encode(), end)
    done = run_semel("reconcile", "--effects", url, "--admin", "http://%s:%d" % ledger.gateway.admin_address)
    assert done.returncode == code, done
    assert ("the answer was cut off" in done.stderr) == (end == "cut off")


def test_the_store_is_read_where_no_gateway_runs(start_gateway):
    gateway = start_gateway(ROUTE, store="embedded", store_keys="digest")
    key = new_key()
    gateway.post("/charges", json=BODY, key=key)
    gateway.stop()
    config = gateway.folder / "semel.yaml"
    done = run_semel("reconcile", "--effects", "-", config, stdin=as_lines([key]))
    assert done.returncode == 0 and "directly" in done.stderr, done
    assert run_semel("reconcile", "--effects", "-", config, stdin=as_lines([key, key])).returncode == 1
