"""`semel consume` on real brokers: one effect per message id, acknowledged only when it is durable."""

import json
import subprocess

import pytest
from harness.clients.http_client import TIME_SCALE
from harness.semel import binary, eventually, let_pass, new_key, scaled
from harness.peers.upstream_control import field


def body_of(number=1):
    return json.dumps({"amount": number}).encode()


def until_empty(consumer, queue, dead=0):
    eventually(lambda: consumer.is_idle(queue) and queue.counts()[1] == dead,
               timeout=60 * TIME_SCALE, every=0.05)


def test_a_message_runs_once_however_often_it_comes(broker, consumers, upstream):
    queue = broker.queue()
    keys = [new_key() for _ in range(20)]
    queue.publish([(key, body_of()) for key in keys] * 3)
    consumer = consumers(broker.entry(queue, upstream))
    until_empty(consumer, queue)
    assert [upstream.effects(key=key) for key in keys] == [1] * 20
    assert upstream.effects() == 20
    # A completed message stays completed: its redelivery is acknowledged without a call.
    queue.publish([(key, body_of()) for key in keys])
    until_empty(consumer, queue)
    assert upstream.effects() == 20
    assert sorted(consumer.records("completed")) == sorted(keys)


def test_what_the_handler_is_told(broker, consumers, upstream):
    queue = broker.queue()
    key = new_key()
    headers = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
               "ce-type": "payment", "X-Test": "status=201", "Other": "not passed on",
               "Semel-Token": "forged"}
    queue.publish([(key, body_of(7), headers)])
    consumer = consumers(broker.entry(queue, upstream, describe=["/amount"]))
    until_empty(consumer, queue)
    seen = upstream.last(key=key)
    assert (seen["method"], seen["target"], seen["bytes"]) == ("POST", "/handle", len(body_of(7)))
    assert field(seen, "Idempotency-Key") == f'"{key}"'
    assert field(seen, "Semel-Attempt") == "1"
    assert field(seen, "traceparent") == headers["traceparent"]
    assert field(seen, "ce-type") == "payment"
    assert field(seen, "Other") is None and field(seen, "Semel-Token") is None
    record = consumer.record(key)
    assert field(seen, "Semel-Record") == record["id"]
    assert (record["state"], record["operation"]) == ("completed", queue.name)
    assert record["request"] == {"method": None, "path": None, "described": {"/amount": "7"}, "bytes": 0}


def test_poison_goes_to_the_dead_letters_with_the_reason(broker, consumers, upstream):
    queue = broker.queue()
    good, reused = new_key(), new_key()
    queue.publish([(None, body_of(1)), ("", body_of(2)), ("caf\u00e9", body_of(3)),
                   (reused, body_of(4)), (good, b"x" * 2000)])
    consumer = consumers(broker.entry(queue, upstream, max_message="1KiB"))
    until_empty(consumer, queue, dead=4)
    queue.publish([(reused, body_of(5))])
    until_empty(consumer, queue, dead=5)
    upstream.wait_effects(1)
    assert upstream.effects() == 1
    dead = queue.take_dead()
    found = {}
    for about, body in dead:
        headers = about if isinstance(about, dict) else \
            {n.lower(): v for n, v in about.headers.items()}
        found[body] = headers
    reasons = {body: headers["semel-dead-letter"] for body, headers in found.items()}
    assert reasons == {body_of(1): "id-missing", body_of(2): "id-missing", body_of(3): "id-invalid",
                       b"x" * 2000: "too-large", body_of(5): "id-reused"}
    mismatch = found[body_of(5)]
    assert "body" in mismatch["semel-dead-letter-detail"]
    assert mismatch["semel-operation"] == queue.name
    assert len(mismatch["semel-record"]) == 64


def test_the_same_json_differently_written_is_the_same_message(broker, consumers, upstream):
    queue = broker.queue()
    key = new_key()
    consumer = consumers(broker.entry(queue, upstream, fingerprint={"body": "json"}))
    queue.publish([(key, b'{"a": 1, "b": 2}'), (key, b'{"b":2.0,"a":1}')])
    until_empty(consumer, queue)
    assert upstream.effects() == 1


