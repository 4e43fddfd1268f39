"""Messages to a function of a program (semel/consume.h): all that holds for an HTTP handler holds for it."""

import collections
import json
import pathlib
import random
import subprocess

import pytest
from harness.consume import Consumer, until_settled
from harness.servers.mock_kafka import MockKafka
from harness.servers.postgres_nodes import apply_schema
from harness.servers.postgres_server import PostgresServer
from harness.semel import binary, eventually, let_pass, new_key

PROGRAM = pathlib.Path(binary()).parent / "tests" / "function_consumer"
CRASH_MESSAGES = 300
CRASHES = 3
SEED = 20261115
BODY = b'{"amount": 1}'


class FunctionConsumer(Consumer):
    def __init__(self, entry, mode="blocking", database="", **top):
        super().__init__({name: value for name, value in entry.items() if name not in ("to", "headers")},
                         **top)
        self._arguments = [entry["name"], mode, database]

    def command_line(self, config_path):
        return [str(PROGRAM), str(config_path), *self._arguments]

    def calls(self):
        """id → the numbers of the attempts that were made."""
        found = collections.defaultdict(list)
        path = self.folder / "effects"
        for line in path.read_text().splitlines() if path.exists() else ():
            key, attempt = line.split()
            found[key].append(int(attempt))
        return dict(found)

    def await_call(self, key):
        eventually(lambda: key in self.calls())

    def gate(self):
        return self.folder / new_key()


class Nobody:
    """In place of a handler's address, which the entries here do not have."""
    url = ""


@pytest.fixture
def consume():
    made = []

    def make(entry, **more):
        made.append(FunctionConsumer(entry, **more))
        return made[-1].start()

    yield make
    for consumer in made:
        consumer.discard()


def until_empty(consumer, queue, dead=0):
    eventually(lambda: consumer.is_idle(queue) and queue.counts()[1] == dead, timeout=60, every=0.05)


def entry_of(broker, queue, **more):
    if broker.name == "nats":
        more = {**more, "source": {"ack_wait": "2s", **more.get("source", {})}}
    return broker.entry(queue, Nobody, **more)


@pytest.mark.parametrize("mode", ["blocking", "async"])
def test_each_id_once_however_often_it_comes(broker, consume, mode):
    queue = broker.queue()
    keys = [new_key() for _ in range(20)]
    queue.publish([(key, BODY) for key in keys] * 3)
    consumer = consume(entry_of(broker, queue), mode=mode)
    until_empty(consumer, queue)
    assert consumer.calls() == {key: [1] for key in keys}
    assert consumer.metrics()[f"semel_upstream_seconds_count{{route={queue.name}}}"] == 20
    consumer.restart()
    queue.publish([(key, BODY) for key in keys])
    until_empty(consumer, queue)
    assert consumer.calls() == {key: [1] for key in keys}
    record = consumer.record(keys[0])
    assert (record["state"], record["operation"], record["answer"]["status"]) == \
        ("completed", queue.name, 201)


def test_retry_comes_again_with_backoff_and_poison_and_unknown_are_put_aside(broker, consume):
    queue = broker.queue()
    failing, thrown, other, reused = (new_key() for _ in range(4))
    queue.publish([(failing, BODY, {"X-Test": "retry"}), (thrown, BODY, {"X-Test": "throw"}),
                   (other, BODY, {"X-Test": "throw-other"}), (reused, BODY), (None, BODY)])
    consumer = consume(entry_of(broker, queue, max_attempts=3))
    until_empty(consumer, queue, dead=4)
    queue.publish([(reused, b'{"amount": 2}')])
    until_empty(consumer, queue, dead=5)
    assert consumer.calls() == {failing: [1, 2, 3], thrown: [1], other: [1], reused: [1]}
    letters = broker.reasons(queue)
    reasons = {key: reason for key, (reason, _, _) in letters.items()}
    assert reasons == {failing: "attempts-exhausted", thrown: "outcome-unknown",
                       other: "outcome-unknown", reused: "id-reused", None: "id-missing"}
    detail = letters[thrown][1]["semel-dead-letter-detail"]
    assert "it broke" in detail and "x-forged" not in letters[thrown][1]
    assert "not now" in letters[failing][1]["semel-dead-letter-detail"]
    eventually(lambda: consumer.stderr().count("message will be retried") == 2)
    waits = [int(line.split("after_ms=")[1].split()[0]) for line in consumer.stderr().splitlines()
             if "message will be retried" in line]
    assert len(waits) == 2 and waits[0] >= 25 and waits[1] >= 50, waits
    assert sorted(consumer.records("unknown")) == sorted([thrown, other])
    # It is never called again by itself.
    queue.publish([(thrown, BODY)])
    eventually(lambda: broker.reasons(queue).get(thrown, [""])[0] == "outcome-unknown")
    assert consumer.calls()[thrown] == [1]


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_an_outcome_that_nobody_tells_is_unknown(broker, consume):
    queue = broker.queue()
    forgotten, thrown = new_key(), new_key()
    queue.publish([(forgotten, BODY, {"X-Test": "forget"}), (thrown, BODY, {"X-Test": "throw"})])
    consumer = consume(entry_of(broker, queue), mode="async")
    until_empty(consumer, queue, dead=2)
    assert {reason for reason, _, _ in broker.reasons(queue).values()} == {"outcome-unknown"}
    assert sorted(consumer.records("unknown")) == sorted([forgotten, thrown])


