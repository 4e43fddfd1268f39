"""Invalid arguments are refused with a reason and change nothing; valid ones are kept byte for byte."""

import json
import subprocess

import psycopg2.extras
import pytest

from harness.servers.postgres_server import BINARIES
from harness.peers.sql_app import raises, state

# JSON as libraries write it. Read as bytea, a backslash in it is lost, or an error.
JSON = ['{"a":"x\\ny"}', '{"a":"\\u00e9"}', '{"path":"C:\\\\x"}', '{"a":"\\\\\\\\b"}', '{"a": "é \\"1\\""}', '']
FORMS = {  # how it is written in SQL, what a driver is given, and what is kept
    "a string": ("%s", str, str.encode),
    "bytes": ("%s", str.encode, str.encode),
    "text": ("%s::text", str, str.encode),
    "varchar": ("%s::varchar", str, str.encode),
    "json": ("%s::json", str, str.encode),
    "jsonb": ("%s::jsonb", str, lambda text: json.dumps(json.loads(text), ensure_ascii=False).encode()),
    "the driver's JSON": ("%s", lambda text: psycopg2.extras.Json(text, dumps=str), str.encode),
}


def forms():
    return [(*FORMS[name], text) for name in FORMS for text in JSON if text or "json" not in FORMS[name][0]]


def test_a_body_is_kept_byte_for_byte_however_it_is_handed_over(world, app):
    a = app()
    for number, (written, given, kept, text) in enumerate(forms()):
        for call in (f"%s, %s, 200, '[]', {written}", f"record => %s, token => %s, status => 200, body => {written}"):
            key = f"k{number} {call}"
            a.run(f"SELECT semel.complete({call})", *a.claim(key).held, given(text))
            a.commit()
            assert a.claim(key).body == kept(text), (written, text)
            a.rollback()


def test_a_payload_is_kept_byte_for_byte_however_it_is_handed_over(world, app):
    a = app()
    for written, given, kept, text in forms():
        for call in (f"'d', {written}", f"'d', {written}, 'k'", f"destination => 'd', payload => {written}"):
            [(number,)] = a.run(f"SELECT semel.enqueue({call})", given(text))
            [(payload,)] = a.run("SELECT payload FROM semel.outbox WHERE id = %s", number)
            assert bytes(payload) == kept(text), (written, text)
        a.rollback()


def test_what_a_phased_operation_keeps_is_kept_byte_for_byte_however_it_is_handed_over(world, app):
    a = app()
    for number, (written, given, kept, text) in enumerate(forms()):
        [(record, token, arguments)] = a.run(
            f"SELECT record, token, arguments_kept FROM semel.begin_operation('o', 'acme', 'orders', %s, {written}, '')",
            f"phased {number}", given(text))
        assert bytes(arguments) == kept(text), (written, text)
        a.commit()
        a.run("SELECT semel.enter_phase(%s, %s)", record, token)
        a.run(f"SELECT semel.finish_operation(%s, %s, 200, body => {written})", record, token, given(text))
        a.commit()
        assert a.claim(f"phased {number}").body == kept(text), (written, text)
        handed = a.claim(f"handed {number}").held
        [(arguments,)] = a.run(f"SELECT arguments_kept FROM semel.adopt_operation('o', %s, %s, {written})", *handed,
                               given(text))
        assert bytes(arguments) == kept(text), (written, text)
        a.rollback()


CLAIM = "SELECT * FROM semel.claim('t', 'o', '{}') \\gset\n"
LITERALS = {  # a call in psql, and what it keeps
    "positional": (r"""SELECT semel.complete(:'record', :'token', 200, '{}', '{"a":"\n"}');""", rb'{"a":"\n"}'),
    "named": (r"""SELECT semel.complete(record => :'record', token => :'token', status => 200, body => '{"a":"\n"}');""",
              rb'{"a":"\n"}'),
    "prepared": (r"""PREPARE p AS SELECT semel.complete($1, $2, $3, $4, $5);
                     EXECUTE p(:'record', :'token', 200, '{}', '{"a":"\n"}');""", rb'{"a":"\n"}'),
    "bytes": (r"""SELECT semel.complete(:'record', :'token', 200, '{}', '\x7b7d'::bytea);""", b"{}"),
    "no body": ("SELECT semel.complete(:'record', :'token', 200, '{}');", b""),
    "no headers": ("SELECT semel.complete(record => :'record', token => :'token', status => 200);", b""),
}


def test_literals_without_a_type_are_text(database):
    script = "".join(CLAIM.format(key) + call + "\n" for key, (call, _) in LITERALS.items())
    subprocess.run([BINARIES / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", database.url], input=script, text=True,
                   check=True, stdout=subprocess.DEVNULL)
    kept = database.execute("SELECT r.key, a.body FROM semel.records r JOIN semel.answers a USING (id)")
    assert {key: bytes(body) for key, body in kept} == {key: body for key, (_, body) in LITERALS.items()}


@pytest.mark.parametrize("named", [
    {"key": ""}, {"key": "k" * 1025}, {"operation": ""}, {"tenant": None}, {"key": None},
    {"fingerprint": None}, {"lease": "0"}, {"lease": "-1 second"}, {"lease": None}, {"lease": "8 days"},
    {"ttl": "0"}, {"ttl": "46 days"}, {"tombstone": "-1 second"}, {"unknown": "probe"}, {"unknown": None},
    {"token": b"short"}, {"token": bytes(16)}, {"namespace": None}, {"response_version": None}])
def test_a_claim_that_cannot_be_is_refused_with_a_reason(world, app, named):
    with raises("22023") as raised:
        app().claim(**named)
    assert any(word in str(raised.value) for word in named)
    assert world.one("SELECT count(*) FROM semel.records") == 0


@pytest.mark.parametrize("answer, says", [
    ((199, [], b""), "status"), ((100, [], b""), "status"), ((600, [], b""), "status"), ((None, [], b""), "status"),
    ((200, [["X", "a\r\nSet-Cookie: b"]], b""), "line break"), ((200, [["X", "a\nb"]], b""), "line break"),
    ((200, [["X\r\n", "a"]], b""), "name"), ((200, [["", "a"]], b""), "name"), ((200, [["X Y", "a"]], b""), "name"),
    ((200, {"X:": "a"}, b""), "name"), ((200, {"X": 1}, b""), "strings"), ((200, ["X"], b""), "name and a value"),
    ((200, [["X", "a", "b"]], b""), "name and a value"), ((200, "X: a", b""), "headers must be"),
    ((200, None, b""), "headers must be"), ((200, [["X", "a" * 70000]], b""), "64 KiB"), ((200, [], None), "body")])
def test_an_answer_that_cannot_be_is_refused_with_a_reason(world, app, answer, says):
    a = app()
    claim = a.claim()
    a.commit()
    with raises("22023") as raised:
        a.complete(claim.held, *answer)
    assert says in str(raised.value)
    a.rollback()
    assert state(world) == "in_progress"


@pytest.mark.parametrize("held", [(b"short", b"t" * 16), (bytes(32), b"short"), (None, b"t" * 16), (bytes(32), None)])
def test_a_record_or_token_that_cannot_be_one_is_refused(world, app, held):
    a = app()
    for call in (a.complete, a.release, a.guard):
        with raises("22023"):
            call(held)
        a.rollback()