def test_a_key_from_the_body(broker, consumers, upstream):
    queue = broker.queue()
    consumer = consumers(broker.entry(queue, upstream, key={"from": "pointer", "pointer": "/event/id"}))
    queue.publish([(None, b'{"event": {"id": "e-1"}}')] * 2 + [(None, b"no json")]
                  + [(None, b'\xef\xbb\xbf{"total": 1e400, "n": 99999999999999999999999, "s": "\\ud800",'
                            b' "event": {"id": "e-2"}}')] * 2)
    until_empty(consumer, queue, dead=1)
    assert upstream.effects(key="e-1") == 1 == upstream.effects(key="e-2")
    assert upstream.effects() == 2


def test_retry_outcomes_come_again_with_backoff_and_then_go_to_the_dead_letters(
        broker, consumers, upstream):
    queue = broker.queue()
    key = new_key()
    consumer = consumers(broker.entry(queue, upstream, max_attempts=4))
    queue.publish([(key, body_of(), {"X-Test": "status=503"})])
    until_empty(consumer, queue, dead=1)
    attempts = [field(r, "Semel-Attempt") for r in upstream.requests(key=key)]
    assert attempts == ["1", "2", "3", "4"]
    reason, headers, body = broker.reasons(queue)[key]
    assert (reason, body) == ("attempts-exhausted", body_of())
    assert headers["semel-attempt"] == "4" and "503" in headers["semel-dead-letter-detail"]
    assert consumer.record(key)["state"] == "released"


def test_a_handler_that_is_down_costs_nothing_but_time(broker, consumers, upstream, raw_upstream):
    queue = broker.queue()
    keys = [new_key() for _ in range(10)]
    gone = raw_upstream(lambda connection: None)
    url = gone.url
    gone.stop()
    entry = broker.entry(queue, upstream, max_attempts=1000)
    consumer = consumers({**entry, "to": f"{url}/handle"})
    queue.publish([(key, body_of()) for key in keys])
    eventually(lambda: len(consumer.records("released")) == 10)
    assert queue.counts()[1] == 0
    consumer.restart(consume=[entry])  # where it is up
    until_empty(consumer, queue)
    assert [upstream.effects(key=key) for key in keys] == [1] * 10


def test_unknown_is_never_run_again_under_hold_and_is_listed(broker, consumers, upstream):
    queue = broker.queue()
    key = new_key()
    consumer = consumers(broker.entry(queue, upstream))
    queue.publish([(key, body_of(), {"X-Test": "close=before"})])
    until_empty(consumer, queue, dead=1)
    assert broker.reasons(queue)[key][0] == "outcome-unknown"
    assert consumer.records("unknown") == [key]
    listed = consumer.keys("ls", "--where", "state=unknown")
    assert key.encode() in listed.stdout, listed
    dead = queue.counts()[1]
    queue.publish([(key, body_of())])
    until_empty(consumer, queue, dead=dead + 1)
    assert upstream.effects(key=key) == 1


def test_unknown_is_run_again_under_retry(broker, consumers, upstream):
    queue = broker.queue()
    key = new_key()
    consumer = consumers(broker.entry(queue, upstream, unknown="retry", max_attempts=3))
    queue.publish([(key, body_of(), {"X-Test": "close=before"})])
    until_empty(consumer, queue, dead=1)
    assert [field(r, "Semel-Attempt") for r in upstream.requests(key=key)] == ["1", "2", "3"]
    assert broker.reasons(queue)[key][0] == "outcome-unknown"


def test_a_slow_handler_outlives_lease_and_ack_wait_and_runs_once(broker, consumers, upstream):
    queue = broker.queue()
    key, gate = new_key(), new_key()
    source = {"ack_wait": "1s"} if broker.name == "nats" else {}
    consumer = consumers(broker.entry(queue, upstream, source=source, lease="1s"))
    queue.publish([(key, body_of(), {"X-Test": f"gate={gate}"})])
    upstream.wait_effects(1, key)
    let_pass(3.5)
    upstream.open_gate(gate)
    until_empty(consumer, queue)
    assert upstream.arrived(key) == 1
    assert consumer.record(key)["attempt"] == 1
    if broker.name == "nats":
        assert queue.redelivered() == 0


def test_no_more_than_in_flight_run_and_prefetch_are_held(broker, consumers, upstream):
    queue = broker.queue()
    gate = new_key()
    consumer = consumers(broker.entry(queue, upstream, in_flight=3, source={"prefetch": 5}))
    queue.publish([(new_key(), body_of(), {"X-Test": f"gate={gate}"}) for _ in range(12)])
    upstream.wait_effects(3)
    let_pass(0.5)
    assert upstream.arrived() == 3
    if broker.name == "rabbitmq":
        assert queue.counts() == (7, 0)  # the broker has kept what was not fetched
    upstream.open_gate(gate)
    until_empty(consumer, queue)
    assert upstream.effects() == 12


