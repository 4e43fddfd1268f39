"""Applications enqueue in their own transactions, and in commit order per ordering key."""

import random
import threading

import psycopg2
import psycopg2.errors
import pytest

from harness.peers.receiver import Receiver
from harness.relay import Relay, semel

LEASE_MS = 60_000


def enqueue(cursor, destination, payload, ordering_key=None, headers="{}", record=None):
    cursor.execute("SELECT semel.enqueue(%s, %s, %s, %s, %s)",
                   (destination, payload.encode(), ordering_key, headers, record))
    return cursor.fetchone()[0]


def take(database, who="a", destination="d", slots=100, room=1 << 20, idle=True):
    """[(lane, lease, id, payload)] of a relay that asks now."""
    return [(lane, lease, number, bytes(payload).decode()) for lane, lease, number, payload in
            database.execute("SELECT lane, lease, id, payload "
                             "FROM semel.outbox_take(%s, %s, %s, %s, %s, %s)",
                             [destination], [slots], [room], [idle], who, LEASE_MS)]


def report(database, *reports, who="a"):
    """(lane, lease, id, verdict) each. The leases that were lost."""
    lanes, leases, numbers, verdicts = (list(column) for column in zip(*reports))
    lost = database.execute("SELECT semel.outbox_report(%s, %s, %s, %s, %s, %s, %s)", lanes, leases,
                            [who] * len(lanes), numbers, verdicts, [""] * len(lanes),
                            [0] * len(lanes))
    return [leases[place - 1] for place, in lost]


def renew(database, lane, lease, who="a"):
    """Whether it is still the holder's."""
    return database.execute("SELECT semel.outbox_renew(%s, %s, %s, 1000)", [lane], [lease],
                            [who]) == []


def test_a_message_of_a_transaction_that_is_rolled_back_never_existed(database):
    connection = database.connect()
    with connection.cursor() as cursor:
        enqueue(cursor, "d", "no")
        connection.rollback()
        cursor.execute("SAVEPOINT a")
        enqueue(cursor, "d", "neither", "k")
        cursor.execute("ROLLBACK TO a")
        enqueue(cursor, "d", "yes", "k")
        connection.commit()
    assert [row[3] for row in take(database)] == ["yes"]
    assert database.one("SELECT count(*) FROM semel.outbox_lanes") == 1


def test_trap_27_numbers_are_in_commit_order_per_key(database):
    """A later enqueue under the same key waits for the earlier one, and gets a higher number: a number
    that becomes visible is never lower than one that was seen before."""
    first, second = database.connect(), database.connect()
    with first.cursor() as a, second.cursor() as b:
        one = enqueue(a, "d", "one", "k")
        b.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg2.errors.LockNotAvailable):
            enqueue(b, "d", "two", "k")
        second.rollback()
        other = enqueue(b, "d", "other", "another key")
        unordered = enqueue(b, "d", "unordered")
        second.commit()
        assert one < other < unordered
        assert [row[3] for row in take(database, slots=100)] == ["other", "unordered"]
        first.commit()
        two = enqueue(b, "d", "two", "k")
        second.commit()
    assert two > one
    assert [row[3] for row in take(database)] == ["one", "two"]


def test_many_transactions_that_commit_in_another_order_than_they_began_are_seen_in_order(database):
    """While they run a reader notes what is visible: within a key only ever more at the end."""
    keys, per_writer, writers = ["a", "b", "c"], 25, 6
    done = threading.Event()

    def write(seed):
        dice = random.Random(seed)
        connection = database.connect()
        with connection.cursor() as cursor:
            for i in range(per_writer):
                # One key a transaction: two in different orders would be a deadlock.
                enqueue(cursor, "d", f"{seed}/{i}", dice.choice(keys))
                cursor.execute("SELECT pg_sleep(%s)", (dice.random() / 300,))
                connection.rollback() if dice.random() < 0.2 else connection.commit()

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(writers)]
    seen = {key: [] for key in keys}
    connection = database.connect()
    connection.autocommit = True

    def look(cursor):
        cursor.execute("SELECT ordering_key, array_agg(id ORDER BY id) FROM semel.outbox_rows "
                       "GROUP BY ordering_key")
        for key, numbers in cursor.fetchall():
            assert numbers[:len(seen[key])] == seen[key], "something appeared before what was there"
            seen[key] = numbers

    for thread in threads:
        thread.start()
    with connection.cursor() as cursor:
        threading.Thread(target=lambda: [t.join() for t in threads] and done.set()).start()
        while not done.is_set():
            look(cursor)
        look(cursor)
    assert sum(map(len, seen.values())) > writers * per_writer / 2


