"""`semel relay`: what is in the outbox reaches its destination."""

import base64
import collections
import hashlib
import hmac
import json
import signal
import statistics
import struct
import subprocess
import threading
import time

import pytest

from harness.clients.http_client import TIME_SCALE, TIMEOUT
from harness.peers.receiver import Receiver
from harness.relay import Relay, semel
from harness.semel import binary, eventually


@pytest.fixture
def start_receiver():
    started = []

    def start(*arguments):
        started.append(Receiver(*arguments))
        return started[-1]
    yield start
    for one in started:
        one.down()


@pytest.fixture
def start_relay(database):
    started = []

    def start(destinations, **keys):
        started.append(Relay(database.url, destinations, **keys))
        return started[-1].start()
    yield start
    for one in started:
        one.discard()


def enqueue(database, destination, what, ordering_key=None, headers=None, record=None):
    return database.one("SELECT semel.enqueue(%s, %s, %s, %s, %s)", destination,
                        json.dumps(what).encode(), ordering_key, json.dumps(headers or {}), record)


def sized(data):
    return struct.pack("<I", len(data)) + data


def derived(record, label):
    """docs/formats.md, "Derived key"."""
    digest = hashlib.sha256(sized(b"semel derived key 1") + bytes(record) + sized(label.encode()))
    return base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")


def is_empty(database):
    return eventually(lambda: database.one(
        "SELECT NOT EXISTS (SELECT FROM semel.outbox) AND NOT EXISTS (SELECT FROM semel.outbox_lanes)"))


def rows(database, *more):
    return json.loads(semel("outbox", "ls", "--url", database.url, "--json", *more))


def label_of(cursor):
    """Returns the label of the message that was enqueued in this transaction, which is still open."""
    cursor.execute("SELECT 'outbox/' || id || '/' || enqueued_at FROM semel.outbox")
    return cursor.fetchone()[0]


def test_a_delivery_is_a_cloudevent_where_that_is_configured(database, start_receiver, start_relay):
    receiver = start_receiver()
    start_relay({"hook": {"url": receiver.url, "cloudevents": {"type": "order.changed"}}})
    enqueue(database, "hook", {"a": 1}, "k", {"ce-subject": "7"})
    receiver.wait_accepted(1)
    [delivery] = receiver.accepted
    said = {name.lower(): value for name, value in delivery.headers.items()
            if name.lower().startswith("ce-")}
    assert said.pop("ce-time").endswith("Z")
    assert said == {"ce-specversion": "1.0", "ce-id": delivery.key, "ce-type": "order.changed",
                    "ce-source": "urn:semel:outbox", "ce-subject": "7", "ce-partitionkey": "k"}
    assert delivery.json == {"a": 1}


def test_a_message_arrives_as_it_was_enqueued(database, start_receiver, start_relay):
    receiver = start_receiver()
    start_relay({"hook": {"url": receiver.url + "?a=b", "headers": {"Authorization": "Bearer s3cret",
                                                                     "X-From": "relay"}}})
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT semel.enqueue('hook', %s)", (b'{"order": 7}',))
        label = label_of(cursor)
    receiver.wait_accepted(1)
    [plain] = receiver.arrived
    assert plain.json == {"order": 7} and plain.path == "/in?a=b"
    assert plain.headers["Content-Type"] == "application/json"
    assert plain.headers["Authorization"] == "Bearer s3cret" and plain.headers["X-From"] == "relay"
    identity = database.one("SELECT id FROM semel.outbox_identity")
    assert plain.key == derived(identity, label)

    record = database.one("SELECT record FROM semel.claim('shop', 'orders', 'key')")
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT semel.enqueue('hook', %s, headers => %s, record => %s)",
                       (bytes(range(256)),
                        json.dumps({"Content-Type": "application/octet-stream", "X-From": "me"}), record))
        label = label_of(cursor)
    receiver.wait_accepted(2)
    other = receiver.arrived[-1]
    assert other.body == bytes(range(256))
    assert other.headers["Content-Type"] == "application/octet-stream"
    assert other.headers.get_all("X-From") == ["me"]
    assert other.key == derived(record, label)
    assert other.key == database.one("SELECT semel.derive_key(%s, %s)", record, label)
    is_empty(database)


