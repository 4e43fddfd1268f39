"""Grants: PUBLIC may call nothing, and a role may use only the tenants and operations granted to it."""

import subprocess

import psycopg2
import pytest

from harness.servers.postgres_nodes import apply_schema, start_node
from harness.semel import assert_replay, binary, eventually

ORDERS = ("SELECT record, token FROM semel.claim('acme', 'orders', %s)",)
COMPLETE = "SELECT semel.complete(%s, %s, 200)"
RELEASE = "SELECT semel.release(%s, %s)"
GUARD = "SELECT semel.guard(%s, %s)"
NOWHERE = (bytes(32), b"t" * 16)


@pytest.fixture(scope="module")
def roles(postgres):
    for name in ("app", "other", "nobody", "team", "fresh", "gateway", '"Odd Name"'):
        postgres.execute(f"CREATE ROLE {name} LOGIN", database="postgres")
    postgres.execute("CREATE ROLE quiet NOINHERIT LOGIN IN ROLE team", database="postgres")


@pytest.fixture
def granted(roles, database):
    database.execute("SELECT semel.allow('app', 'acme', 'orders')")
    database.execute("SELECT semel.allow('other', 'globex', '*')")
    return database


def refused(database, user, statement, *values):
    """The SQLSTATE and the message with which it is refused."""
    with pytest.raises(psycopg2.Error) as raised:
        database.execute(statement, *values, user=user)
    return raised.value.pgcode, raised.value.diag.message_primary


def claimed(database, user="app", key="k"):
    record, token = database.one("SELECT record, token FROM semel.claim('acme', 'orders', %s)", key, user=user)
    return bytes(record), bytes(token)


def test_public_has_nothing_at_all(granted):
    grantees = granted.execute("""
        SELECT kind, name, privilege_type FROM (
          SELECT 'schema' AS kind, nspname::text AS name, nspacl AS acl, acldefault('n', nspowner) AS usual
          FROM pg_namespace WHERE nspname = 'semel'
          UNION ALL
          SELECT 'relation', c.oid::regclass::text, relacl,
                 acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r'::"char" END, relowner)
          FROM pg_class c WHERE relnamespace = 'semel'::regnamespace AND relkind IN ('r', 'S', 'v', 'm', 'p')
          UNION ALL
          SELECT 'function', oid::regprocedure::text, proacl, acldefault('f', proowner)
          FROM pg_proc WHERE pronamespace = 'semel'::regnamespace) AS things,
        LATERAL aclexplode(coalesce(acl, usual)) AS granted
        WHERE granted.grantee = 0""")
    assert grantees == []


def test_a_role_without_grants_can_call_nothing(granted):
    for statement, values in ((ORDERS[0], ("k",)), (COMPLETE, NOWHERE), (RELEASE, NOWHERE), (GUARD, NOWHERE),
                              ("SELECT semel.derive_key(%s, 'x')", (bytes(32),)),
                              ("SELECT * FROM semel.records", ())):
        assert refused(granted, "nobody", statement, *values)[0] == "42501"


def test_a_granted_role_reaches_no_table_and_no_inner_function(granted):
    for statement in ("SELECT * FROM semel.records", "SELECT * FROM semel.answers", "SELECT * FROM semel.grants",
                      "SELECT * FROM semel.guards", "SELECT nextval('semel.versions')",
                      "SELECT semel.put_answer('', 1, 1, 200, '', '', 0, '', '')",
                      "SELECT semel.allow('app', '*', '*')",
                      "SELECT semel.claim_record('globex', 'o', 'k', '', '30 s', '1 h', '0', 'hold', '1', null, 'default')",
                      "INSERT INTO semel.grants VALUES ('app', '*', '*')"):
        assert refused(granted, "app", statement)[0] == "42501", statement


def test_a_role_claims_only_what_is_granted_to_it(granted):
    claimed(granted)
    assert granted.one("SELECT verdict FROM semel.claim('globex', 'anything', 'k')", user="other") == "execute"
    for user, tenant, operation in (("app", "globex", "orders"), ("app", "acme", "refunds"),
                                    ("app", "acme", "order"), ("app", "acme", "orders2"), ("app", "acme", "*"),
                                    ("app", "*", "orders"), ("app", "acme", "\t*"), ("other", "acme", "orders")):
        assert refused(granted, user, "SELECT verdict FROM semel.claim(%s, %s, 'k')", tenant,
                       operation)[0] == "SM002"
    assert granted.one("SELECT count(*) FROM semel.records") == 2


def test_an_operation_covers_its_paths(granted):
    """`scope: path` makes the operation "name TAB path"."""
    assert granted.one("SELECT verdict FROM semel.claim('acme', E'orders\t/orders/7', 'k')", user="app") == "execute"
    assert refused(granted, "app", "SELECT verdict FROM semel.claim('acme', E'refunds\torders', 'k')")[0] == "SM002"