def test_drain_finishes_what_runs_and_returns_the_rest(broker, consumers, upstream):
    queue = broker.queue()
    gate = new_key()
    keys = [new_key() for _ in range(8)]
    entry = broker.entry(queue, upstream, in_flight=2)
    consumer = consumers(entry)
    queue.publish([(key, body_of(), {"X-Test": f"gate={gate}"}) for key in keys])
    upstream.wait_effects(2)
    consumer.terminate()
    eventually(lambda: "draining" in consumer.stderr())
    upstream.open_gate(gate)
    assert consumer.wait() == 0
    assert upstream.effects() == 2
    eventually(lambda: queue.counts() == (6, 0), timeout=40)
    consumer.start()
    until_empty(consumer, queue)
    assert [upstream.effects(key=key) for key in keys] == [1] * 8


def test_what_was_done_when_the_consumer_died_is_not_done_again(broker, consumers, upstream):
    queue = broker.queue()
    done, cut, gate = new_key(), new_key(), new_key()
    source = {"ack_wait": "2s"} if broker.name == "nats" else {}
    consumer = consumers(broker.entry(queue, upstream, source=source))
    queue.publish([(done, body_of())])
    until_empty(consumer, queue)
    queue.publish([(cut, body_of(), {"X-Test": f"gate={gate}"})])
    upstream.wait_effects(1, cut)
    consumer.kill9()
    upstream.open_gate(gate)
    consumer.start()
    until_empty(consumer, queue, dead=1)
    assert upstream.effects(key=cut) == 1 == upstream.effects(key=done)
    assert broker.reasons(queue)[cut][0] == "outcome-unknown"
    assert consumer.records("unknown") == [cut]


def test_an_operator_releases_an_unknown_message_and_it_runs_when_it_is_sent_again(
        broker, consumers, upstream):
    queue = broker.queue()
    key = new_key()
    consumer = consumers(broker.entry(queue, upstream))
    queue.publish([(key, body_of(), {"X-Test": "close=before"})])
    until_empty(consumer, queue, dead=1)
    released = consumer.keys("release", consumer.record(key)["id"], "--reason", "looked it up")
    assert released.returncode == 0, released
    queue.publish([(key, body_of())])
    eventually(lambda: consumer.record(key)["state"] == "completed")
    assert field(upstream.last(key=key), "Semel-Attempt") == "2"


def test_a_queue_of_its_own_does_not_mix_ids_with_another(broker, consumers, upstream):
    first, second = broker.queue(), broker.queue()
    key = new_key()
    consumer = consumers(broker.entry(first, upstream), broker.entry(second, upstream))
    first.publish([(key, body_of())])
    second.publish([(key, body_of())])
    until_empty(consumer, first)
    until_empty(consumer, second)
    assert upstream.effects(key=key) == 2


@pytest.mark.parametrize("edit, complaint", [
    ({"unknown": None}, "unknown: required"),
    ({"unknown": "fail"}, "hold"),
    ({"dead_letter": None}, "dead_letter: required"),
    ({"in_fligth": 3}, "did you mean 'in_flight'"),
    ({"key": {"from": "property", "name": "nonsense"}}, "is not a supported property"),
    ({"fingerprint": {"body": "multipart"}}, "auto, json, raw or none"),
    ({"completes": "executor"}, "postgres"),
    ({"from": {"kind": "rabbitmq", "url": "http://x", "queue": "q"}}, "amqp://"),
    ({"from": {"kind": "nats", "url": "nats://x", "queue": "q"}}, "is not allowed with kind: nats"),
])
def test_a_bad_entry_is_refused_with_its_line(tmp_path, edit, complaint):
    entry = {"name": "payments", "from": {"kind": "rabbitmq", "url": "amqp://x", "queue": "q"},
             "to": "http://127.0.0.1:1/", "unknown": "hold", "dead_letter": "reject", **edit}
    entry = {name: value for name, value in entry.items() if value is not None}
    config = tmp_path / "semel.yaml"
    config.write_text(json.dumps({"store": {"kind": "memory"}, "consume": [entry]}, indent=1))
    ran = subprocess.run([binary(), "consume", "--config", str(config)], capture_output=True,
                         text=True, timeout=30)
    assert ran.returncode == 2
    assert complaint in ran.stderr and "consume[0]" in ran.stderr, ran.stderr
    assert f"{config}:" in ran.stderr
