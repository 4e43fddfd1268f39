"""The SQL functions on records that gateways read and write too: what they leave alone, what they note, whom
they tell."""

from harness.servers.postgres_nodes import apply_schema, start_node
from harness.semel import eventually
from harness.peers.sql_app import lease_runs_out, raises


def test_who_waits_in_another_process_is_told_when_it_commits_and_nobody_else(world, app):
    a, listener = app(), app()
    listener.run("LISTEN semel")
    listener.commit()
    for key, ends in (("completed", a.complete), ("released", a.release), ("nobody waits", a.complete)):
        claim = a.claim(key)
        a.commit()
        if key != "nobody waits":
            world.execute("UPDATE semel.records SET awaited = true WHERE key = %s", key)
        ends(claim.held)
        listener.connection.poll()
        assert not listener.connection.notifies  # not before the commit
        a.commit()
        listener.run("SELECT 1")
        listener.commit()
        told = [(notice.channel, notice.payload) for notice in listener.connection.notifies]
        listener.connection.notifies.clear()
        assert told == ([] if key == "nobody waits" else [("semel", claim.record.hex())])
    assert world.one("SELECT count(*) FROM semel.records WHERE awaited") == 0


def test_who_waits_for_a_claim_is_told_when_another_takes_it_over(world, app):
    a, b, listener = app(), app(), app()
    listener.run("LISTEN semel")
    listener.commit()
    claim = a.claim()
    a.commit()
    world.execute("UPDATE semel.records SET awaited = true")
    lease_runs_out(world)
    assert b.claim(unknown="retry").verdict == "execute"
    b.commit()
    listener.run("SELECT 1")
    assert [notice.payload for notice in listener.connection.notifies] == [claim.record.hex()]


def test_a_key_claimed_anew_leaves_nothing_of_its_old_answer_behind(world, app):
    a = app()
    claim = a.claim()
    a.complete(claim.held, 200, [], b"old")
    a.commit()
    world.execute("""
        INSERT INTO semel.answers SELECT * FROM semel.answers;
        DELETE FROM semel.answers a WHERE a.tableoid <> 'semel.answers'::regclass;
        INSERT INTO semel.chunks SELECT id, token, 0, 'old', 0 FROM semel.records;
        UPDATE semel.records SET flags = 16, expires_at = 1, tombstone_until = 1""")
    assert a.claim().attempt == 1
    a.commit()
    assert world.one("SELECT count(*) FROM semel.answers") == 0
    assert world.one("SELECT count(*) FROM semel.chunks") == 0


def test_what_a_gateway_wrote_is_left_alone_and_what_sql_did_is_noted(world, app):
    a = app()
    claim = a.claim()
    a.commit()
    world.execute("UPDATE semel.records SET rest = 'as the gateway wrote it', noted = NULL, flags = flags | 2")
    a.complete(claim.held)
    a.commit()
    rest, noted, flags = world.one("SELECT rest, noted, flags FROM semel.records")
    assert bytes(rest) == b"as the gateway wrote it"
    at, to, attempt, note = noted.split(" ", 3)
    assert (int(to), int(attempt), note) == (3, 1, "completed by semel") and int(at) > 1_600_000_000_000
    assert flags == 2


def test_the_notes_do_not_grow_without_bound(world, app):
    a = app()
    for attempt in range(1, 30):
        claim = a.claim()
        assert claim.attempt == attempt
        a.release(claim.held, f"line\nbreak {attempt} " + "x" * 5000)
    lines = a.run("SELECT noted FROM semel.records")[0][0].split("\n")
    assert len(lines) == 16
    assert all(len(line) < 240 for line in lines)
    assert lines[-1].split(" ", 3)[3].startswith("line break 29 xxx")


def test_every_write_gives_a_version_that_was_never_there(world, app):
    a = app()
    seen = set()
    for end in (a.release, a.complete):
        claim = a.claim()
        seen.add(a.run("SELECT version FROM semel.records")[0][0])
        end(claim.held)
        seen.add(a.run("SELECT version FROM semel.records")[0][0])
    assert len(seen) == 4