def test_a_foreign_record_can_be_neither_completed_released_nor_guarded(granted):
    record, token = claimed(granted)
    for statement in (COMPLETE, RELEASE, GUARD):
        assert refused(granted, "other", statement, record, token)[0] == "SM002"
    assert granted.one("SELECT state FROM semel.records") == 2
    granted.execute(COMPLETE, record, token, user="app")
    assert granted.one("SELECT state FROM semel.records") == 3


def test_a_foreign_record_looks_like_none(granted):
    record, token = claimed(granted)
    for statement in (COMPLETE, RELEASE, GUARD):
        code, message = refused(granted, "other", statement, record, token)
        nowhere, as_much = refused(granted, "other", statement, *NOWHERE)
        assert code == nowhere == "SM002"
        assert message.replace(record.hex(), "") == as_much.replace(NOWHERE[0].hex(), "")


def test_a_foreign_record_that_is_locked_is_refused_at_once(granted):
    """Else the wait would tell that it is there."""
    record, token = claimed(granted)
    holder = granted.connect()
    try:
        holder.cursor().execute("SELECT FROM semel.records FOR UPDATE")
        with granted.connect("other") as asking, asking.cursor() as cursor:
            cursor.execute("SET statement_timeout = '500ms'")
            with pytest.raises(psycopg2.Error) as raised:
                cursor.execute(COMPLETE, (record, token))
            assert raised.value.pgcode == "SM002"
    finally:
        holder.close()


def test_a_role_uses_the_grants_of_the_roles_it_is_in(roles, database):
    database.execute("SELECT semel.allow('team', 'acme', 'orders')")
    connection = database.connect("quiet")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET ROLE team")  # NOINHERIT: for EXECUTE it has to become the role
            cursor.execute("SELECT verdict FROM semel.claim('acme', 'orders', 'k')")
            assert cursor.fetchone() == ("execute",)
    finally:
        connection.close()


def test_a_grant_taken_back_is_gone_and_with_the_last_one_the_functions(granted):
    granted.execute("SELECT semel.allow('app', 'acme', 'refunds')")
    granted.execute("SELECT semel.disallow('app', 'acme', 'orders')")
    assert refused(granted, "app", ORDERS[0], "k")[0] == "SM002"
    assert granted.one("SELECT verdict FROM semel.claim('acme', 'refunds', 'k')", user="app") == "execute"
    granted.execute("SELECT semel.disallow('app', 'acme', 'refunds')")
    assert refused(granted, "app", ORDERS[0], "k")[0] == "42501"
    assert granted.one("SELECT has_schema_privilege('app', 'semel', 'USAGE')") is False


def test_granting_twice_is_once_and_odd_names_are_names(granted):
    granted.execute("SELECT semel.allow('app', 'acme', 'orders')")
    granted.execute("""SELECT semel.allow('Odd Name', 'it''s', '"orders"')""")
    assert granted.one("SELECT count(*) FROM semel.grants") == 3
    assert granted.one("""SELECT verdict FROM semel.claim('it''s', '"orders"', 'k')""", user="Odd%20Name") == "execute"


@pytest.mark.parametrize("arguments", ["'missing', 'acme', 'orders'", "'public', 'acme', 'orders'",
                                       "'app', 'acme', ''", "'app', null, 'orders'"])
def test_a_grant_that_means_nothing_is_refused(granted, arguments):
    before = granted.one("SELECT count(*) FROM semel.grants")
    with pytest.raises(psycopg2.Error):
        granted.execute(f"SELECT semel.allow({arguments})")
    assert granted.one("SELECT count(*) FROM semel.grants") == before


def test_a_new_role_of_an_old_name_inherits_no_grant(roles, granted):
    granted.execute("SELECT semel.allow('fresh', '*', '*')")
    granted.execute("DROP OWNED BY fresh")
    granted.execute("DROP ROLE fresh")
    granted.execute("CREATE ROLE fresh LOGIN")
    granted.execute("SELECT semel.allow('fresh', 'globex', 'orders')")
    assert refused(granted, "fresh", ORDERS[0], "k")[0] == "SM002"
    assert granted.one("SELECT verdict FROM semel.claim('globex', 'orders', 'k')", user="fresh") == "execute"