def test_drain_finishes_and_acknowledges_what_runs(broker, consume):
    queue = broker.queue()
    keys = [new_key() for _ in range(6)]
    consumer = consume(entry_of(broker, queue, in_flight=2))
    gate = consumer.gate()
    queue.publish([(key, BODY, {"X-Test": f"gate={gate}"}) for key in keys])
    eventually(lambda: len(consumer.calls()) == 2)
    running = list(consumer.calls())
    consumer.terminate()
    eventually(lambda: "draining" in consumer.stderr())
    gate.touch()
    assert consumer.wait() == 0
    assert sorted(consumer.calls()) == sorted(running)
    eventually(lambda: queue.counts() == (4, 0), timeout=40)
    consumer.start()
    until_empty(consumer, queue)
    assert consumer.calls() == {key: [1] for key in keys}


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_a_function_that_outlives_the_drain_is_waited_for_and_unknown(broker, consume):
    queue = broker.queue()
    key = new_key()
    consumer = consume(entry_of(broker, queue), drain_timeout="1s")
    gate = consumer.gate()
    queue.publish([(key, BODY, {"X-Test": f"gate={gate}"})])
    consumer.await_call(key)
    consumer.terminate()
    eventually(lambda: "cut_off=1" in consumer.stderr())
    let_pass(0.2)
    assert consumer.running  # it cannot be ended, and what it uses must not go away under it
    gate.touch()
    assert consumer.wait() == 0
    consumer.start()
    until_empty(consumer, queue, dead=1)
    assert broker.reasons(queue)[key][0] == "outcome-unknown"
    assert consumer.calls() == {key: [1]}


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_to_stop_before_it_runs_is_to_end_at_once(broker, tmp_path):
    queue = broker.queue()
    queue.publish([(new_key(), BODY)])
    entry = {name: value for name, value in entry_of(broker, queue).items() if name not in ("to", "headers")}
    path = tmp_path / "semel.yaml"
    path.write_text(json.dumps({"store": {"kind": "memory"}, "admin": {"listen": "127.0.0.1:0"},
                                "consume": [entry]}))
    ran = subprocess.run([PROGRAM, path, queue.name, "stopped"], cwd=tmp_path, capture_output=True, timeout=30)
    assert ran.returncode == 0 and ran.stdout.endswith(b"ready\nended\n"), ran
    assert not (tmp_path / "effects").exists()


def test_a_slow_function_outlives_lease_and_ack_wait(broker, consume):
    queue = broker.queue()
    key = new_key()
    source = {"ack_wait": "1s"} if broker.name == "nats" else {}
    consumer = consume(entry_of(broker, queue, source=source, lease="1s"))
    gate = consumer.gate()
    queue.publish([(key, BODY, {"X-Test": f"gate={gate}"})])
    consumer.await_call(key)
    let_pass(2.5)
    assert consumer.record(key)["state"] == "in_progress"
    gate.touch()
    until_empty(consumer, queue)
    assert consumer.calls() == {key: [1]}
    if broker.name == "nats":
        assert queue.redelivered() == 0


@pytest.mark.parametrize("unknown", ["hold", "retry"])
def test_a_function_that_takes_too_long_is_unknown_and_its_late_word_counts(broker, consume, unknown):
    queue = broker.queue()
    key = new_key()
    in_flight = {"hold": 1, "retry": 3}[unknown]
    consumer = consume(entry_of(broker, queue, unknown=unknown, max_execution="1s", in_flight=in_flight))
    gate = consumer.gate()
    queue.publish([(key, BODY, {"X-Test": f"gate={gate}"})])
    consumer.await_call(key)
    eventually(lambda: consumer.record(key)["state"] == "unknown")
    if unknown == "hold":
        eventually(lambda: queue.counts()[1] == 1)
        assert broker.reasons(queue)[key][0] == "outcome-unknown"
    # It has its place until it returns; where there are others, it does not run beside itself.
    other = new_key()
    queue.publish([(other, BODY)])
    let_pass(0.5)
    assert consumer.calls() == ({key: [1]} if unknown == "hold" else {key: [1], other: [1]})
    if unknown == "hold":
        assert consumer.admin(f"/api/keys?key={other}").json()["keys"] == []  # not claimed either
    gate.touch()
    eventually(lambda: consumer.record(key)["state"] == "completed")
    queue.publish([(key, BODY)])
    eventually(lambda: consumer.is_idle(queue))
    assert consumer.calls() == {key: [1], other: [1]}
    assert consumer.record(key)["reason"] == "done, late"


