"""docs/operations.md, Tracing: spans get to the collector, and a collector that does not work costs requests nothing."""

import threading
import time

from harness.semel import eventually, new_key

BODY = {"amount": 100}
CHARGES = {"name": "charges", "path": "/charges"}
SPANS = "semel_trace_spans_total{result=%s}"


def tracing(collector):
    return {"tracing": {"otlp": collector.url, "sample": 1}}


def test_spans_are_sent_before_the_end(start_gateway, upstream, collector, key):
    gateway = start_gateway(CHARGES, **tracing(collector))
    gateway.post("/charges", json=BODY, key=key)
    gateway.stop()
    assert len(collector.spans()) == 4


def test_a_busy_collector_is_asked_again_and_one_that_refuses_is_not(start_gateway, upstream, collector):
    answers = iter([(503, {"Retry-After": "0"}), (429, {"Retry-After": "0"}), 200, 400])
    collector.answer = lambda delivery: next(answers)
    gateway = start_gateway(CHARGES, **tracing(collector))
    gateway.post("/charges", json=BODY, key=new_key())
    eventually(lambda: gateway.metrics()[SPANS % "sent"] == 4)
    first, second, third = collector.arrived
    assert first.body == second.body == third.body
    gateway.post("/charges", json=BODY, key=new_key())
    eventually(lambda: gateway.metrics()[SPANS % "failed"] == 4)
    assert len(collector.arrived) == 4 and len(collector.spans()) == 4


def test_a_collector_that_is_down_costs_nobody_anything(start_gateway, upstream, collector, key):
    collector.down()
    gateway = start_gateway(CHARGES, **tracing(collector))
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    eventually(lambda: "the collector takes no spans" in gateway.stderr())
    collector.up()
    eventually(lambda: gateway.metrics()[SPANS % "sent"] == 4)  # tried again
    assert len(collector.wait_spans(4)) == 4
    collector.down()
    gateway.post("/charges", json=BODY, key=new_key())
    begun = time.monotonic()
    gateway.stop()
    assert time.monotonic() - begun < 5


def test_a_collector_that_hangs_fills_a_bounded_queue(start_gateway, upstream, collector, key):
    hanging = threading.Event()
    collector.answer = lambda delivery: (hanging.wait(60), 200)[1]
    gateway = start_gateway(CHARGES, log={"decisions": "none"}, **tracing(collector))
    first = gateway.post("/charges", json=BODY, key=key)
    collector.wait(lambda c: c.arrived)
    before = gateway.resident_bytes()
    requests = 4800  # of two spans; the queue takes 8192
    with gateway.connect() as connection:
        for _ in range(requests):
            assert connection.request("POST", "/charges", json=BODY, key=key).body == first.body
    metrics = gateway.metrics()
    assert metrics[SPANS % "dropped"] == 2 * requests - 8192
    assert metrics["semel_requests_total{result=replayed,route=charges}"] == requests
    assert gateway.resident_bytes() - before < 32 << 20
    hanging.set()
    eventually(lambda: gateway.metrics()[SPANS % "sent"] == 4 + 8192)


def test_a_batch_that_is_under_way_at_the_end_is_counted(start_gateway, upstream, collector, key):
    hanging = threading.Event()
    collector.answer = lambda delivery: (hanging.wait(60), 200)[1]
    gateway = start_gateway(CHARGES, drain_timeout="1s", **tracing(collector))
    gateway.post("/charges", json=BODY, key=key)
    collector.wait(lambda c: c.arrived)
    gateway.stop()
    hanging.set()
    assert "spans not sent before the end spans=4 " in gateway.stderr()