def test_an_application_cannot_slip_its_own_objects_under_the_functions(granted):
    """Functions and tables of the caller's own temporary schema and search_path are not used."""
    record, token = claimed(granted)
    connection = granted.connect("other")
    try:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE grants (role regrole, tenant text, operation text)")
            cursor.execute("INSERT INTO grants VALUES ('other', '*', '*')")
            cursor.execute("CREATE TEMP TABLE records AS SELECT %s::bytea AS id, 'globex' AS tenant", (record,))
            cursor.execute("CREATE FUNCTION pg_temp.may_use(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
            cursor.execute("SET search_path = pg_temp, semel, public")
            with pytest.raises(psycopg2.Error) as raised:
                cursor.execute(COMPLETE, (record, token))
            assert raised.value.pgcode == "SM002"
    finally:
        connection.close()


def test_a_type_of_the_callers_own_runs_nothing_with_the_owners_rights(granted):
    """A body or payload may be of several types. A cast of the caller's, to text or to bytea, must not be called for it."""
    record, token = claimed(granted)
    granted.execute("CREATE SCHEMA own AUTHORIZATION app")
    granted.execute("""
        CREATE TYPE own.mine AS (a integer);
        CREATE FUNCTION own.as_text(own.mine) RETURNS text LANGUAGE plpgsql AS $$
          BEGIN INSERT INTO semel.grants VALUES ('app', '*', '*'); RETURN 'x'; END $$;
        CREATE FUNCTION own.as_bytes(own.mine) RETURNS bytea LANGUAGE sql AS $$ SELECT own.as_text($1)::bytea $$;
        CREATE CAST (own.mine AS text) WITH FUNCTION own.as_text AS IMPLICIT;
        CREATE CAST (own.mine AS bytea) WITH FUNCTION own.as_bytes AS IMPLICIT""", user="app")
    assert refused(granted, "app", "SELECT semel.complete(%s, %s, 200, '{}', ROW(1)::own.mine)", record, token) == (
        "22023", "body must be bytea, text, json or jsonb")
    assert refused(granted, "app", "SELECT semel.enqueue('d', ROW(1)::own.mine)") == (
        "22023", "payload must be bytea, text, json or jsonb")
    assert refused(granted, "app", "SELECT semel.begin_operation('o', 'acme', 'orders', 'o', ROW(1)::own.mine, '')") == (
        "22023", "arguments must be bytea, text, json or jsonb")
    assert refused(granted, "app", "SELECT semel.enqueue('d', 7)")[0] == "22023"
    assert granted.one("SELECT count(*) FROM semel.grants WHERE operation = '*' AND role = 'app'::regrole") == 0


def test_the_tenant_of_those_without_one_can_be_granted(roles, database):
    """`tenant: {from: none}` and `semel consume` have the tenant ''."""
    claim = "SELECT verdict FROM semel.claim(%s, 'orders', 'k')"
    database.execute("SELECT semel.allow('app', '', 'orders')")
    assert database.one(claim, "", user="app") == "execute"
    assert refused(database, "app", claim, "acme")[0] == "SM002"
    database.execute("SELECT semel.disallow('app', '', 'orders')")
    assert refused(database, "app", claim, "")[0] == "42501"
    database.execute("SELECT semel.allow('app', 'acme', 'orders')")
    assert refused(database, "app", claim, "")[0] == "SM002"


def test_every_function_for_applications_has_a_fixed_search_path(granted):
    """…and so has every other one that runs with its owner's rights."""
    assert granted.execute("""
        SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'semel'::regnamespace AND prosecdef
        AND NOT coalesce('search_path=semel, pg_temp' = ANY (proconfig), false)""") == []


def test_an_application_may_run_semel_complete(granted):
    """It compares the schema with its own, and reaches no table for that."""
    done = subprocess.run([binary(), "complete", "--once", "--url", granted.url_for("app"), "--operation", "orders",
                           "--to", "http://127.0.0.1:1/"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([binary(), "complete", "--once", "--url", granted.url_for("nobody"), "--operation", "orders",
                           "--to", "http://127.0.0.1:1/"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "permission denied" in done.stderr


# A gateway whose role does not own the schema

ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold"}
# The day on which an answer expires that is given now and kept for a day.
ITS_DAY = "semel.day_of(semel.now_ms() + 86400000)"


@pytest.fixture
def gateways(roles, database):
    database.execute("SELECT semel.allow_gateway('gateway')")
    return database


def refusal(database, start_gateway):
    with pytest.raises(AssertionError) as refused_at_start:
        start_node(start_gateway, database.url_for("gateway"), ROUTE)
    return str(refused_at_start.value)


def test_a_gateway_that_does_not_own_the_schema_serves_and_makes_tables_for_new_days(
        gateways, start_gateway, upstream, key):
    table = f"semel.answers_{gateways.one(f'SELECT {ITS_DAY}')}"
    gateways.execute(f"DROP TABLE {table}")
    node = start_node(start_gateway, gateways.url_for("gateway"), {**ROUTE, "ttl": "24h"})
    eventually(lambda: gateways.one("SELECT to_regclass(%s) IS NOT NULL", table))
    first = node.post("/charges", json={"amount": 1}, key=key)
    assert first.status == 200
    assert_replay(node.post("/charges", json={"amount": 1}, key=key), first)
    assert upstream.effects(key) == 1
    assert gateways.one(f"SELECT count(*) FROM ONLY {table}") == 1
    assert gateways.one("SELECT relowner = 'semel'::regrole FROM pg_class WHERE oid = %s::regclass", table)
    assert "gateway" not in node.stderr()


def test_a_gateway_without_a_right_is_refused_at_start_and_told_which(gateways, start_gateway):
    table = f"semel.answers_{gateways.one(f'SELECT {ITS_DAY}')}"
    gateways.execute(f"REVOKE INSERT ON {table} FROM gateway")
    said = refusal(gateways, start_gateway)
    assert f"no right to INSERT on {table}" in said and "semel.allow_gateway('gateway')" in said
    gateways.execute("SELECT semel.allow_gateway('gateway')")
    gateways.execute("REVOKE EXECUTE ON FUNCTION semel.await_batch FROM gateway")
    assert "EXECUTE semel.await_batch" in refusal(gateways, start_gateway)
    gateways.execute("SELECT semel.disallow_gateway('gateway')")
    said = refusal(gateways, start_gateway)
    assert "permission denied" in said and "semel.allow_gateway('gateway')" in said


def test_a_gateways_role_may_call_functions_that_are_new(gateways):
    gateways.execute("DROP FUNCTION semel.may_lose_at_failover(); "
                     "UPDATE semel.migrations SET checksum = 'another' WHERE number = 0")
    apply_schema(gateways.url)
    assert gateways.one("SELECT semel.missing_rights()", user="gateway") is None
    assert gateways.one("SELECT semel.may_lose_at_failover()", user="gateway") is False
    # The owner's functions remain his alone, and so do the tables of migrations and grants.
    for statement in ("SELECT semel.allow('app', '*', '*')", "SELECT semel.allow_gateway('app')",
                      "UPDATE semel.migrations SET checksum = ''", "INSERT INTO semel.grants VALUES ('app', '*', '*')"):
        assert refused(gateways, "gateway", statement)[0] == "42501", statement


def test_a_role_that_is_an_application_as_well_loses_only_what_is_taken_back(gateways):
    gateways.execute("SELECT semel.allow('gateway', 'acme', 'orders')")
    gateways.execute("SELECT semel.disallow('gateway', 'acme', 'orders')")
    assert gateways.one("SELECT semel.missing_rights()", user="gateway") is None
    gateways.execute("SELECT semel.allow('gateway', 'acme', 'orders')")
    gateways.execute("SELECT semel.disallow_gateway('gateway')")
    claimed(gateways, "gateway")
    assert refused(gateways, "gateway", "SELECT * FROM semel.records")[0] == "42501"


def test_days_that_cannot_be_made_are_logged_and_counted(database, start_gateway, key):
    database.execute("CREATE OR REPLACE FUNCTION semel.keep_days(until bigint DEFAULT 0) RETURNS integer LANGUAGE plpgsql AS "
                     "$$ BEGIN RAISE EXCEPTION 'no room for another day'; END $$")
    node = start_node(start_gateway, database.url, ROUTE)
    eventually(lambda: node.metrics()["semel_store_failures_total"] >= 1)
    eventually(lambda: "call=keep_days" in node.stderr() and "no room for another day" in node.stderr())
    assert node.post("/charges", json={"amount": 1}, key=key).status == 200


def test_the_owner_keeps_its_rights_when_a_grant_is_taken_from_it(database):
    def rights():
        return database.execute(
            "SELECT c.relname, a.privilege_type FROM pg_class c, aclexplode(coalesce(c.relacl, "
            "acldefault('r', c.relowner))) a WHERE c.relnamespace = 'semel'::regnamespace AND c.relkind = 'r' "
            "AND a.grantee = c.relowner UNION ALL "
            "SELECT n.nspname, a.privilege_type FROM pg_namespace n, aclexplode(coalesce(n.nspacl, "
            "acldefault('n', n.nspowner))) a WHERE n.nspname = 'semel' AND a.grantee = n.nspowner ORDER BY 1, 2")
    owner = database.one("SELECT relowner::regrole::text FROM pg_class WHERE oid = 'semel.records'::regclass")
    before = rights()
    database.execute("SELECT semel.allow(%s, 'acme', 'orders')", owner)
    database.execute("SELECT semel.disallow(%s, 'acme', 'orders')", owner)
    assert rights() == before and ("semel", "USAGE") in before
    assert database.one("SELECT count(*) FROM semel.grants") == 0