def test_a_fresh_message_is_delivered_promptly(database, start_receiver, start_relay):
    receiver = start_receiver()
    start_relay({"d": receiver.url})
    connection = database.connect()
    connection.autocommit = True

    def waits():
        """The relay has nothing to do and holds the lock that says so."""
        return database.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
                            "AND mode = 'ExclusiveLock'") == 1

    took = []
    with connection.cursor() as cursor:
        for i in range(20):
            eventually(waits)
            begun = time.monotonic()
            cursor.execute("SELECT semel.enqueue('d', 'x', %s)", (f"key {i % 3}" if i % 2 else None,))
            receiver.wait_accepted(i + 1)
            took.append(receiver.accepted[-1].at - begun)
    print(f"from enqueue to arrival: median {statistics.median(took) * 1000:.1f} ms, "
          f"longest {max(took) * 1000:.1f} ms")
    assert statistics.median(took) < 0.1 * TIME_SCALE


def test_a_transaction_that_ends_while_the_relay_lies_down_is_not_overlooked(
        database, start_receiver, start_relay):
    """It enqueued before anybody waited, so it does not notify: it is looked for."""
    receiver = start_receiver()
    start_relay({"d": receiver.url})
    connection = database.connect()
    took = []
    for _ in range(5):
        with connection.cursor() as cursor:
            cursor.execute("SELECT semel.enqueue('d', 'x')")
            cursor.execute("SELECT pg_sleep(0.3)")
            connection.commit()
        begun = time.monotonic()
        receiver.wait_accepted(len(took) + 1)
        took.append(time.monotonic() - begun)
    assert statistics.median(took) < 0.5 * TIME_SCALE


def test_order_is_kept_while_deliveries_fail(database, start_receiver, start_relay):
    """No message overtakes a failed one of its own key; other keys go on meanwhile."""
    tries = {}

    def answer(delivery):
        tries[delivery.key] = tries.get(delivery.key, 0) + 1
        return 503 if delivery.json["n"] % 7 == 3 and tries[delivery.key] < 4 else 200
    receiver = start_receiver(answer)
    start_relay({"d": receiver.url})
    with database.connect() as connection, connection.cursor() as cursor:
        for n in range(60):
            cursor.execute("SELECT semel.enqueue('d', %s, %s)",
                           (json.dumps({"n": n, "k": n % 4}).encode(), str(n % 4)))
    receiver.wait_accepted(60)
    for k in range(4):
        assert [d.json["n"] for d in receiver.accepted if d.json["k"] == k] == list(range(k, 60, 4))
    assert len(receiver.accepted) == 60 and max(tries.values()) == 4
    is_empty(database)


def test_what_is_tried_again(database, start_receiver, start_relay):
    statuses = [408, 409, 425, 429, 500, 502, 503, 504, 302]
    tries = collections.Counter()

    def answer(delivery):
        tries[delivery.key] += 1
        return delivery.json if tries[delivery.key] < 3 else 204
    receiver = start_receiver(answer)
    start_relay({"d": receiver.url})
    for status in statuses:
        enqueue(database, "d", status)
    receiver.wait_accepted(len(statuses))
    assert list(tries.values()) == [3] * len(statuses)
    is_empty(database)
    assert rows(database) == []


def test_what_is_refused_is_a_dead_letter_at_once_and_the_key_goes_on(database, start_receiver,
                                                                      start_relay):
    statuses = [400, 401, 403, 404, 410, 422]
    receiver = start_receiver(lambda d: d.json)
    start_relay({"d": receiver.url})
    with database.connect() as connection, connection.cursor() as cursor:
        for status in [200, *statuses, 201]:
            cursor.execute("SELECT semel.enqueue('d', %s, 'k')", (str(status).encode(),))
    receiver.wait_accepted(2)
    assert [d.json for d in receiver.arrived] == [200, *statuses, 201]
    is_empty(database)
    dead = rows(database, "--dead")
    assert [(row["state"], row["attempts"], row["last_error"]) for row in dead] == \
        [("dead", 1, f"HTTP status {status}") for status in statuses]


def test_somebody_is_told_of_dead_letters(database, start_receiver, start_relay):
    receiver, told = start_receiver(lambda d: 400), start_receiver()
    relay = start_relay({"d": receiver.url})
    relay.stop()
    secret = b"sixteen bytes or more"
    relay.config["notify"] = {"url": told.url, "secret": "whsec_" + base64.b64encode(secret).decode()}
    relay.start()
    message = enqueue(database, "d", 1)
    told.wait(lambda r: r.accepted)
    [event] = told.accepted
    assert (event.json["type"], event.json["operation"], event.json["attempt"], event.json["count"]) == \
        ("semel.dead-letter", "d", 1, 1)
    key = receiver.arrived[0].key
    assert event.json["key"] == hashlib.sha256(key.encode()).hexdigest()[:16] and key.encode() not in event.body
    assert event.json["reason"] == f"message {message}: HTTP status 400"
    signed = f"{event.headers['webhook-id']}.{event.headers['webhook-timestamp']}.".encode() + event.body
    mac = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert event.headers["webhook-signature"] == f"v1,{mac}"

    relay.stop()
    relay.config["log"] = {**relay.config.get("log", {}), "keys": "full"}
    relay.start()
    enqueue(database, "d", 2)
    told.wait(lambda r: len(r.accepted) == 2)
    assert told.accepted[1].json["key"] == receiver.arrived[1].key