def test_trap_27_a_locked_head_is_not_skipped(database):
    """A relay that looks while another has the head of a key locked gets nothing of that key."""
    with database.connect() as connection, connection.cursor() as cursor:
        for text in ("one", "two", "three"):
            enqueue(cursor, "d", text, "k")
        enqueue(cursor, "d", "free", "another key")
    other = database.connect()
    with other.cursor() as cursor:
        cursor.execute("SELECT id, payload FROM semel.outbox_take('{d}', '{1}', '{1000}', '{t}', 'other', 1000)")
        assert [bytes(row[1]) for row in cursor.fetchall()] == [b"one", b"two", b"three"]
        # Not committed yet: locked. And then leased.
        assert [row[3] for row in take(database)] == ["free"]
        other.commit()
        assert take(database) == []


def test_an_open_transaction_keeps_a_relay_from_nothing_that_is_committed(database):
    """An application that has enqueued under a key and takes its time: what was committed under it
    before can be taken, reported and renewed, and what it commits comes after."""
    with database.connect() as connection, connection.cursor() as cursor:
        enqueue(cursor, "d", "before", "k")
    slow = database.connect()
    with slow.cursor() as cursor:
        enqueue(cursor, "d", "after", "k")
        [(lane, lease, number, text)] = take(database)
        assert text == "before"
        assert renew(database, lane, lease)
        assert report(database, (lane, lease, number, "delivered"), (lane, lease, 0, "end")) == []
        assert take(database) == []
        slow.commit()
    database.execute("UPDATE semel.outbox_lanes SET due_at = 0")  # or a moment later
    assert [row[3] for row in take(database)] == ["after"]


def test_only_what_blocks_a_key_unblocks_it(database):
    with database.connect() as connection, connection.cursor() as cursor:
        zero, one, two, three = (enqueue(cursor, "d", text, "k")
                                 for text in ("zero", "one", "two", "three"))

    def retry(number):
        return database.execute("SELECT semel.outbox_retry(%s)", [number]) == [(number,)]

    def drop(number):
        return database.execute("SELECT semel.outbox_drop(%s)", [number]) == [(number,)]

    def block():
        [(lane, lease, number, _), *_] = take(database)
        assert report(database, (lane, lease, number, "blocked")) == []
        return number

    [(lane, lease, _, _), *_] = take(database)
    assert report(database, (lane, lease, zero, "dead"), (lane, lease, 0, "end")) == []
    assert block() == one
    # Messages behind it, and a dead letter that comes back before it, do not unblock the lane.
    assert retry(three) and drop(two) and retry(zero)
    assert take(database) == []
    assert database.execute("SELECT id, state FROM semel.outbox_rows ORDER BY id") == \
        [(zero, "blocked"), (one, "blocked"), (three, "blocked")]
    assert retry(one)
    assert block() == zero
    assert drop(one) and take(database) == []
    assert drop(zero)
    assert [row[3] for row in take(database)] == ["three"]


def test_a_message_that_is_dropped_while_it_is_delivered_blocks_nothing(database):
    with database.connect() as connection, connection.cursor() as cursor:
        first = enqueue(cursor, "d", "first", "k")
        enqueue(cursor, "d", "second", "k")
    [(lane, lease, number, _), *_] = take(database)
    assert number == first
    assert database.execute("SELECT semel.outbox_drop(%s)", [first]) == [(first,)]
    assert report(database, (lane, lease, first, "blocked")) == []
    assert [row[3] for row in take(database)] == ["second"]


