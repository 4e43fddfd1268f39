"""docs/operations.md, Tracing: spans that a collector gets by OTLP."""

import time

from harness.peers.upstream_control import field
from harness.semel import Background, assert_replay, eventually, new_key

BODY = {"amount": 100}
CHARGES = {"name": "charges", "path": "/charges"}
CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = CLIENT[:-1] + "0"


def tracing(collector, sample=1):
    return {"tracing": {"otlp": collector.url, "sample": sample}}


def test_an_execution_is_a_trace_of_its_steps(start_gateway, upstream, collector, key):
    gateway = start_gateway(CHARGES, **tracing(collector))
    before = time.time_ns()
    assert gateway.post("/charges?secret=1", json=BODY, key=key).status == 200
    [spans] = collector.wait_requests().values()
    assert set(spans) == {"POST charges", "claim", "POST", "complete"}
    request, call = spans["POST charges"], spans["POST"]
    assert request.kind == "server" and request.parent is None and not request.links
    assert request.attributes == {
        "http.request.method": "POST", "url.path": "/charges", "http.route": "/charges", "client.address": "127.0.0.1",
        "http.response.status_code": 200, "semel.result": "executed", "semel.record": gateway.record(key)["id"],
        "semel.attempt": 1}
    assert call.kind == "client" and call.attributes == {
        "server.address": "127.0.0.1", "server.port": upstream.address[1], "http.response.status_code": 200}
    for part in ("claim", "POST", "complete"):
        assert spans[part].parent == request.id
        assert request.begun <= spans[part].begun <= spans[part].ended <= request.ended
    assert before < request.begun and spans["claim"].ended <= call.begun and call.ended <= spans["complete"].begun
    # The upstream's spans hang below the call; the record names the request's span.
    assert field(upstream.last(), "traceparent") == call.traceparent
    assert gateway.record(key)["trace"] == request.traceparent
    assert gateway.admin("/api/decisions?limit=1").json()["decisions"][0]["trace"] == request.traceparent
    [batch] = collector.batches()
    resource = {a["key"]: a["value"] for a in batch["resourceSpans"][0]["resource"]["attributes"]}
    assert resource["service.name"] == {"stringValue": "semel"} and "service.instance.id" in resource
    [delivery] = collector.accepted
    assert delivery.path == "/v1/traces" and delivery.headers["Content-Type"] == "application/json"


def test_a_replay_links_to_the_first_execution(start_gateway, upstream, collector, key):
    gateway = start_gateway(CHARGES, **tracing(collector))
    first = gateway.post("/charges", json=BODY, key=key)
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    executed, replayed = collector.wait_requests(2).values()
    assert set(replayed) == {"POST charges", "replay"}
    first_span = executed["POST charges"]
    for span in replayed.values():
        assert span.links == [(first_span.trace, first_span.id)]
        assert span.trace != first_span.trace
    assert replayed["POST charges"].attributes["semel.result"] == "replayed"
    assert upstream.effects(key) == 1


def test_a_replay_links_to_the_clients_span_if_the_execution_was_not_sampled(start_gateway, upstream, collector, key):
    gateway = start_gateway(CHARGES, **tracing(collector))
    gateway.post("/charges", json=BODY, key=key, headers=[("traceparent", UNSAMPLED)])
    gateway.post("/charges", json=BODY, key=key)
    [replayed] = collector.wait_requests().values()
    assert replayed["replay"].links == [tuple(UNSAMPLED.split("-")[1:3])]


def test_a_waiter_links_to_the_execution_that_it_waits_for(start_gateway, upstream, collector, key):
    gateway = start_gateway({**CHARGES, "in_progress": "wait"}, **tracing(collector))
    first = Background(gateway.post, "/charges", json=BODY, key=key, test="gate=a")
    upstream.wait_arrived(1, key)
    second = Background(gateway.post, "/charges", json=BODY, key=key)
    eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
    upstream.open_gate("a")
    assert first.result().status == second.result().status == 200
    requests = {spans["POST charges"].attributes["semel.result"]: spans
                for spans in collector.wait_requests(2).values()}
    executed, waited = requests["executed"]["POST charges"], requests["waited"]
    assert waited["wait"].links == waited["POST charges"].links == [(executed.trace, executed.id)]
    assert waited["wait"].begun < requests["executed"]["POST"].ended
    assert upstream.effects(key) == 1