def test_retry_after_is_honoured(database, start_receiver, start_relay):
    receiver = start_receiver(lambda d: (503, {"Retry-After": "1"}) if len(receiver.arrived) < 2 else 200)
    start_relay({"d": receiver.url})
    enqueue(database, "d", 1)
    receiver.wait_accepted(1)
    first, second = receiver.arrived
    assert second.at - first.at >= 0.95


def test_no_answer_in_time_is_tried_again_under_the_same_key(database, start_receiver, start_relay):
    gate = threading.Event()

    def answer(delivery):
        if len(receiver.arrived) == 1:
            gate.wait(TIMEOUT)
        return 200
    receiver = start_receiver(answer)
    start_relay({"d": {"url": receiver.url, "timeout": "200ms"}})
    enqueue(database, "d", 1)
    receiver.wait_accepted(1)
    gate.set()
    assert len(receiver.arrived) == 2 and len({d.key for d in receiver.arrived}) == 1
    is_empty(database)


def test_after_max_attempts_it_is_a_dead_letter_and_can_be_retried(database, start_receiver,
                                                                   start_relay):
    broken = True
    receiver = start_receiver(lambda d: 503 if broken and d.json != "fine" else 200)
    start_relay({"d": receiver.url}, max_attempts=3)
    with database.connect() as connection, connection.cursor() as cursor:
        for what in ("one", "two", "fine"):
            cursor.execute("SELECT semel.enqueue('d', %s, 'k')", (json.dumps(what).encode(),))
    one = enqueue(database, "d", "three")
    receiver.wait_accepted(1)
    dead = eventually(lambda: len(found := rows(database, "--dead")) == 3 and found)
    assert {row["attempts"] for row in dead} == {3} and {row["state"] for row in dead} == {"dead"}
    assert all("503" in row["last_error"] for row in dead)
    arrived = len(receiver.arrived)
    assert arrived == 10 and [d.json for d in receiver.accepted] == ["fine"]

    broken = False
    assert f"retried {one}\n" in semel("outbox", "retry", "--url", database.url, one)
    receiver.wait_accepted(2)
    assert "retried 2 rows" in semel("outbox", "retry", "--url", database.url, "--all", "--dead",
                                     "--destination", "d")
    receiver.wait_accepted(4)
    # In the order in which they were enqueued, and under the keys that they had.
    assert [d.json for d in receiver.accepted] == ["fine", "three", "one", "two"]
    assert {d.key for d in receiver.arrived[arrived:]} < {d.key for d in receiver.arrived[:arrived]}
    assert rows(database) == []
    semel("outbox", "retry", "--url", database.url, 99999, code=3)


def test_on_dead_block_keeps_a_key_in_order(database, start_receiver, start_relay):
    broken = True
    receiver = start_receiver(lambda d: 400 if broken and d.json == "bad" else 200)
    start_relay({"d": receiver.url}, on_dead="block")
    with database.connect() as connection, connection.cursor() as cursor:
        for what in ("one", "bad", "two"):
            cursor.execute("SELECT semel.enqueue('d', %s, 'k')", (json.dumps(what).encode(),))
    enqueue(database, "d", "another", "another key")
    enqueue(database, "d", "bad")
    receiver.wait_accepted(2)
    blocked = eventually(lambda: len(found := rows(database, "--dead")) == 3 and found)
    assert sorted(row["state"] for row in blocked) == ["blocked", "blocked", "dead"]
    assert sorted(d.json for d in receiver.accepted) == ["another", "one"]
    broken = False
    semel("outbox", "retry", "--url", database.url, blocked[0]["id"])
    receiver.wait_accepted(4)
    assert [d.json for d in receiver.accepted if d.json != "another"] == ["one", "bad", "two"]


