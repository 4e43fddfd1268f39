"""The tables of rules that C++ and SQL share, against the SQL functions on a real server.
tests/core/transition_vectors_test.cc, tests/core/expiry_vectors_test.cc and tests/execution/header_vectors_test.cc run
the same tables: neither can drift from the other unnoticed."""

import hashlib
import json

import psycopg2
import pytest

from harness import TESTS

TABLE = json.loads((TESTS / "vectors/transitions.json").read_text())
EXPIRY = json.loads((TESTS / "vectors/expiry.json").read_text())
HEADERS = json.loads((TESTS / "vectors/headers.json").read_text())
NOW = 1_700_000_000_000
NEVER = 2**63 - 1
STATES = ["", "queued", "in_progress", "completed", "released", "unknown", "tombstone"]
RESULTS = ["none", "succeeded", "failed"]
PAYLOADS = ["pay 10", "pay 11"]
EVENTS = ("claim", "complete", "release")
SCOPE = ("default", "tenant", "operation", "k")


@pytest.fixture(scope="module")
def session(new_database):
    """A session whose database believes that it is NOW, so that rows may stand on the very moment."""
    connection = new_database().connect()
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE OR REPLACE FUNCTION semel.now_ms() RETURNS bigint LANGUAGE sql VOLATILE "
                       f"AS 'SELECT {NOW}::bigint'")
        yield cursor
    connection.close()


def with_changes(fields, changes):
    unknown = set(changes) - set(fields)
    assert not unknown, f"a row speaks of {unknown}, which is not known here"
    return {**fields, **changes}


def token(letter):
    return letter.encode() * 16


def time(value):
    return NEVER if value == "never" else NOW + value


def duration(value):
    return NEVER if value == "never" else value


def shown(value, base=0):
    return "never" if value == NEVER else value - base


def answer(text):
    """status|headers|body as what complete() takes."""
    status, header, body = text.split("|", 2)
    headers = [header.split(": ", 1)] if header else []
    return int(status), json.dumps(headers), body.encode()


def put(cursor, record_id, was):
    due = {"queued": "lease", "in_progress": "lease", "completed": "expires", "released": "expires",
           "unknown": "hold_until", "tombstone": "tombstone_until"}[was["state"]]
    day = version = None
    if was["answer"]:
        status, header, body = was["answer"].split("|", 2)
        day, version = NOW // 86_400_000, 7
        cursor.execute("SELECT semel.put_answer(%s, %s, %s, %s, %s, %s, 0, '', '')",
                       (record_id, version, day, int(status),
                        (header + "\r\n" if header else "").encode(), body.encode()))
    cursor.execute(
        "INSERT INTO semel.records VALUES (" + ", ".join(["%s"] * 28) + ")",
        (record_id, 7, STATES.index(was["state"]), was["attempt"], token(was["token"]),
         hashlib.sha256(was["payload"].encode()).digest(), time(was["lease"]), time(was["created"]),
         time(was["updated"]), time(was["expires"]), time(was["tombstone_until"]),
         time(was["hold_until"]), duration(was["ttl"]), duration(was["tombstone"]), duration(was["hold_for"]),
         time(was[due]),
         was["only_auth"] * 1 + was["from_creation"] * 2, RESULTS.index(was["result"]),
         was["response_version"], day, version, False, SCOPE[1], SCOPE[2], SCOPE[3],
         was["note"] or None, None, time(was["updated"]) if was["state"] == "unknown" else None))