def test_the_client_decides_about_its_own_traces(start_gateway, upstream, collector, key):
    """Sampled or not by its flag, whatever our share says."""
    never = start_gateway(CHARGES, **tracing(collector, 0))
    never.post("/charges", json=BODY, key=key, headers=[("traceparent", CLIENT), ("tracestate", "a=b")])
    [spans] = collector.wait_requests().values()
    _, trace, parent, _ = CLIENT.split("-")
    assert spans["POST charges"].trace == trace and spans["POST charges"].parent == parent
    assert field(upstream.last(), "traceparent") == spans["POST"].traceparent
    assert field(upstream.last(), "tracestate") == "a=b"

    always = start_gateway(CHARGES, **tracing(collector, 1))
    always.post("/charges", json=BODY, key=new_key(), headers=[("traceparent", UNSAMPLED)])
    assert field(upstream.last(), "traceparent") == UNSAMPLED
    always.stop()
    never.post("/charges", json=BODY, key=new_key())
    assert field(upstream.last(), "traceparent") is None
    never.stop()
    assert len(collector.wait_requests()) == 1


def test_a_share_of_other_traces_is_sampled(start_gateway, upstream, collector):
    gateway = start_gateway(CHARGES, **tracing(collector, 0.5))
    with gateway.connect() as connection:
        for _ in range(400):
            connection.request("GET", "/charges")
    gateway.stop()
    requests = collector.wait_requests()
    assert 120 < len(requests) < 280, "eight standard deviations"
    assert all(set(spans) == {"GET charges", "GET"} for spans in requests.values())
    assert {spans["GET charges"].attributes["semel.result"] for spans in requests.values()} == {"passed"}


def test_a_failure_is_marked(start_gateway, upstream, collector, key):
    gateway = start_gateway(CHARGES, **tracing(collector))
    assert gateway.post("/charges", json=BODY, key=key, test="close=before").status == 502
    [spans] = collector.wait_requests().values()
    assert spans["POST"].attributes["error.type"] == "no_answer"
    assert spans["POST"].json["status"] == spans["POST charges"].json["status"] == {"code": 2}
    assert spans["POST charges"].attributes["semel.result"] == "executed"
    assert "status" not in spans["complete"].json


def test_queued_work_goes_on_in_the_trace_of_its_request(start_gateway, upstream, collector, key):
    gateway = start_gateway({**CHARGES, "in_progress": "accept"}, **tracing(collector))
    answer = gateway.post("/charges", json=BODY, key=key, headers=[("Prefer", "respond-async")])
    assert answer.status == 202
    collector.wait(lambda c: {"complete", "POST charges"} <= {s.name for s in c.spans()})
    spans = {span.name: span for span in collector.spans()}
    assert spans["queued charges"].parent == spans["POST charges"].id
    assert spans["POST"].parent == spans["queued charges"].id
    assert len({span.trace for span in spans.values()}) == 1
    assert field(upstream.last(), "traceparent") == spans["POST"].traceparent


def test_a_message_is_traced(broker, consumers, upstream, collector):
    queue = broker.queue()
    consumer = consumers(broker.entry(queue, upstream), **tracing(collector))
    queue.publish([(new_key(), b"{}")])
    upstream.wait_effects(1)
    consumer.stop()
    spans = {span.name: span for span in collector.spans()}
    assert spans[f"process {queue.name}"].kind == "consumer"
    assert spans["POST"].parent == spans[f"process {queue.name}"].id
    assert field(upstream.last(), "traceparent") == spans["POST"].traceparent


def test_without_tracing_nothing_is_added(start_gateway, upstream, key):
    gateway = start_gateway(CHARGES)
    gateway.post("/charges", json=BODY, key=key, headers=[("traceparent", CLIENT)])
    assert field(upstream.last(), "traceparent") == CLIENT and gateway.record(key)["trace"] == CLIENT
    gateway.post("/charges", json=BODY, key=new_key())
    assert field(upstream.last(), "traceparent") is None
    assert not [name for name in gateway.metrics() if name.startswith("semel_trace_spans")]