def test_what_is_taken_at_once_has_a_bound_in_bytes(database):
    with database.connect() as connection, connection.cursor() as cursor:
        for number in range(4):
            enqueue(cursor, "d", f"{number}" * 400)
        for number in range(9):
            enqueue(cursor, "ordered", f"{number}" * 400, "k")
        enqueue(cursor, "large", "x" * 5000)
        enqueue(cursor, "large", "y")
    assert [row[3][0] for row in take(database, room=1000)] == ["0", "1"]
    assert [row[3][0] for row in take(database, room=1000, idle=False)] == ["2", "3"]
    assert [row[3][0] for row in take(database, destination="ordered", room=1000)] == ["0", "1"]
    # Nothing goes past one that is too large for what is left; alone it is taken.
    assert take(database, destination="large", room=1000, idle=False) == []
    assert [row[3][0] for row in take(database, destination="large", room=1000)] == ["x"]
    assert [row[3] for row in take(database, destination="large", room=1000, idle=False)] == ["y"]


def test_a_relay_whose_lease_ran_out_changes_nothing(database):
    with database.connect() as connection, connection.cursor() as cursor:
        enqueue(cursor, "d", "one", "k")
        enqueue(cursor, "d", "two", "k")
    [(lane, old, one, _), (_, _, two, _)] = take(database, "slow")
    database.execute("UPDATE semel.outbox_lanes SET due_at = 0")  # its lease is over
    [(_, new, _, _), _] = take(database, "quick")
    assert report(database, (lane, new, one, "delivered"), who="quick") == []
    for verdict in ("delivered", "dead", "retry", "blocked", "end"):
        assert report(database, (lane, old, two, verdict), who="slow") == [old]
        # Numbers can come again after a crash of the server: another's name does not fit them.
        assert report(database, (lane, new, two, verdict), who="slow") == [new]
    assert not renew(database, lane, old, "slow") and not renew(database, lane, new, "slow")
    assert database.execute("SELECT id, attempts, holder, state FROM semel.outbox_rows") == \
        [(two, 0, "quick", "leased")]
    # A lease that nobody took over is still good, and a report that was made twice does no harm.
    assert report(database, (lane, new, two, "delivered"), (lane, new, two, "delivered"),
                  (lane, new, 0, "end"), who="quick") == []
    assert report(database, (lane, new, 0, "end"), who="quick") == [new]
    assert database.one("SELECT count(*) FROM semel.outbox_lanes") == 0


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_no_isolation_level_loses_a_message_whose_lane_was_just_removed(database, level):
    """The transaction's snapshot still has the lane that a relay has removed since."""
    with database.connect() as connection, connection.cursor() as cursor:
        enqueue(cursor, "d", "one", "k")
    slow = database.connect(options=f"-c default_transaction_isolation={level.lower().replace(' ', chr(92) + ' ')}")
    with slow.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM semel.outbox_lanes")
        [(lane, lease, number, _)] = take(database)
        report(database, (lane, lease, number, "delivered"), (lane, lease, 0, "end"))
        try:
            enqueue(cursor, "d", "two", "k")
            slow.commit()
        except psycopg2.errors.SerializationFailure:
            assert level != "READ COMMITTED"
            slow.rollback()
            enqueue(cursor, "d", "two", "k")
            slow.commit()
    assert [row[3] for row in take(database)] == ["two"]


def test_bad_arguments_are_refused_where_they_are_made(database):
    def refused(*arguments):
        with pytest.raises((psycopg2.errors.InvalidParameterValue, psycopg2.errors.CheckViolation,
                            psycopg2.errors.NotNullViolation)) as refusal:
            database.execute(f"SELECT semel.enqueue({', '.join(['%s'] * len(arguments))})", *arguments)
        return str(refusal.value)

    assert "object" in refused("d", b"", None, "[]")
    assert "X-A" in refused("d", b"", None, '{"X-A": 1}')
    assert "X-A" in refused("d", b"", None, '{"X-A": "a\\r\\nB: c"}')
    assert "X A" in refused("d", b"", None, '{"X A": "a"}')
    assert "Idempotency-Key" in refused("d", b"", None, '{"Idempotency-Key": "mine"}')
    assert "Content-Length" in refused("d", b"", None, '{"Content-Length": "7"}')
    refused("", b"")
    refused("d" * 1025, b"")
    refused(None, b"")
    refused("d", None)
    refused("d", b"", "k" * 1025)
    refused("d", b"", None, "{}", b"short")
    assert take(database) == []