def test_drop_removes_and_says_so(database, start_receiver, start_relay):
    ids = [enqueue(database, "nowhere", n, "k") for n in range(3)] + [enqueue(database, "d", 3)]
    semel("outbox", "drop", "--url", database.url, ids[0], code=2)
    assert len(rows(database)) == 4
    assert json.loads(semel("outbox", "drop", "--url", database.url, "--yes", "--json", ids[1])) == \
        {"dropped": [ids[1]]}
    assert "dropped 2 rows" in semel("outbox", "drop", "--url", database.url, "--yes", "--all",
                                     "--destination", "nowhere")
    assert [row["id"] for row in rows(database)] == [ids[3]]
    semel("outbox", "drop", "--url", database.url, "--yes", "--all", ids[3], code=2)
    receiver = start_receiver()
    start_relay({"d": receiver.url, "nowhere": receiver.url})
    receiver.wait_accepted(1)
    is_empty(database)
    assert len(receiver.arrived) == 1


def test_messages_for_an_unknown_destination_wait(database, start_receiver, start_relay):
    receiver = start_receiver()
    enqueue(database, "typo", 1)
    enqueue(database, receiver.url, 2)  # a URL is a name like any other
    relay = start_relay({"d": receiver.url})
    enqueue(database, "d", 3)
    receiver.wait_accepted(1)
    eventually(lambda: relay.stderr().count("not configured") == 2)
    assert [d.json for d in receiver.arrived] == [3]
    assert [(row["state"], row["attempts"]) for row in rows(database)] == [("waiting", 0)] * 2
    relay.stop()
    start_relay({"d": receiver.url, "typo": receiver.url})
    receiver.wait_accepted(2)


def test_urls_are_delivered_to_where_that_is_allowed(database, start_receiver, start_relay):
    receivers = [start_receiver() for _ in range(3)]
    start_relay({}, allow_urls=True)
    for n in range(12):
        enqueue(database, receivers[n % 3].url, n, "k")
    enqueue(database, "http://", "no URL")
    for at, receiver in enumerate(receivers):
        receiver.wait_accepted(4)
        assert [d.json for d in receiver.accepted] == list(range(at, 12, 3))
    assert [row["destination"] for row in rows(database)] == ["http://"]


def test_a_slow_destination_holds_up_no_other(database, start_receiver, start_relay):
    gate = threading.Event()
    slow = start_receiver(lambda d: gate.wait(TIMEOUT) and 200)
    quick = start_receiver()
    start_relay({"slow": slow.url, "quick": quick.url}, parallel=2)
    for n in range(6):
        enqueue(database, "slow", n)
    slow.wait(lambda r: len(r.arrived) == 2)
    for n in range(20):
        enqueue(database, "quick", n)
    quick.wait_accepted(20)
    assert len(slow.arrived) == 2
    gate.set()
    slow.wait_accepted(6)


def test_no_transaction_is_open_while_it_delivers(database, start_receiver, start_relay):
    gate = threading.Event()
    receiver = start_receiver(lambda d: gate.wait(TIMEOUT) and 200)
    start_relay({"d": receiver.url}, lease="600ms")
    enqueue(database, "d", 1, "k")
    receiver.wait(lambda r: r.arrived)

    def is_idle():  # but for the moment in which it renews its lease
        seen = database.execute("SELECT state, backend_xmin, xact_start IS NULL FROM pg_stat_activity "
                                "WHERE application_name = 'semel relay'")
        return seen and all(row == ("idle", None, True) for row in seen)

    eventually(is_idle)
    # Its lease is renewed meanwhile: no other relay takes the key although it takes long.
    other = start_receiver()
    start_relay({"d": other.url}, lease="600ms")
    before = database.one("SELECT due_at FROM semel.outbox_lanes")
    eventually(lambda: database.one("SELECT due_at FROM semel.outbox_lanes") > before + 600)
    gate.set()
    receiver.wait_accepted(1)
    is_empty(database)
    assert not other.arrived


def test_two_relays_share_the_keys(database, start_receiver, start_relay):
    """Each key is with one of them at a time, and both have work."""
    gates = [threading.Event(), threading.Event()]
    receivers = [start_receiver(lambda d, gate=gate: gate.wait(TIMEOUT) and 200) for gate in gates]
    for receiver in receivers:
        start_relay({"d": receiver.url}, parallel=2)
    for n in range(4):
        enqueue(database, "d", n, f"key {n}")
    for receiver in receivers:
        receiver.wait(lambda r: len(r.arrived) == 2)
    holders = database.execute("SELECT holder, count(*) FROM semel.outbox_lanes GROUP BY holder")
    assert [count for _, count in holders] == [2, 2]
    for gate in gates:
        gate.set()
    is_empty(database)
    assert sorted(d.json for r in receivers for d in r.accepted) == [0, 1, 2, 3]