def read(cursor, record_id):
    cursor.execute(
        "SELECT state, attempt, token, fingerprint, lease_until, created_at, updated_at, expires_at, "
        "tombstone_until, hold_until, ttl, tombstone, hold_for, flags, result, response_version, "
        "answer_day, answer_version, noted, due_at, unknown_since FROM semel.records WHERE id = %s", (record_id,))
    row = cursor.fetchone()
    if row is None:
        return None
    (state, attempt, held, print_, lease, created, updated, expires, tombstone_until, hold_until, ttl,
     tombstone, hold_for, flags, result, response_version, day, version, noted, due_at,
     unknown_since) = row
    fields = {
        "state": STATES[state], "attempt": attempt, "token": bytes(held)[:1].decode(),
        "payload": next(p for p in PAYLOADS if hashlib.sha256(p.encode()).digest() == bytes(print_)),
        "lease": shown(lease, NOW), "created": shown(created, NOW), "updated": shown(updated, NOW),
        "expires": shown(expires, NOW), "tombstone_until": shown(tombstone_until, NOW),
        "hold_until": shown(hold_until, NOW), "ttl": ttl, "tombstone": tombstone,
        "hold_for": shown(hold_for), "from_creation": bool(flags & 2), "only_auth": bool(flags & 1),
        "response_version": response_version, "result": RESULTS[result], "answer": "",
        "note": noted.split("\n")[-1].split(" ", 3)[-1] if noted else ""}
    assert due_at == {1: lease, 2: lease, 3: expires, 4: expires, 5: hold_until, 6: tombstone_until}[state]
    assert unknown_since == (updated if state == 5 else None)
    assert (day is None) == (version is None)
    if version is not None:
        cursor.execute("SELECT status, headers, body, day FROM semel.answers WHERE id = %s AND version = %s",
                       (record_id, version))
        [(status, headers, body, its_day)] = cursor.fetchall()
        assert its_day == day
        fields["answer"] = f"{status}|{bytes(headers).decode().removesuffix(chr(13) + chr(10))}|{bytes(body).decode()}"
    return fields


def happen(cursor, record_id, kind, said):
    """Returns the verdict for the caller, and the answer of a replay."""
    try:
        if kind == "claim":
            cursor.execute(
                "SELECT verdict, record, token, attempt, status, headers, body FROM semel.claim("
                "'tenant', 'operation', 'k', %s, lease => %s * interval '1 ms', ttl => %s * interval '1 ms', "
                "tombstone => %s * interval '1 ms', unknown => %s, response_version => %s, token => %s)",
                (said["payload"].encode(), said["lease"], said["ttl"], said["tombstone"], said["unknown"],
                 said["response_version"], token(said["token"])))
            verdict, record, held, attempt, status, headers, body = cursor.fetchone()
            assert bytes(record) == record_id
            assert (held is not None) == (verdict == "execute")
            assert (status is not None) == (verdict == "replay")
            return verdict, None if status is None else (status, headers, bytes(body))
        if kind == "complete":
            cursor.execute("SELECT semel.complete(%s, %s, %s, %s, %s)",
                           (record_id, token(said["token"]), *answer(said["answer"])))
        else:
            cursor.execute("SELECT semel.release(%s, %s, %s)",
                           (record_id, token(said["token"]), said["reason"]))
        return "done", None
    except psycopg2.Error as error:
        # SM003 is "done" for whoever asks; it is an error so that no effect beside it commits.
        return {"SM001": "stale", "SM003": "done"}[error.pgcode], None


def each(rows):
    return pytest.mark.parametrize("row", rows, ids=[row["name"].replace(" ", "-") for row in rows])


def empty(cursor):
    """No records; the id of the one that the rows are about."""
    cursor.execute("DELETE FROM semel.records; DELETE FROM ONLY semel.answers")
    cursor.execute("SELECT semel.record_id(%s, %s, %s, %s)", SCOPE)
    return bytes(cursor.fetchone()[0])


@each(TABLE["rows"])
def test_the_row_holds_in_sql(session, row):
    [kind] = set(row) - {"name", "was", "told", "then"}
    assert kind in EVENTS, "a row with an event that is not known here"
    record_id = empty(session)
    before = with_changes(TABLE["record"], row["was"] or {})
    if row["was"] is not None:
        put(session, record_id, before)
    session.execute("SELECT xmin, version FROM semel.records")
    written = session.fetchall()

    told, replayed = happen(session, record_id, kind, with_changes(TABLE[kind], row[kind]))

    assert told == row["told"]
    after = read(session, record_id)
    session.execute("SELECT xmin, version FROM semel.records")
    if not row["then"]:
        assert session.fetchall() == written, "nothing was to be written"
    else:
        assert after == with_changes(before, row["then"])
        assert session.fetchall() != written
    if told == "replay":
        status, headers, body = answer(after["answer"])
        assert replayed == (status, json.loads(headers), body)


