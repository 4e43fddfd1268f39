-- Functions that applications call inside their own transactions, so that an effect and its record
-- commit together. docs/sql.md says how to use them.
--
-- They repeat the rules of src/core/transition.cc. tests/vectors/transitions.json and expiry.json run
-- against both, so a rule that is changed in only one place fails. A wrong rule here executes a key
-- twice.
--
-- No function waits for another transaction, except complete() and release(), which wait for their
-- own record for two seconds at most (a renewal of its lease locks it for a moment).
-- Times come from clock_timestamp(): a transaction may be hours old.
--
-- SQLSTATE   SM001  stale: another claim holds the record, or it has ended otherwise
--            SM002  not granted to this role, or absent; the caller is not told which
--            SM003  already completed with this token, in an earlier transaction
--            SM004  the stored answer cannot be read here: it is encrypted, or lost

-- Grants -------------------------------------------------------------------------------------------

-- Returns the functions for applications. All of them run with their owner's rights.
CREATE OR REPLACE FUNCTION semel.offered() RETURNS SETOF regprocedure LANGUAGE sql STABLE AS
$$ SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p
   WHERE p.pronamespace = (SELECT relnamespace FROM pg_catalog.pg_class
                           WHERE oid = 'semel.records'::regclass)
     AND p.prosecdef
     AND p.proname IN ('claim', 'complete', 'release', 'guard', 'derive_key', 'enqueue',
                       'begin_operation', 'adopt_operation', 'enter_phase', 'move_operation',
                       'finish_operation', 'renew_operation', 'suspend_operation', 'is_unfinished',
                       'take_abandoned', 'stuck_operations', 'applied_migrations') $$;

-- Lets a role use an operation of a tenant. For the schema's owner. Takes effect at commit.
CREATE OR REPLACE FUNCTION semel.allow(role name, tenant text, operation text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
                WHERE oid = 'semel.records'::regclass);
  offered regprocedure;
BEGIN
  INSERT INTO semel.grants VALUES (quote_ident(allow.role)::regrole, allow.tenant, allow.operation)
  ON CONFLICT DO NOTHING;
  EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', home, allow.role);
  FOR offered IN SELECT semel.offered() LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', offered, allow.role);
  END LOOP;
END $$;

-- Revokes a grant. A role that loses its last grant loses the functions too.
CREATE OR REPLACE FUNCTION semel.disallow(role name, tenant text, operation text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
                WHERE oid = 'semel.records'::regclass);
  offered regprocedure;
BEGIN
  DELETE FROM semel.grants g WHERE g.role = quote_ident(disallow.role)::regrole
    AND g.tenant = disallow.tenant AND g.operation = disallow.operation;
  PERFORM FROM semel.grants g WHERE g.role = quote_ident(disallow.role)::regrole;
  IF FOUND THEN RETURN; END IF;
  PERFORM FROM pg_catalog.pg_class c
  WHERE c.oid = 'semel.records'::regclass AND c.relowner = quote_ident(disallow.role)::regrole;
  IF FOUND THEN RETURN; END IF;  -- the owner's rights do not come from grants
  FOR offered IN SELECT semel.offered() LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %I', offered, disallow.role);
  END LOOP;
  EXECUTE format('REVOKE USAGE ON SCHEMA %s FROM %I', home, disallow.role);
  -- A gateway's role still needs them; a mere member of such a role does not.
  PERFORM FROM pg_catalog.pg_class c, aclexplode(c.relacl) AS granted
  WHERE c.oid = 'semel.nodes'::regclass AND granted.privilege_type = 'INSERT'
    AND granted.grantee = quote_ident(disallow.role)::regrole;
  IF FOUND THEN PERFORM semel.allow_gateway(disallow.role); END IF;
END $$;

-- Revokes all rights of PUBLIC, whenever functions are applied: PostgreSQL lets everybody execute a
-- new function, and default privileges cannot change that for a single schema.
CREATE OR REPLACE FUNCTION semel.close_to_public() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
                WHERE oid = 'semel.records'::regclass);
BEGIN
  EXECUTE format('REVOKE ALL ON SCHEMA %1$s FROM PUBLIC;'
                 'REVOKE ALL ON ALL TABLES IN SCHEMA %1$s FROM PUBLIC;'
                 'REVOKE ALL ON ALL SEQUENCES IN SCHEMA %1$s FROM PUBLIC;'
                 'REVOKE ALL ON ALL ROUTINES IN SCHEMA %1$s FROM PUBLIC', home);
END $$;