def test_killed_in_the_middle_nothing_runs_twice_and_nothing_is_lost(broker, consume):
    dice = random.Random(SEED)
    queue = broker.queue()
    keys = [f"message-{number}" for number in range(CRASH_MESSAGES)]
    copies = keys + dice.choices(keys, k=CRASH_MESSAGES // 3)
    dice.shuffle(copies)
    consumer = consume(entry_of(broker, queue))
    queue.publish([(key, BODY, {"X-Test": "nap"}) for key in copies])
    for crash in range(1, CRASHES + 1):
        eventually(lambda: len(consumer.calls()) >= crash * CRASH_MESSAGES // (CRASHES + 2))
        consumer.kill9()
        consumer.start()
    until_settled(queue, consumer, timeout=60)
    calls = consumer.calls()
    assert {key: made for key, made in calls.items() if made != [1]} == {}
    completed, unknown = consumer.records("completed"), consumer.records("unknown")
    assert sorted(completed + unknown) == sorted(keys)
    assert unknown  # it was in the middle of some
    assert set(completed) <= set(calls)
    reasons = {key: reason for key, (reason, _, _) in broker.reasons(queue).items()}
    assert reasons == {key: "outcome-unknown" for key in unknown}


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_a_function_completes_the_record_in_its_own_transaction(broker, consume):
    server = PostgresServer().start()
    try:
        url = server.create_database("semel")
        apply_schema(url)
        server.execute("CREATE TABLE public.effects (id text)")
        queue = broker.queue()
        committed, pretended = new_key(), new_key()
        consumer = consume(entry_of(broker, queue, completes="executor"), database=url,
                           store={"kind": "postgres", "url": url})
        queue.publish([(committed, BODY, {"X-Test": "commit"}),
                       (pretended, BODY, {"X-Test": "commit-nothing"})] * 2)
        until_empty(consumer, queue, dead=2)
        assert server.execute("SELECT id FROM public.effects") == [(committed,)]
        assert consumer.calls() == {committed: [1], pretended: [1]}
        assert consumer.record(committed)["answer"]["status"] == 201
        assert consumer.records("unknown") == [pretended]
        consumer.stop()
    finally:
        server.discard()


def test_kafka_goes_the_same_way(consume):
    kafka = MockKafka()
    try:
        topic = kafka.topic()
        good, failing = new_key(), new_key()
        for _ in range(2):
            kafka.produce(topic, None, "good", id=good)
        kafka.produce(topic, None, "failing", id=failing, **{"X-Test": "retry"})
        consumer = consume(
            {"name": topic, "from": {"kind": "kafka", "brokers": kafka.brokers, "topic": topic, "group": "g"},
             "key": {"from": "header", "name": "id"}, "unknown": "hold", "max_attempts": 2,
             "dead_letter": {"topic": f"{topic}.dead"}, "backoff": {"min": "50ms", "max": "200ms"}})
        eventually(lambda: len(kafka.dead(topic)) == 1, every=0.2)
        eventually(lambda: consumer.records("completed") == [good])
        assert consumer.calls() == {good: [1], failing: [1, 2]}
        consumer.stop()
    finally:
        kafka.stop()


def program(*arguments):
    ran = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True,
                         timeout=30)
    return ran.returncode, ran.stdout + ran.stderr


def config_file(folder, **edit):
    entry = {"name": "payments", "from": {"kind": "rabbitmq", "url": "amqp://x", "queue": "q"},
             "unknown": "hold", "dead_letter": "reject", **edit}
    path = folder / "semel.yaml"
    path.write_text(json.dumps({"store": {"kind": "memory"}, "consume": [entry]}, indent=1))
    return path


@pytest.mark.parametrize("edit, complaint", [
    ({"to": "http://127.0.0.1:1/"}, "consume 'payments' has a `to`"),
    ({"name": "others"}, "there is no 'payments' under consume"),
    ({"unknown": "probe"}, "probe asks a handler over HTTP"),
    ({"upstream_timeout": "3s"}, "max_execution limits how long"),
    ({"outcomes": {"retry": ["409"]}}, "consume[0].outcomes: allowed only with to"),
    ({"headers": ["X-Test"]}, "consume[0].headers: allowed only with to"),
    ({"completes": "executor"}, "postgres"),
])
def test_what_does_not_fit_is_said(tmp_path, edit, complaint):
    code, said = program(PROGRAM, config_file(tmp_path, **edit), "payments", "blocking")
    assert code == 2 and complaint in said, said


def test_the_program_semel_leaves_such_an_entry_alone_and_says_so(tmp_path):
    path = config_file(tmp_path)
    code, said = program(binary(), "consume", "--config", path)
    assert code == 2 and f"{path}:6: consume 'payments': to: required" in said, said
    code, said = program(binary(), "config", "check", path)
    assert code == 0 and "consume 'payments' has no to" in said, said