def test_the_table_is_whole():
    assert len(TABLE["rows"]) >= 70
    assert len({row["name"] for row in TABLE["rows"]}) == len(TABLE["rows"])


def put_anew(cursor, row):
    """The record of a row of expiry.json, and nothing else. Its id."""
    record_id = empty(cursor)
    was = with_changes(with_changes(TABLE["record"], EXPIRY["record"]), row["was"])
    if was["state"] == "completed":
        was |= {"answer": "200|A: b|ok", "result": "succeeded"}
    put(cursor, record_id, was)
    return record_id


def value(cursor, statement, *arguments):
    cursor.execute(statement, arguments)
    [(found,)] = cursor.fetchall()
    return found


@each(EXPIRY["rows"])
def test_the_row_expires_in_sql(session, row):
    record_id = put_anew(session, row)
    is_due = row["due"] != "never" and row["due"] <= 0
    due = value(session, "SELECT semel.due_ids(%s, 10)", NOW)
    assert [bytes(one) for one in due or []] == [record_id] * is_due
    # await_batch() returns the ids whose claim is over.
    session.execute("SELECT id FROM semel.await_batch(ARRAY[%s], ARRAY[%s])", (record_id, token("a")))
    assert (session.fetchall() == []) == row["running"]
    assert value(session, "SELECT semel.remove_expired(10)") == (row["sweep"] == "removed")
    assert value(session, "SELECT count(*) FROM semel.records") == (row["sweep"] != "removed")

    told, _ = happen(session, put_anew(session, row), "claim", TABLE["claim"])
    assert told == row["claim"]


@each(EXPIRY["set_forward"])
def test_sql_removes_nothing_that_only_the_step_of_a_clock_has_ended(session, row):
    put_anew(session, row)
    assert value(session, "SELECT semel.remove_expired(10, %s)", NOW - row["lag"]) == (row["sweep"] == "removed")
    assert value(session, "SELECT count(*) FROM semel.records") == (row["sweep"] != "removed")


@each(EXPIRY["ends"])
def test_a_record_that_ends_in_sql_gets_its_times(session, row):
    record_id = put_anew(session, row)
    kind = {"complete": "complete", "release": "release", "lose": "claim"}[row["event"]]
    told, _ = happen(session, record_id, kind, TABLE[kind])
    assert told == ("unknown" if kind == "claim" else "done")
    after = read(session, record_id)
    due = shown(value(session, "SELECT due_at FROM semel.records"), NOW)
    assert {name: after[name] for name in ("expires", "tombstone_until", "hold_until")} | {"due": due} == row["then"]


def is_kept(cursor, name):
    return bytes(value(cursor, "SELECT semel.header_lines(%s)", json.dumps([[name, "v"]]))) != b""


@pytest.mark.parametrize("kind", ["connection", "ours", "moment", "credentials", "prefixes", "kept"])
def test_sql_keeps_the_headers_that_the_table_says(session, kind):
    names = HEADERS[kind] + ([prefix + "Limit" for prefix in HEADERS[kind]] if kind == "prefixes" else [])
    wrong = [spelled for name in names for spelled in (name, name.lower(), name.upper())
             if is_kept(session, spelled) != (kind == "kept")]
    assert names and not wrong


def test_the_tables_of_expiry_and_headers_are_whole():
    assert [len(EXPIRY[section]) >= n for section, n in (("rows", 25), ("set_forward", 10), ("ends", 15))] == [True] * 3
    assert {row["was"].get("state", "in_progress") for row in EXPIRY["rows"]} == set(STATES[1:])