def test_a_role_enqueues_what_it_was_allowed_to(database):
    database.execute("DO $$ BEGIN CREATE ROLE outbox_app LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        database.execute("SELECT semel.enqueue('d', 'x')", user="outbox_app")
    database.execute("SELECT semel.allow('outbox_app', 'shop', 'orders')")
    assert database.one("SELECT semel.enqueue('d', 'x', 'k')", user="outbox_app") > 0

    def claimed(tenant, operation):
        return database.one("SELECT record FROM semel.claim(%s, %s, 'key')", tenant, operation)
    database.one("SELECT semel.enqueue('d', 'x', record => %s)", claimed("shop", "orders"),
                 user="outbox_app")
    for foreign in (claimed("shop", "refunds"), claimed("other", "orders"), bytes(32)):
        with pytest.raises(psycopg2.Error) as refusal:
            database.execute("SELECT semel.enqueue('d', 'x', record => %s)", foreign, user="outbox_app")
        assert refusal.value.pgcode == "SM002"
    for statement in ("SELECT * FROM semel.outbox", "SELECT * FROM semel.dead_letters",
                      "SELECT * FROM semel.outbox_rows", "SELECT * FROM semel.outbox_identity",
                      "SELECT semel.outbox_take('{d}', '{1}', '{1}', '{t}', 'me', 1)",
                      "SELECT semel.outbox_drop('{1}')", "SELECT semel.outbox_retry('{1}')"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            database.execute(statement, user="outbox_app")


def test_trap_26_enqueue_notifies_only_while_a_relay_waits(database):
    """One NOTIFY in every transaction would make all commits of the database wait for each other."""
    listener = database.connect()
    listener.autocommit = True
    with listener.cursor() as cursor:
        cursor.execute("SELECT semel.outbox_channel()")
        cursor.execute(f'LISTEN "{cursor.fetchone()[0]}"')

        def notified():
            listener.poll()
            count = len(listener.notifies)
            listener.notifies.clear()
            return count

        database.execute("SELECT semel.enqueue('d', 'x')")
        cursor.execute("SELECT 1")
        assert notified() == 0
        cursor.execute("SELECT semel.outbox_lie_down()")
        assert cursor.fetchone() == ("idle",)
        assert database.one("SELECT semel.outbox_lie_down()") == "another"
        database.execute("SELECT semel.enqueue('d', 'x'), semel.enqueue('d', 'x')")
        cursor.execute("SELECT 1")
        assert notified() == 1
        cursor.execute("SELECT semel.outbox_get_up()")
        # A transaction that enqueued while no relay was idle will not notify: no relay becomes idle before its end.
        open_one = database.connect()
        with open_one.cursor() as application:
            enqueue(application, "d", "x")
            cursor.execute("SELECT semel.outbox_lie_down()")
            assert cursor.fetchone() == ("soon",)
            open_one.commit()
        cursor.execute("SELECT semel.outbox_lie_down()")
        assert cursor.fetchone() == ("idle",)


def test_another_schema_has_an_outbox_of_its_own(postgres, database):
    semel("schema", "apply", "--url", database.url, "--schema", "other")
    database.execute("SELECT other.enqueue('d', '{\"in\": \"other\"}', 'k')")
    database.execute("SELECT semel.enqueue('d', '{\"in\": \"semel\"}', 'k')")
    receiver = Receiver()
    relay = Relay(database.url, {"d": receiver.url}, schema="other").start()
    try:
        receiver.wait_accepted(1)
        database.execute("SELECT other.enqueue('d', '{\"in\": \"other\"}', 'k')")
        receiver.wait_accepted(2)
    finally:
        relay.discard()
        receiver.down()
    assert {delivery.json["in"] for delivery in receiver.arrived} == {"other"}
    assert database.one("SELECT count(*) FROM semel.outbox") == 1
    assert database.one("SELECT count(*) FROM other.outbox_rows") == 0
