"""Prometheus scrapes a gateway: it asks for OpenMetrics, and finds in it the trace ids of requests that were counted."""

import json
import re
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from harness.ports import free_port
from harness.semel import eventually, new_key

CHARGES = {"name": "charges", "path": "/charges"}
OPEN = [("Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")]
EXEMPLAR = re.compile(r'^(\S+) (\S+) # \{trace_id="([0-9a-f]{32})"\} (\S+) (\d+\.\d{3})$')


@pytest.fixture
def prometheus(tmp_path):
    """Starts a Prometheus that scrapes an address four times a second. Returns its API as a function."""
    started = []

    def start(address):
        config = tmp_path / "prometheus.yml"
        config.write_text(json.dumps({"global": {"scrape_interval": "250ms", "scrape_timeout": "250ms"}, "scrape_configs": [
            {"job_name": "semel", "static_configs": [{"targets": ["%s:%d" % address]}]}]}))
        port = free_port()
        log = open(tmp_path / "log", "wb")
        started.append((subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
             f"--web.listen-address=127.0.0.1:{port}", "--enable-feature=exemplar-storage"], stdout=log, stderr=log), log))

        def ask(path, **query):
            url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    return json.load(answer)["data"]
            except OSError:  # it is not up yet
                return None

        return ask

    yield start
    for process, log in started:
        process.terminate()
        process.wait(20)
        log.close()


def traced_gateway(start_gateway, collector):
    return start_gateway(CHARGES, tracing={"otlp": collector.url, "sample": 1})


def test_prometheus_takes_the_exemplars(start_gateway, upstream, collector, prometheus, key):
    gateway = traced_gateway(start_gateway, collector)
    for _ in range(2):
        gateway.post("/charges", json={}, key=key)
    executed, replayed = collector.wait_requests(2)
    ask = prometheus(gateway.admin_address)
    eventually(lambda: (found := ask("query", query='up{job="semel"}')) and
               [r["value"][1] for r in found["result"]] == ["1"])

    def exemplars(query):
        now = time.time()
        found = ask("query_exemplars", query=query, start=now - 300, end=now + 300) or []
        return {(series["seriesLabels"].get("result"), each["labels"]["trace_id"])
                for series in found for each in series["exemplars"]}

    assert eventually(lambda: exemplars("semel_requests_total")) == {("executed", executed), ("replayed", replayed)}
    assert eventually(lambda: exemplars("semel_upstream_seconds_bucket")) == {(None, executed)}
    [target] = ask("targets")["activeTargets"]
    assert target["health"] == "up" and target["lastError"] == ""


def series(lines):
    return sorted(re.match(r"[^ {]+(\{.*?\})?(?= )", line)[0] for line in lines if line and not line.startswith("#"))


def test_both_formats_have_the_same_series(start_gateway, upstream, collector):
    gateway = traced_gateway(start_gateway, collector)
    gateway.post("/charges", json={}, key=new_key())
    plain, opened = gateway.admin("/metrics"), gateway.admin("/metrics", headers=OPEN)
    assert plain.header("Content-Type").startswith("text/plain; version=0.0.4")
    assert opened.header("Content-Type") == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    lines = opened.body.decode().split("\n")
    assert lines[-2:] == ["# EOF", ""] and "" not in lines[:-1]
    assert series(lines) == series(plain.body.decode().split("\n"))
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", opened.body.decode(), re.M))
    assert types["semel_requests"] == "counter" and types["semel_upstream_seconds"] == "histogram"
    assert not [name for name in types if name.endswith("_total")]
    assert "# " not in "".join(line for line in plain.body.decode().split("\n") if not line.startswith("#"))


def test_a_bucket_shows_a_request_that_fell_into_it(start_gateway, upstream, collector):
    gateway = traced_gateway(start_gateway, collector)
    gateway.post("/charges", json={}, key=new_key(), test="delay=0.12")
    [trace] = collector.wait_requests()
    found = [EXEMPLAR.match(line) for line in gateway.admin("/metrics", headers=OPEN).body.decode().split("\n")
             if " # " in line]
    by_series = {match[1]: match for match in found}
    assert set(by_series) == {'semel_requests_total{result="executed",route="charges"}',
                              'semel_upstream_seconds_bucket{route="charges",le="0.25"}'}
    bucket = by_series['semel_upstream_seconds_bucket{route="charges",le="0.25"}']
    assert bucket[3] == trace and 0.1 < float(bucket[4]) <= 0.25
    assert abs(float(bucket[5]) - time.time()) < 60


def test_without_tracing_there_are_no_exemplars(start_gateway, upstream, key):
    gateway = start_gateway(CHARGES)
    gateway.post("/charges", json={}, key=key)
    assert " # " not in gateway.admin("/metrics", headers=OPEN).body.decode()