def test_sigterm_finishes_what_is_delivered_and_gives_the_rest_back(database, start_receiver,
                                                                   start_relay):
    gate = threading.Event()
    receiver = start_receiver(lambda d: gate.wait(TIMEOUT) and 200)
    relay = start_relay({"d": receiver.url}, lease="10m")
    with database.connect() as connection, connection.cursor() as cursor:
        for n in range(5):
            cursor.execute("SELECT semel.enqueue('d', %s, 'k')", (str(n).encode(),))
    receiver.wait(lambda r: r.arrived)
    relay.signal(signal.SIGTERM)
    eventually(lambda: "draining" in relay.stderr())
    assert relay.process.poll() is None
    gate.set()
    assert relay.process.wait(TIMEOUT) == 0
    assert [d.json for d in receiver.arrived] == [0]
    assert [(row["state"], row["attempts"]) for row in rows(database)] == [("waiting", 0)] * 4
    start_relay({"d": receiver.url}, lease="10m")
    receiver.wait_accepted(5)
    assert [d.json for d in receiver.accepted] == [0, 1, 2, 3, 4]


def test_a_paused_relay_is_overtaken_and_disturbs_nothing(database, start_receiver, start_relay):
    """It wakes up with a delivery under way and a lease that is another's: what it does then has been
    done before, under the same key."""
    receiver = start_receiver(lambda d: time.sleep(0.02) or 200)
    paused = start_relay({"d": receiver.url}, lease="600ms")
    with database.connect() as connection, connection.cursor() as cursor:
        for n in range(40):
            cursor.execute("SELECT semel.enqueue('d', %s, 'k')", (str(n).encode(),))
    receiver.wait_accepted(3)
    paused.signal(signal.SIGSTOP)
    start_relay({"d": receiver.url}, lease="600ms")
    receiver.wait_accepted(40)
    is_empty(database)
    paused.signal(signal.SIGCONT)
    eventually(lambda: "a lease was lost" in paused.stderr())
    enqueue(database, "d", 40, "k")
    receiver.wait_accepted(41)
    assert [d.json for d in receiver.firsts()] == list(range(41))
    assert len({d.key for d in receiver.accepted}) == 41
    assert rows(database) == []


def test_a_delivery_whose_report_is_lost_is_made_again_under_the_same_key(database, postgres,
                                                                         start_receiver, start_relay):
    """The database is cut off while a delivery is under way."""
    gate = threading.Event()
    receiver = start_receiver(lambda d: gate.wait(TIMEOUT) and 200)
    relay = start_relay({"d": receiver.url}, lease="600ms")
    enqueue(database, "d", 1, "k")
    receiver.wait(lambda r: r.arrived)
    postgres.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS false', database="postgres")
    postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                     database.name, database="postgres")
    try:
        eventually(lambda: "cannot be reached" in relay.stderr())
        gate.set()
        receiver.wait_accepted(1)
    finally:
        postgres.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS true', database="postgres")
    is_empty(database)
    enqueue(database, "d", 2, "k")
    receiver.wait_accepted(2)
    assert [d.json for d in receiver.firsts()] == [1, 2]


def test_an_https_destination_must_prove_itself(database, upstream, certificates, start_relay):
    trusted = upstream.listen_tls(certificates.upstream)
    liar = upstream.listen_tls(certificates.other_ca.issue("liar", san="IP:127.0.0.1"))
    tls = {"ca": str(certificates.ca.cert)}
    relay = start_relay({"good": {"url": trusted + "/good", "tls": tls},
                         "bad": {"url": liar + "/bad", "tls": tls}})
    for n in range(3):
        enqueue(database, "good", n)
    enqueue(database, "bad", 0)
    upstream.wait_effects(3, path="/good")
    eventually(lambda: "certificate" in relay.stderr())
    assert upstream.arrived(path="/bad") == 0


def test_what_cannot_begin_says_why(database, postgres, tmp_path):
    def refused(*arguments, code):
        done = subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True,
                              timeout=TIMEOUT)
        assert done.returncode == code, done.stderr
        return done.stderr

    assert "--config FILE or --url URL" in refused("relay", code=2)
    assert "--destination" in refused("relay", "--url", database.url, code=2)
    assert "NAME=http" in refused("relay", "--url", database.url, "--destination", "x", code=2)
    empty = postgres.create_database(f"{database.name}_empty")
    assert "semel schema apply" in refused("relay", "--url", empty, "--allow-urls", code=1)
    config = tmp_path / "semel.yaml"
    config.write_text("relay: {destinations: {a: {url: http://a}}}")
    assert "PostgreSQL" in refused("relay", "--config", config, code=2)
    config.write_text(f"store: {{kind: postgres, url: '{database.url}'}}\n"
                      "relay: {destinations: {a: {url: http://a}}}")
    assert "routes: required" in refused("serve", "--config", config, code=2)
