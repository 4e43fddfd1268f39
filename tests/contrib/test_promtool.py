"""Prometheus's own tool accepts what a gateway shows and what contrib/ asks of it."""

import pathlib
import subprocess

from harness.semel import new_key

ALERTS = pathlib.Path(__file__).resolve().parents[2] / "contrib/alerts.yaml"


def promtool(*arguments, stdin=b""):
    return subprocess.run(["promtool", *map(str, arguments)], input=stdin, capture_output=True, timeout=60)


def test_the_metrics_of_a_gateway_follow_the_rules(module_gateway, upstream_process):
    gateway = module_gateway({"name": "charges", "path": "/charges", "circuit": {"failures": 1000}},
                             {"name": "watched", "path": "/watched", "mode": "observe"}, store="embedded",
                             tracing={"otlp": upstream_process.url, "sample": 1},
                             notify={"url": upstream_process.url, "secret": "c2l4dGVlbiBieXRlcyBvciBtb3Jl"})
    for path in ("/charges", "/watched"):
        gateway.post(path, json={}, key=new_key())
    page = gateway.admin("/metrics").body
    assert b"semel_trace_spans_total" in page and b"semel_notifications_total" in page
    checked = promtool("check", "metrics", stdin=page)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
    wrong = promtool("check", "metrics", stdin=page + b"# TYPE semel_wrong counter\nsemel_wrong 1\n")
    assert wrong.returncode != 0


def test_the_alerts_are_rules_that_prometheus_takes():
    checked = promtool("check", "rules", ALERTS)
    assert checked.returncode == 0, checked.stderr.decode()
    rules = ALERTS.read_text().count("- alert:")
    assert f"SUCCESS: {rules} rules found".encode() in checked.stdout