-- Returns whether the session's user may use every record: the schema's owner, its members, superusers
-- (members of every role), and gateways' roles (allow_gateway), which can write every record anyway.
-- Checks session_user, since the functions run as the owner. In PL/pgSQL, because it keeps its plans.
CREATE OR REPLACE FUNCTION semel.is_owner() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN pg_has_role(session_user, (SELECT c.relowner FROM pg_catalog.pg_class c
                                    WHERE c.oid = 'semel.records'::regclass), 'MEMBER')
      OR has_table_privilege(session_user, 'semel.records'::regclass, 'UPDATE');
END $$;

-- Tenant and operation are null if they are not valid text; then only the owner may use the record.
CREATE OR REPLACE FUNCTION semel.may_use(tenant text, operation text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF semel.is_owner() THEN RETURN true; END IF;
  IF tenant IS NULL OR operation IS NULL THEN RETURN false; END IF;
  PERFORM FROM semel.grants g JOIN pg_catalog.pg_roles r ON r.oid = g.role
  WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND g.tenant IN ('*', may_use.tenant)
    AND g.operation IN ('*', may_use.operation, split_part(may_use.operation, E'\t', 1));
  RETURN FOUND;
END $$;

-- Helpers ------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION semel.bad_argument(why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = why;
END $$;

-- Converts an application's value to the bytes of a body: bytea unchanged, text and JSON in UTF-8. A
-- literal without a type is text, as everywhere in SQL, so that JSON is kept as written; as bytea, its
-- backslashes would be escapes. Values of other types are refused unread: their casts may be the
-- caller's own, and would run with the owner's rights.
CREATE OR REPLACE FUNCTION semel.bytes_of(value anyelement, name text) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF pg_typeof(value) = 'pg_catalog.bytea'::regtype THEN
    RETURN value;
  ELSIF pg_typeof(value) NOT IN ('pg_catalog.text'::regtype, 'pg_catalog.varchar'::regtype,
                                 'pg_catalog.json'::regtype, 'pg_catalog.jsonb'::regtype) THEN
    PERFORM semel.bad_argument(name || ' must be bytea, text, json or jsonb');
  END IF;
  RETURN convert_to(value::text, 'UTF8');
END $$;

CREATE OR REPLACE FUNCTION semel.ms(duration interval) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT (extract(epoch FROM duration) * 1000)::bigint $$;

-- Compares tokens in a time that does not depend on where they differ.
CREATE OR REPLACE FUNCTION semel.same_token(a bytea, b bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT sha256(a) = sha256(b) $$;

CREATE OR REPLACE FUNCTION semel.random_token() RETURNS bytea LANGUAGE sql VOLATILE AS
$$ SELECT substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
                    FROM 1 FOR 16) $$;

-- Appends a line to records.noted: time, state, attempt, event. Keeps the last 16 lines.
CREATE OR REPLACE FUNCTION semel.note(noted text, at bigint, state integer, attempt integer, what text)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  line text := concat_ws(' ', at, state, attempt,
                         left(regexp_replace(what, '[[:cntrl:]]+', ' ', 'g'), 200));
  lines text[] := string_to_array(noted, E'\n') || line;
BEGIN
  RETURN array_to_string(lines[greatest(cardinality(lines) - 15, 1):], E'\n');
END $$;

-- Makes this transaction's commit wait for the disk (and for the synchronous standby), whatever the
-- application has set for its session: callers rely on a result once they have been told of it.
CREATE OR REPLACE FUNCTION semel.commit_synchronously() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

-- Makes this transaction's commit wait until the synchronous standby has every row that it has seen.
-- Without that, a visible row may be missing on the standby: its writer's wait was cut short, or the
-- primary has recovered from a crash. So this transaction writes to the log too, and its COMMIT
-- returns once the standby has everything before it. pg_current_xact_id() alone would not do: a
-- commit that has written nothing does not wait.
CREATE OR REPLACE FUNCTION semel.commit_on_standby() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') <> '' THEN
    PERFORM semel.commit_synchronously();
    PERFORM pg_logical_emit_message(true, 'semel', '');
  END IF;
END $$;

-- Returns whether this transaction itself completed a row, perhaps inside a savepoint. The row names
-- its transaction (records.completed_in; `writer` is its xmin). age() would not do, since it counts
-- from a number that an earlier call may have fixed. After a restore from a dump, the row may name a
-- number that another transaction has now; `writer` shows that the row was written before this
-- transaction began. Savepoints have later numbers than their transaction.
DROP FUNCTION IF EXISTS semel.written_here(xid);
CREATE OR REPLACE FUNCTION semel.written_here(completed_in xid8, writer xid) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  here xid8 := pg_current_xact_id_if_assigned();
BEGIN
  RETURN coalesce(completed_in = here AND
                  ((writer::text::bigint - here::text::bigint) & 4294967295) < 2147483648, false);
END $$;

-- Headers ------------------------------------------------------------------------------------------

-- Converts [["Name","value"], …] or {"Name":"value", …} to lines of "Name: value" and CR LF. Leaves
-- out headers of the connection, the moment or the session, as src/execution/headers.cc does;
-- tests/vectors/headers.json runs against both.
CREATE OR REPLACE FUNCTION semel.header_lines(headers jsonb) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  pairs jsonb := CASE jsonb_typeof(headers)
    WHEN 'array' THEN headers
    WHEN 'object' THEN coalesce((SELECT jsonb_agg(jsonb_build_array(e.key, e.value))
                                 FROM jsonb_each(headers) AS e), '[]') END;
  pair jsonb;
  lines text := '';
BEGIN
  IF pairs IS NULL THEN
    PERFORM semel.bad_argument('headers must be [["Name","value"], …] or {"Name":"value", …}');
  END IF;
  FOR pair IN SELECT jsonb_array_elements(pairs) LOOP
    IF jsonb_typeof(pair) <> 'array' OR jsonb_array_length(pair) <> 2
       OR jsonb_typeof(pair -> 0) <> 'string' OR jsonb_typeof(pair -> 1) <> 'string' THEN
      PERFORM semel.bad_argument('a header must be a name and a value, both strings');
    ELSIF pair ->> 0 !~ '^[-!#$%&''*+.^_`|~0-9A-Za-z]+$' THEN
      PERFORM semel.bad_argument('the name of a header is empty or has a character that is not allowed');
    ELSIF pair ->> 1 ~ E'[\\x01-\\x08\\x0a-\\x1f\\x7f]' THEN
      PERFORM semel.bad_argument(format('the value of header %s has a line break or another control character',
                                        pair ->> 0));
    END IF;
    CONTINUE WHEN lower(pair ->> 0) IN (
      'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'upgrade',
      'transfer-encoding', 'content-length', 'idempotency-key', 'idempotency-expires',
      'idempotency-replayed', 'idempotency-outcome', 'idempotency-replay', 'idempotency-degraded', 'semel-record',
      'date', 'set-cookie', 'set-cookie2', 'clear-site-data', 'server', 'alt-svc', 'authorization',
      'www-authenticate', 'authentication-info', 'ratelimit', 'ratelimit-policy',
      'request-id', 'x-request-id', 'x-correlation-id', 'x-amzn-requestid', 'x-amzn-trace-id', 'cf-ray',
      'traceparent', 'tracestate', 'age', 'proxy-authorization', 'proxy-authentication-info')
      OR lower(pair ->> 0) ~ '^(ratelimit-|x-ratelimit-|x-rate-limit-)';
    lines := lines || (pair ->> 0) || ': ' || btrim(pair ->> 1, E' \t') || E'\r\n';
  END LOOP;
  IF octet_length(lines) > 65536 THEN
    PERFORM semel.bad_argument('the headers are longer than 64 KiB');
  END IF;
  RETURN convert_to(lines, 'UTF8');
END $$;

-- Converts lines back to [["Name","value"], …].
CREATE OR REPLACE FUNCTION semel.header_pairs(lines bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  readable text;
BEGIN
  BEGIN
    readable := convert_from(lines, 'UTF8');
  EXCEPTION WHEN character_not_in_repertoire THEN
    readable := convert_from(lines, 'LATIN1');  -- an upstream may have sent such bytes
  END;
  RETURN coalesce((
    SELECT jsonb_agg(jsonb_build_array(split_part(line, ': ', 1),
                                       substr(line, strpos(line, ': ') + 2)) ORDER BY number)
    FROM string_to_table(readable, E'\r\n') WITH ORDINALITY AS all_lines (line, number)
    WHERE line <> ''), '[]');
END $$;

-- The record and its answer ------------------------------------------------------------------------

-- Returns the stored answer of a completed record. Its body is null if it was too large to keep.
CREATE OR REPLACE FUNCTION semel.answer_of(was semel.records, OUT status integer, OUT headers jsonb, OUT body bytea)
LANGUAGE plpgsql AS $$
DECLARE
  answer semel.answers;
  place regclass;
BEGIN
  -- In the table of its day, or in the parent if that table did not exist when it was written.
  FOREACH place IN ARRAY ARRAY[semel.answers_of(was.answer_day), 'semel.answers'::regclass] LOOP
    EXECUTE format('SELECT a.* FROM ONLY %s AS a WHERE a.id = $1 AND a.version = $2', place)
    INTO answer USING was.id, was.answer_version;
    EXIT WHEN answer.id IS NOT NULL;
  END LOOP;
  IF answer.id IS NULL OR answer.sealed_key <> '' THEN
    RAISE EXCEPTION USING ERRCODE = 'SM004', MESSAGE = format('the answer of record %s %s',
      encode(was.id, 'hex'), CASE WHEN answer.id IS NULL THEN 'is missing'
                                  ELSE 'is encrypted; only a gateway with the key can read it' END);
  END IF;
  status := answer.status;
  headers := semel.header_pairs(answer.headers);
  body := CASE
    WHEN was.flags & 4 /* body_omitted */ <> 0 THEN NULL
    WHEN was.flags & 16 /* body_spilled */ <> 0 THEN
      (SELECT string_agg(c.bytes, ''::bytea ORDER BY c.index) FROM semel.chunks c
       WHERE c.id = was.id AND c.token = was.token)
    ELSE answer.body END;
END $$;

-- Returns a record that the session's user may use. SM002 does not tell others whether it exists.
CREATE OR REPLACE FUNCTION semel.granted_record(record bytea, token bytea) RETURNS semel.records
LANGUAGE plpgsql AS $$
DECLARE
  was semel.records;
BEGIN
  IF record IS NULL OR length(record) <> 32 THEN
    PERFORM semel.bad_argument('record must be the 32 bytes of a record''s id');
  ELSIF token IS NULL OR length(token) <> 16 THEN
    PERFORM semel.bad_argument('token must be the 16 bytes of a claim''s token');
  END IF;
  SELECT r.* INTO was FROM semel.records r WHERE r.id = granted_record.record;
  IF NOT semel.may_use(was.tenant, was.operation) THEN
    RAISE EXCEPTION USING ERRCODE = 'SM002',
      MESSAGE = format('there is no record %s that %s may use', encode(record, 'hex'), session_user),
      HINT = 'It is gone, or its tenant and operation are not granted: see allow().';
  END IF;
  RETURN was;
END $$;

-- Locks a record, waiting for up to two seconds, and returns it; null if there is none.
CREATE OR REPLACE FUNCTION semel.locked_record(record bytea) RETURNS semel.records
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
  was semel.records;
BEGIN
  SELECT r.* INTO was FROM semel.records r WHERE r.id = locked_record.record FOR UPDATE SKIP LOCKED;
  IF FOUND THEN RETURN was; END IF;
  BEGIN
    SELECT r.* INTO was FROM semel.records r WHERE r.id = locked_record.record FOR UPDATE;
  EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION USING ERRCODE = '55P03',
      MESSAGE = format('record %s is locked by another transaction', encode(record, 'hex')),
      HINT = 'Roll back and repeat the transaction.';
  END;
  RETURN was;
END $$;

CREATE OR REPLACE FUNCTION semel.raise_stale(record bytea, why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'SM001',
    MESSAGE = format('stale token: record %s %s', encode(record, 'hex'), why),
    HINT = 'This attempt has lost its claim. Roll back, so that its effect does not happen, and do not repeat it.';
END $$;

CREATE OR REPLACE FUNCTION semel.raise_done(record bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'SM003',
    MESSAGE = format('record %s was already completed with this token, in an earlier transaction',
                     encode(record, 'hex')),
    HINT = 'The effect has happened. Roll back, so that it does not happen twice, and give the same answer.';
END $$;

-- Notifies other processes that a record's claim has ended, if one of them waits for that.
CREATE OR REPLACE FUNCTION semel.tell(was semel.records) RETURNS void LANGUAGE sql AS
$$ SELECT pg_notify('semel', encode(was.id, 'hex')) WHERE was.awaited $$;

-- Completes a record, as become_completed() of src/core/transition.cc does. The row is locked.
CREATE OR REPLACE FUNCTION semel.make_completed(was semel.records, at bigint, status integer, headers bytea,
                                     body bytea, reason text)
RETURNS semel.records LANGUAGE plpgsql AS $$
DECLARE
  next bigint := nextval('semel.versions');
  -- With `ttl_from: creation` a slow execution may outlive its ttl; the record is then due at once.
  expires bigint := semel.after(CASE WHEN was.flags & 2 /* ttl_from_creation */ <> 0 THEN was.created_at
                                     ELSE at END, was.ttl);
BEGIN
  PERFORM semel.put_answer(was.id, next, semel.day_of(expires), status, headers, body, 0, '', '');
  UPDATE semel.records r SET
    version = next, state = 3 /* completed */,
    result = CASE WHEN make_completed.status < 400 THEN 1 /* succeeded */ ELSE 2 /* failed */ END,
    flags = was.flags & 3 /* only_auth_failures, ttl_from_creation */,
    updated_at = at, hold_until = semel.never(), expires_at = expires,
    tombstone_until = semel.after(expires, was.tombstone), due_at = expires,
    answer_day = semel.day_of(expires), answer_version = next, awaited = false, unknown_since = NULL,
    completed_in = pg_current_xact_id(),
    noted = semel.note(was.noted, at, 3 /* completed */, was.attempt, reason)
  WHERE r.id = was.id RETURNING r.* INTO was;
  RETURN was;
END $$;

-- Claim --------------------------------------------------------------------------------------------

-- Applies the table of docs/spec.md 4 to an existing record. Returns the verdict, or the change that
-- the caller has to write: 'anew', 'again', 'becomes-unknown', 'fails'.
CREATE OR REPLACE FUNCTION semel.admission(was semel.records, fingerprint bytea, unknown text,
                                response_version text, at bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN was.state = 6 /* tombstone */
      OR (was.state IN (3 /* completed */, 4 /* released */) AND was.expires_at <= at) THEN
      CASE WHEN at < was.tombstone_until THEN 'expired' ELSE 'anew' END
    WHEN was.state = 5 /* unknown */ AND was.hold_until <= at THEN 'expired'
    WHEN was.fingerprint <> fingerprint THEN 'mismatch'
    WHEN was.state = 4 /* released */ THEN 'again'
    WHEN was.state = 1 /* queued */ THEN 'busy'
    WHEN was.state = 2 /* in_progress */ AND at <= was.lease_until THEN 'busy'
    WHEN was.state IN (2 /* in_progress */, 5 /* unknown */) THEN CASE
      WHEN unknown = 'retry' THEN 'again'
      WHEN unknown = 'fail' THEN 'fails'
      WHEN was.state = 2 /* in_progress */ THEN 'becomes-unknown'
      ELSE 'unknown' END
    WHEN was.response_version = response_version THEN 'replay'
    ELSE 'version-changed' END $$;

CREATE OR REPLACE FUNCTION semel.check_claim(
  tenant text, operation text, key text, fingerprint bytea, lease interval, ttl interval,
  tombstone interval, unknown text, response_version text, token bytea, namespace text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF tenant IS NULL OR operation IS NULL OR namespace IS NULL OR key IS NULL
     OR fingerprint IS NULL OR response_version IS NULL THEN
    PERFORM semel.bad_argument('tenant, operation, key, fingerprint, response_version and namespace may not be null');
  ELSIF key = '' OR octet_length(key) > 1024 OR operation = ''
     OR greatest(octet_length(operation), octet_length(tenant)) > 4096 THEN
    PERFORM semel.bad_argument('key must have 1 to 1024 bytes, operation 1 to 4096, tenant at most 4096');
  ELSIF lease IS NULL OR NOT lease BETWEEN '1 second' AND '7 days' THEN
    PERFORM semel.bad_argument('lease must be between 1 second and 7 days');
  ELSIF ttl IS NULL OR NOT ttl BETWEEN '1 second' AND '45 days' THEN
    PERFORM semel.bad_argument('ttl must be between 1 second and 45 days');
  ELSIF tombstone IS NULL OR NOT tombstone BETWEEN '0' AND '100 years' THEN
    PERFORM semel.bad_argument('tombstone must be between 0 and 100 years');
  ELSIF unknown IS NULL OR unknown NOT IN ('hold', 'retry', 'fail') THEN
    PERFORM semel.bad_argument('unknown must be hold, retry or fail');
  ELSIF length(token) <> 16 OR token = decode(repeat('00', 16), 'hex') THEN
    PERFORM semel.bad_argument('token must be 16 random bytes, new for every claim, or null');
  ELSIF NOT semel.may_use(tenant, operation) THEN
    RAISE EXCEPTION USING ERRCODE = 'SM002',
      MESSAGE = format('operation %s of tenant %s is not granted to %s', operation, tenant, session_user),
      HINT = 'The schema''s owner grants it with allow(role, tenant, operation).';
  END IF;
END $$;

CREATE OR REPLACE FUNCTION semel.claim_record(
  of_tenant text, of_operation text, of_key text, of_request bytea, of_lease interval,
  of_ttl interval, of_tombstone interval, unknown text, version_of_response text, given bytea,
  of_namespace text,
  OUT verdict text, OUT record bytea, OUT token bytea, OUT attempt integer, OUT status integer,
  OUT headers jsonb, OUT body bytea)
LANGUAGE plpgsql AS $$
DECLARE
  -- Fingerprints are compared as digests; one that is not a digest is hashed.
  print bytea := CASE length(of_request) WHEN 32 THEN of_request ELSE sha256(of_request) END;
  lease bigint := semel.ms(of_lease);
  new_ttl bigint := semel.ms(of_ttl);
  new_tombstone bigint := semel.ms(of_tombstone);
  never bigint := semel.never();
  was semel.records;
  held semel.records;
  at bigint;
BEGIN
  PERFORM semel.check_claim(of_tenant, of_operation, of_key, of_request, of_lease, of_ttl, of_tombstone,
                            unknown, version_of_response, given, of_namespace);
  record := semel.record_id(of_namespace, of_tenant, of_operation, of_key);
  token := coalesce(given, semel.random_token());
  -- Repeats only if another transaction wrote between the read and the lock.
  FOR look IN 1..10 LOOP
    at := semel.now_ms();
    SELECT r.* INTO was FROM semel.records r WHERE r.id = record;
    IF NOT FOUND THEN
      -- From here to the end of this transaction no other can insert the record.
      EXIT WHEN NOT pg_try_advisory_xact_lock(semel.id_lock(record));
      PERFORM FROM semel.records r WHERE r.id = record;
      CONTINUE WHEN FOUND;
      INSERT INTO semel.records AS r (id, version, state, attempt, token, fingerprint, lease_until, created_at,
        updated_at, expires_at, tombstone_until, hold_until, ttl, tombstone, hold_for, due_at, flags,
        result, response_version, tenant, operation, key, noted)
      VALUES (record, nextval('semel.versions'), 2 /* in_progress */, 1, token, print, semel.after(at, lease), at,
        at, never, never, never, new_ttl, new_tombstone, never, semel.after(at, lease), 0,
        0 /* none */, version_of_response, of_tenant, of_operation, of_key,
        semel.note(NULL, at, 2 /* in_progress */, 1, 'claimed'))
      ON CONFLICT DO NOTHING RETURNING r.attempt INTO attempt;
      CONTINUE WHEN NOT FOUND;
      PERFORM semel.commit_synchronously();
      verdict := 'execute';
      RETURN;
    END IF;

    verdict := semel.admission(was, print, unknown, version_of_response, at);
    -- Its own holder repeats the claim, because the reply was lost.
    IF was.state = 2 /* in_progress */ AND was.fingerprint = print AND semel.same_token(was.token, given) THEN
      verdict := 'same';
    END IF;
    IF verdict = 'replay' THEN
      PERFORM semel.commit_on_standby();
      SELECT a.* INTO status, headers, body FROM semel.answer_of(was) AS a;
    END IF;
    IF verdict NOT IN ('anew', 'again', 'same', 'becomes-unknown', 'fails') THEN
      attempt := was.attempt;
      token := NULL;
      RETURN;
    END IF;

    SELECT r.* INTO held FROM semel.records r WHERE r.id = record FOR UPDATE SKIP LOCKED;
    EXIT WHEN NOT FOUND;
    CONTINUE WHEN held.version <> was.version;
    PERFORM semel.commit_synchronously();
    IF verdict = 'becomes-unknown' THEN
      UPDATE semel.records r SET version = nextval('semel.versions'), state = 5 /* unknown */,
        flags = r.flags & ~1 /* only_auth_failures */, updated_at = at, hold_until = semel.after(at, r.hold_for),
        expires_at = never, due_at = semel.after(at, r.hold_for), awaited = false, unknown_since = at,
        noted = semel.note(r.noted, at, 5 /* unknown */, r.attempt, 'its owner is gone')
      WHERE r.id = record;
      PERFORM semel.tell(held);
      verdict := 'unknown';
      attempt := was.attempt;
      token := NULL;
      RETURN;
    ELSIF verdict = 'fails' THEN
      was := semel.make_completed(was, at, 502,
        convert_to(E'Content-Type: application/problem+json\r\n', 'UTF8'),
        convert_to('{"type":"urn:semel:problem:upstream-unreachable","title":"No answer came back",'
          '"status":502,"detail":"The request was sent on and no answer came back; whether it took '
          'effect is not known.","code":"upstream-unreachable","new_key_safe":false}', 'UTF8'),
        'unknown outcome taken as final');
      PERFORM semel.tell(held);
      verdict := 'replay';
      attempt := was.attempt;
      token := NULL;
      SELECT a.* INTO status, headers, body FROM semel.answer_of(was) AS a;
      RETURN;
    ELSIF verdict = 'same' THEN
      -- Writes the record again, so that it is durable now if it was not before.
      UPDATE semel.records r SET version = nextval('semel.versions'), lease_until = semel.after(at, lease)
      WHERE r.id = record RETURNING r.attempt INTO attempt;
    ELSE
      UPDATE semel.records r SET
        version = nextval('semel.versions'), state = 2 /* in_progress */, token = claim_record.token,
        attempt = CASE verdict WHEN 'again' THEN r.attempt + 1 ELSE 1 END,
        flags = CASE verdict WHEN 'again' THEN r.flags & 1 /* only_auth_failures */ ELSE 0 END,
        created_at = CASE verdict WHEN 'again' THEN r.created_at ELSE at END,
        rest = CASE verdict WHEN 'again' THEN r.rest END,
        key = CASE verdict WHEN 'again' THEN r.key ELSE of_key END,
        noted = CASE verdict
          WHEN 'again' THEN semel.note(r.noted, at, 2 /* in_progress */, r.attempt + 1, CASE r.state
            WHEN 4 /* released */ THEN 'claimed again after release'
            ELSE 'claimed again: the outcome of the last attempt is unknown' END)
          ELSE semel.note(NULL, at, 2 /* in_progress */, 1, 'claimed after expiry') END,
        fingerprint = print, lease_until = semel.after(at, lease), due_at = semel.after(at, lease),
        updated_at = at, expires_at = never, tombstone_until = never, hold_until = never,
        ttl = new_ttl, tombstone = new_tombstone, hold_for = never, result = 0 /* none */,
        response_version = version_of_response, answer_day = NULL, answer_version = NULL, awaited = false,
        unknown_since = NULL, completed_in = NULL
      WHERE r.id = record RETURNING r.attempt INTO attempt;
      -- keep_days() drops answers in tables of days; answers in the parent, and chunks, go here.
      IF was.answer_day IS NOT NULL THEN
        DELETE FROM ONLY semel.answers a WHERE a.id = was.id AND a.version = was.answer_version;
        DELETE FROM semel.chunks c
        WHERE was.flags & 16 /* body_spilled */ <> 0 AND c.id = was.id AND c.token = was.token;
      END IF;
      PERFORM semel.tell(was);  -- the claim that others waited for is over
    END IF;
    verdict := 'execute';
    RETURN;
  END LOOP;
  -- Another transaction is working on this key.
  verdict := 'busy';
  token := NULL;
END $$;

-- Claims the right to execute. verdict: execute (with the token to complete it), replay (with the stored
-- answer), busy, mismatch, unknown, expired, version-changed.
CREATE OR REPLACE FUNCTION semel.claim(
  tenant text, operation text, key text, fingerprint bytea DEFAULT '\x',
  lease interval DEFAULT '30 seconds', ttl interval DEFAULT '24 hours', tombstone interval DEFAULT '0',
  unknown text DEFAULT 'hold', response_version text DEFAULT '1', token bytea DEFAULT NULL,
  namespace text DEFAULT 'default')
RETURNS TABLE (verdict text, record bytea, token bytea, attempt integer, status integer,
               headers jsonb, body bytea)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = semel, pg_temp AS $$
  -- Arguments by number: `token` is an argument and a column of the result.
  SELECT c.* FROM semel.claim_record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS c $$;

-- Complete and release -----------------------------------------------------------------------------

-- Records the outcome, in the transaction of the effect. Any error must undo the effect too.
-- `body` is bytea, text, json or jsonb: bytes_of(). With one overload per type, a call without a body
-- would be ambiguous. In earlier versions it was bytea.
DROP FUNCTION IF EXISTS semel.complete(bytea, bytea, integer, jsonb, bytea);
CREATE OR REPLACE FUNCTION semel.complete(record bytea, token bytea, status integer, headers jsonb DEFAULT '[]',
                               body anycompatible DEFAULT ''::bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  bytes bytea := semel.bytes_of(body, 'body');
  lines bytea := semel.header_lines(headers);
  was semel.records := semel.granted_record(record, token);
  said boolean;
BEGIN
  IF status IS NULL OR status NOT BETWEEN 200 AND 599 THEN
    PERFORM semel.bad_argument('status must be between 200 and 599');
  ELSIF bytes IS NULL OR length(bytes) > 16777216 THEN
    PERFORM semel.bad_argument('body must not be null, and have at most 16 MiB');
  END IF;
  was := semel.locked_record(record);
  IF was.id IS NULL THEN
    PERFORM semel.raise_stale(record, 'does not exist');
  ELSIF NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'was claimed by another attempt, or an operator has decided about it');
  ELSIF was.state = 3 /* completed */ THEN
    SELECT (a.status, a.headers, a.body) = (complete.status, semel.header_pairs(lines), bytes)
    INTO said FROM semel.answer_of(was) AS a;
    IF NOT coalesce(said, false) THEN
      PERFORM semel.raise_stale(record, 'was completed with another answer');
    ELSIF NOT (SELECT semel.written_here(r.completed_in, r.xmin) FROM semel.records r WHERE r.id = was.id) THEN
      PERFORM semel.raise_done(record);
    END IF;
    RETURN;
  ELSIF was.state NOT IN (2 /* in_progress */, 5 /* unknown */) THEN
    PERFORM semel.raise_stale(record, 'is no longer in progress');
  END IF;
  PERFORM semel.commit_synchronously();
  was.flags := was.flags & 2 /* ttl_from_creation */;
  PERFORM semel.make_completed(was, semel.now_ms(), status, lines, bytes, 'completed by ' || session_user);
  PERFORM semel.tell(was);
END $$;

-- Gives a claim back: nothing was done under it, and the next claim may execute.
CREATE OR REPLACE FUNCTION semel.release(record bytea, token bytea, reason text DEFAULT '')
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  was semel.records := semel.granted_record(record, token);
  at bigint;
BEGIN
  was := semel.locked_record(record);
  IF was.id IS NULL THEN
    PERFORM semel.raise_stale(record, 'does not exist');
  ELSIF NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'was claimed by another attempt, or an operator has decided about it');
  ELSIF was.state = 4 /* released */ THEN
    RETURN;
  ELSIF was.state NOT IN (2 /* in_progress */, 5 /* unknown */) THEN
    PERFORM semel.raise_stale(record, 'is no longer in progress');
  END IF;
  PERFORM semel.commit_synchronously();
  at := semel.now_ms();
  UPDATE semel.records r SET
    version = nextval('semel.versions'), state = 4 /* released */, result = 0 /* none */,
    flags = r.flags & 2 /* ttl_from_creation */, updated_at = at,
    hold_until = semel.never(), expires_at = semel.after(at, r.ttl),
    tombstone_until = semel.after(semel.after(at, r.ttl), r.tombstone),
    due_at = semel.after(at, r.ttl), answer_day = NULL, answer_version = NULL, awaited = false,
    unknown_since = NULL,
    noted = semel.note(r.noted, at, 4 /* released */, r.attempt,
                       coalesce(nullif(reason, ''), 'released by ' || session_user))
  WHERE r.id = was.id;
  PERFORM semel.tell(was);
END $$;

CREATE OR REPLACE FUNCTION semel.check_guard() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  DELETE FROM semel.guards g WHERE g.number = NEW.number;
  PERFORM FROM semel.records r
  WHERE r.id = NEW.record AND r.state = 3 /* completed */ AND semel.same_token(r.token, NEW.token)
    AND semel.written_here(r.completed_in, r.xmin);
  IF NOT FOUND THEN
    PERFORM semel.raise_stale(NEW.record, 'is guarded, and this transaction has not completed it');
  END IF;
  PERFORM semel.commit_synchronously();
  RETURN NULL;
END $$;

-- Creates the trigger only if it is missing: creating it waits for all open transactions with a guard.
DO $$
BEGIN
  PERFORM FROM pg_catalog.pg_trigger t
  WHERE t.tgrelid = 'semel.guards'::regclass AND t.tgname = 'check_guard';
  IF NOT FOUND THEN
    CREATE CONSTRAINT TRIGGER check_guard AFTER INSERT ON semel.guards
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION semel.check_guard();
  END IF;
END $$;

-- Lets this transaction commit only if it completes this record with this token. Call it before the
-- first savepoint: rolling back to a savepoint also undoes a guard set after it.
CREATE OR REPLACE FUNCTION semel.guard(record bytea, token bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  was semel.records := semel.granted_record(record, token);
BEGIN
  IF was.id IS NULL OR NOT semel.same_token(was.token, token)
     OR was.state NOT IN (2 /* in_progress */, 3 /* completed */, 5 /* unknown */) THEN
    PERFORM semel.raise_stale(record, 'is not held with this token');
  ELSIF was.state = 3 /* completed */
     AND NOT (SELECT semel.written_here(r.completed_in, r.xmin) FROM semel.records r WHERE r.id = was.id) THEN
    PERFORM semel.raise_done(record);
  END IF;
  INSERT INTO semel.guards (record, token) VALUES (guard.record, guard.token);
END $$;

-- Derives a key from a record and a label: docs/formats.md, "Derived key".
CREATE OR REPLACE FUNCTION semel.derive_key(record bytea, label text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  IF record IS NULL OR length(record) <> 32 OR label IS NULL THEN
    PERFORM semel.bad_argument('record must be the 32 bytes of a record''s id, and label must not be null');
  END IF;
  RETURN translate(rtrim(encode(sha256(semel.sized('semel derived key 1') || record ||
                                       semel.sized(convert_to(label, 'UTF8'))), 'base64'), '='),
                   '+/', '-_');
END $$;