def test_a_gateway_sweeps_what_sql_claimed_and_sql_goes_on_from_there(world, app, start_gateway):
    a = app()
    kept, gone = a.claim("kept", fingerprint=b"tea"), a.claim("gone", ttl="1 second")
    a.complete(gone.held)
    a.commit()
    lease_runs_out(world)
    world.execute("UPDATE semel.records SET expires_at = 1, tombstone_until = 1, due_at = 1 WHERE key = 'gone'")
    gateway = start_node(start_gateway, world.url, {"name": "orders", "path": "/orders"})
    eventually(lambda: world.execute("SELECT key, state FROM semel.records") == [("kept", 5)])
    shown = gateway.record("kept")
    assert [line["note"] for line in shown["history"]] == ["claimed", "its owner is gone"]
    assert a.claim("kept", fingerprint=b"coffee", unknown="retry").verdict == "mismatch"
    again = a.claim("kept", fingerprint=b"tea", unknown="retry")
    assert (again.verdict, again.attempt) == ("execute", 2)
    a.complete(again.held, 200, [], b"made")
    a.commit()
    with raises("SM001"):
        a.complete(kept.held)
    shown = gateway.record("kept")
    assert (shown["state"], shown["attempt"], shown["reason"]) == ("completed", 2, "completed by semel")


def test_where_no_gateway_runs_expired_records_are_removed_by_a_cron_job(world, app):
    """Runs the statement from docs/sql.md."""
    a = app()
    a.complete(a.claim("expired").held)
    a.complete(a.claim("entombed", tombstone="1 hour").held)
    a.complete(a.claim("fresh").held)
    a.commit()
    world.execute("UPDATE semel.records SET expires_at = 1, due_at = 1 WHERE key <> 'fresh'")
    world.execute("UPDATE semel.records SET tombstone_until = 1 WHERE key = 'expired'")
    world.execute("SELECT semel.remove_expired(1000), semel.keep_days()")
    assert world.execute("SELECT key FROM semel.records ORDER BY key") == [("entombed",), ("fresh",)]
    assert a.claim("entombed").verdict == "expired"


def test_an_encrypted_answer_is_never_replayed_as_something_else(world, app):
    a = app()
    a.complete(a.claim().held)
    a.commit()
    world.execute("UPDATE semel.answers SET sealed_key = 'k1', status = 0, body = ''")
    with raises("SM004") as raised:
        a.claim()
    assert "encrypted" in str(raised.value)


def test_a_gateways_large_and_omitted_bodies_are_told_apart(world, app):
    a = app()
    claim = a.claim()
    a.complete(claim.held, 200, [], b"")
    a.commit()
    world.execute("UPDATE semel.records SET flags = 16")
    world.execute("INSERT INTO semel.chunks SELECT id, token, n, convert_to('chunk' || n, 'UTF8'), 0 "
                  "FROM semel.records, generate_series(0, 11) n")
    assert a.claim().body == b"".join(b"chunk%d" % n for n in range(12))
    a.commit()
    world.execute("UPDATE semel.records SET flags = 4")
    again = a.claim()
    assert (again.status, again.body) == (200, None)


def test_the_schema_may_have_another_name(postgres):
    url = postgres.create_database("elsewhere")
    apply_schema(url, "--schema", "once")
    postgres.execute("DROP ROLE IF EXISTS elsewhere", database="postgres")
    postgres.execute("CREATE ROLE elsewhere LOGIN", database="postgres")
    postgres.execute("SELECT once.allow('elsewhere', 'acme', 'orders')", database="elsewhere")
    [(record, token)] = postgres.execute("SELECT record, token FROM once.claim('acme', 'orders', 'k')",
                                         database="elsewhere", user="elsewhere")
    postgres.execute("SELECT once.complete(%s, %s, 200, '[]', 'made')", record, token, database="elsewhere", user="elsewhere")
    assert postgres.execute("SELECT verdict, headers FROM once.claim('acme', 'orders', 'k')", database="elsewhere",
                            user="elsewhere") == [("replay", [])]
