-- What applications call inside their own transactions, so that an effect and its record commit
-- together. docs/sql.md says how they are used.
--
-- The rules are those of src/core/transition.cc a second time. tests/vectors/transitions.json runs
-- against both: a rule changed here and not there fails. If a rule here is wrong, a key runs twice.
--
-- No function waits for a foreign transaction, but for complete() and release(), which wait two
-- seconds at most for their own record (a renewal of its lease holds it for a moment).
-- Times come from clock_timestamp(): a transaction may be hours old.
--
-- SQLSTATE   SM001  stale: another claim holds the record, or it has ended otherwise
--            SM002  not granted to this role, or not there: which of the two is not told
--            SM003  completed by this token already, in an earlier transaction
--            SM004  the stored answer cannot be read here: it is encrypted, or lost

-- Who may do what ----------------------------------------------------------------------------------

-- '*' is any tenant, any operation. An operation covers its paths too ("name TAB path").
CREATE TABLE semel.grants (
  role      regrole NOT NULL,
  tenant    text NOT NULL CHECK (tenant <> ''),
  operation text NOT NULL CHECK (operation <> ''),
  PRIMARY KEY (role, tenant, operation)
);

-- The functions that are for applications; those that are not there yet come with later migrations.
CREATE FUNCTION semel.offered() RETURNS SETOF regprocedure LANGUAGE sql STABLE AS
$$ SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p
   WHERE p.pronamespace = (SELECT relnamespace FROM pg_catalog.pg_class
                           WHERE oid = 'semel.records'::regclass)
     AND p.prosecdef
     AND p.proname IN ('claim', 'complete', 'release', 'guard', 'derive_key', 'enqueue') $$;

-- For the schema's owner. Grants take effect when the transaction commits.
CREATE FUNCTION semel.allow(role name, tenant text, operation text) RETURNS void LANGUAGE plpgsql AS $$
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

-- With its last grant a role loses the functions too.
CREATE FUNCTION semel.disallow(role name, tenant text, operation text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
                WHERE oid = 'semel.records'::regclass);
  offered regprocedure;
BEGIN
  DELETE FROM semel.grants g WHERE g.role = quote_ident(disallow.role)::regrole
    AND g.tenant = disallow.tenant AND g.operation = disallow.operation;
  PERFORM FROM semel.grants g WHERE g.role = quote_ident(disallow.role)::regrole;
  IF FOUND THEN RETURN; END IF;
  FOR offered IN SELECT semel.offered() LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %I', offered, disallow.role);
  END LOOP;
  EXECUTE format('REVOKE USAGE ON SCHEMA %s FROM %I', home, disallow.role);
END $$;

-- PostgreSQL lets everybody execute a new function, and a default privilege cannot take that back
-- for one schema. So it is taken back here, after every migration.
CREATE FUNCTION semel.close_to_public() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
                WHERE oid = 'semel.records'::regclass);
BEGIN
  EXECUTE format('REVOKE ALL ON SCHEMA %1$s FROM PUBLIC;'
                 'REVOKE ALL ON ALL TABLES IN SCHEMA %1$s FROM PUBLIC;'
                 'REVOKE ALL ON ALL SEQUENCES IN SCHEMA %1$s FROM PUBLIC;'
                 'REVOKE ALL ON ALL ROUTINES IN SCHEMA %1$s FROM PUBLIC', home);
END $$;

-- session_user, since the functions run as the schema's owner. Superusers are members of every role.
-- These and others are in PL/pgSQL because it keeps their plans.
CREATE FUNCTION semel.is_owner() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN pg_has_role(session_user, (SELECT c.relowner FROM pg_catalog.pg_class c
                                    WHERE c.oid = 'semel.records'::regclass), 'MEMBER');
END $$;

-- Where tenant and operation are null, because they are not valid text, only the owner may.
CREATE FUNCTION semel.may_use(tenant text, operation text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF semel.is_owner() THEN RETURN true; END IF;
  IF tenant IS NULL OR operation IS NULL THEN RETURN false; END IF;
  PERFORM FROM semel.grants g JOIN pg_catalog.pg_roles r ON r.oid = g.role
  WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND g.tenant IN ('*', may_use.tenant)
    AND g.operation IN ('*', may_use.operation, split_part(may_use.operation, E'\t', 1));
  RETURN FOUND;
END $$;

-- Small parts --------------------------------------------------------------------------------------

CREATE FUNCTION semel.bad_argument(why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = why;
END $$;

CREATE FUNCTION semel.ms(duration interval) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT (extract(epoch FROM duration) * 1000)::bigint $$;

-- Takes as long wherever they differ.
CREATE FUNCTION semel.same_token(a bytea, b bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT sha256(a) = sha256(b) $$;

CREATE FUNCTION semel.random_token() RETURNS bytea LANGUAGE sql VOLATILE AS
$$ SELECT substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
                    FROM 1 FOR 16) $$;

-- A line more for records.noted: time, state, attempt, and what happened. The last 16 are kept.
CREATE FUNCTION semel.note(noted text, at bigint, state integer, attempt integer, what text)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  line text := concat_ws(' ', at, state, attempt,
                         left(regexp_replace(what, '[[:cntrl:]]+', ' ', 'g'), 200));
  lines text[] := string_to_array(noted, E'\n') || line;
BEGIN
  RETURN array_to_string(lines[greatest(cardinality(lines) - 15, 1):], E'\n');
END $$;

-- Whoever is told "done" relies on it: the commit waits for the disk (and for the synchronous
-- standby), whatever the application has chosen for its session.
CREATE FUNCTION semel.commit_synchronously() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

-- For whoever is told what another transaction has written. Where commits wait for a synchronous
-- standby, a row can be seen that the standby does not have: its writer's wait was cut short, or the
-- primary has come back from a crash. So this transaction writes to the log as well, and its COMMIT
-- returns when the standby has all that came before. pg_current_xact_id() alone would not do: a
-- commit that has written nothing is not waited for.
CREATE FUNCTION semel.commit_on_standby() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') <> '' THEN
    PERFORM semel.commit_synchronously();
    PERFORM pg_logical_emit_message(true, 'semel', '');
  END IF;
END $$;

-- Whether a row that this transaction sees was written by this transaction itself, perhaps inside a
-- savepoint: what others have written is visible only once it is no longer in progress.
CREATE FUNCTION semel.written_here(writer xid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  here bigint := pg_current_xact_id()::text::bigint;
  later bigint := -age(writer)::bigint;  -- savepoints have later numbers than their transaction
BEGIN
  RETURN later = 0 OR
         (later > 0 AND pg_xact_status((here + later)::text::xid8) = 'in progress');
END $$;

-- Headers ------------------------------------------------------------------------------------------

-- [["Name","value"], …] or {"Name":"value", …} as "Name: value" and CR LF, each. What belongs to the
-- connection, the moment or the session is left out, as in src/gateway/headers.cc.
CREATE FUNCTION semel.header_lines(headers jsonb) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
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
      PERFORM semel.bad_argument('a header''s name is empty or has characters that none may have');
    ELSIF pair ->> 1 ~ E'[\\x01-\\x08\\x0a-\\x1f\\x7f]' THEN
      PERFORM semel.bad_argument(format('the value of header %s has a line break or another control character',
                                        pair ->> 0));
    END IF;
    CONTINUE WHEN lower(pair ->> 0) IN (
      'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'upgrade',
      'transfer-encoding', 'content-length', 'idempotency-key', 'idempotency-expires',
      'idempotency-replayed', 'idempotency-outcome', 'idempotency-replay', 'idempotency-degraded',
      'date', 'set-cookie', 'server', 'alt-svc', 'www-authenticate', 'ratelimit', 'ratelimit-policy',
      'request-id', 'x-request-id', 'x-correlation-id', 'x-amzn-requestid', 'x-amzn-trace-id', 'cf-ray',
      'traceparent', 'tracestate', 'age')
      OR lower(pair ->> 0) ~ '^(ratelimit-|x-ratelimit-|x-rate-limit-)';
    lines := lines || (pair ->> 0) || ': ' || btrim(pair ->> 1, E' \t') || E'\r\n';
  END LOOP;
  IF octet_length(lines) > 65536 THEN
    PERFORM semel.bad_argument('the headers are longer than 64 KiB');
  END IF;
  RETURN convert_to(lines, 'UTF8');
END $$;

-- The way back.
CREATE FUNCTION semel.header_pairs(lines bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  readable text;
BEGIN
  BEGIN
    readable := convert_from(lines, 'UTF8');
  EXCEPTION WHEN character_not_in_repertoire THEN
    readable := convert_from(lines, 'LATIN1');  -- as an upstream may have sent them
  END;
  RETURN coalesce((
    SELECT jsonb_agg(jsonb_build_array(split_part(line, ': ', 1),
                                       substr(line, strpos(line, ': ') + 2)) ORDER BY number)
    FROM string_to_table(readable, E'\r\n') WITH ORDINALITY AS all_lines (line, number)
    WHERE line <> ''), '[]');
END $$;

-- The record and its answer ------------------------------------------------------------------------

-- The stored answer of a completed record. A body that was too large to be kept is null.
CREATE FUNCTION semel.answer_of(was semel.records, OUT status integer, OUT headers jsonb, OUT body bytea)
LANGUAGE plpgsql AS $$
DECLARE
  answer semel.answers;
  place regclass;
BEGIN
  -- It is in the table for its day, or, if there was none when it was written, in the parent.
  FOREACH place IN ARRAY ARRAY[semel.answers_of(was.answer_day), 'semel.answers'::regclass] LOOP
    EXECUTE format('SELECT a.* FROM ONLY %s AS a WHERE a.id = $1 AND a.version = $2', place)
    INTO answer USING was.id, was.answer_version;
    EXIT WHEN answer.id IS NOT NULL;
  END LOOP;
  IF answer.id IS NULL OR answer.sealed_key <> '' THEN
    RAISE EXCEPTION USING ERRCODE = 'SM004', MESSAGE = format('the answer of record %s %s',
      encode(was.id, 'hex'), CASE WHEN answer.id IS NULL THEN 'is not there any more'
                                  ELSE 'is encrypted; only a gateway with the key can read it' END);
  END IF;
  status := answer.status;
  headers := semel.header_pairs(answer.headers);
  body := CASE
    WHEN was.flags & 4 <> 0 THEN NULL
    WHEN was.flags & 16 <> 0 THEN
      (SELECT string_agg(c.bytes, ''::bytea ORDER BY c.index) FROM semel.chunks c
       WHERE c.id = was.id AND c.token = was.token)
    ELSE answer.body END;
END $$;

-- The record, for who may use it. Tells nobody else whether there is one.
CREATE FUNCTION semel.granted_record(record bytea, token bytea) RETURNS semel.records
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

-- Locks it, waiting for a moment. Null: it is not there.
CREATE FUNCTION semel.locked_record(record bytea) RETURNS semel.records
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

CREATE FUNCTION semel.raise_stale(record bytea, why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'SM001',
    MESSAGE = format('stale token: record %s %s', encode(record, 'hex'), why),
    HINT = 'This attempt has lost its claim. Roll back, so that its effect does not happen, and do not repeat it.';
END $$;

CREATE FUNCTION semel.raise_done(record bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'SM003',
    MESSAGE = format('record %s was completed with this token already, in an earlier transaction',
                     encode(record, 'hex')),
    HINT = 'The effect is there. Roll back, so that it does not happen twice, and give the same answer.';
END $$;

-- Once somebody in another process waits for the end of a record, its end is told.
CREATE FUNCTION semel.tell(was semel.records) RETURNS void LANGUAGE sql AS
$$ SELECT pg_notify('semel', encode(was.id, 'hex')) WHERE was.awaited $$;

-- become_completed() of src/core/transition.cc; the row is locked.
CREATE FUNCTION semel.make_completed(was semel.records, at bigint, status integer, headers bytea,
                                     body bytea, reason text)
RETURNS semel.records LANGUAGE plpgsql AS $$
DECLARE
  next bigint := nextval('semel.versions');
  -- With ttl_from creation a slow execution may outlive its ttl; it is then due at once.
  expires bigint := semel.after(CASE WHEN was.flags & 2 <> 0 THEN was.created_at ELSE at END, was.ttl);
BEGIN
  PERFORM semel.put_answer(was.id, next, semel.day_of(expires), status, headers, body, 0, '', '');
  UPDATE semel.records r SET
    version = next, state = 3, result = CASE WHEN make_completed.status < 400 THEN 1 ELSE 2 END,
    flags = was.flags & 3, updated_at = at, hold_until = semel.never(), expires_at = expires,
    tombstone_until = semel.after(expires, was.tombstone), due_at = expires,
    answer_day = semel.day_of(expires), answer_version = next, awaited = false, unknown_since = NULL,
    noted = semel.note(was.noted, at, 3, was.attempt, reason)
  WHERE r.id = was.id RETURNING r.* INTO was;
  RETURN was;
END $$;

-- Claim --------------------------------------------------------------------------------------------

-- The table of SPEC 4, for a record that is there. The verdict, or what is to be written:
-- 'anew', 'again', 'becomes-unknown', 'fails'.
CREATE FUNCTION semel.admission(was semel.records, fingerprint bytea, unknown text,
                                response_version text, at bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN was.state = 6 OR (was.state IN (3, 4) AND was.expires_at <= at) THEN
      CASE WHEN at < was.tombstone_until THEN 'expired' ELSE 'anew' END
    WHEN was.state = 5 AND was.hold_until <= at THEN 'expired'
    WHEN was.fingerprint <> fingerprint THEN 'mismatch'
    WHEN was.state = 4 THEN 'again'
    WHEN was.state = 1 THEN 'busy'
    WHEN was.state = 2 AND at <= was.lease_until THEN 'busy'
    WHEN was.state IN (2, 5) THEN CASE
      WHEN unknown = 'retry' THEN 'again'
      WHEN unknown = 'fail' THEN 'fails'
      WHEN was.state = 2 THEN 'becomes-unknown'
      ELSE 'unknown' END
    WHEN was.response_version = response_version THEN 'replay'
    ELSE 'version-changed' END $$;

CREATE FUNCTION semel.check_claim(
  tenant text, operation text, key text, fingerprint bytea, lease interval, ttl interval,
  tombstone interval, unknown text, response_version text, token bytea, namespace text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF tenant IS NULL OR operation IS NULL OR namespace IS NULL OR key IS NULL
     OR fingerprint IS NULL OR response_version IS NULL THEN
    PERFORM semel.bad_argument('tenant, operation, key, fingerprint, response_version and namespace may not be null');
  ELSIF key = '' OR octet_length(key) > 1024 OR operation = ''
     OR greatest(octet_length(operation), octet_length(tenant)) > 4096 THEN
    PERFORM semel.bad_argument('a key has 1 to 1024 bytes, an operation 1 to 4096, a tenant 4096 at most');
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

CREATE FUNCTION semel.claim_record(
  of_tenant text, of_operation text, of_key text, of_request bytea, of_lease interval,
  of_ttl interval, of_tombstone interval, unknown text, version_of_response text, given bytea,
  of_namespace text,
  OUT verdict text, OUT record bytea, OUT token bytea, OUT attempt integer, OUT status integer,
  OUT headers jsonb, OUT body bytea)
LANGUAGE plpgsql AS $$
DECLARE
  -- Digests are compared: what is none becomes one.
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
  -- Again only when somebody else wrote between a look and a lock.
  FOR look IN 1..10 LOOP
    at := semel.now_ms();
    SELECT r.* INTO was FROM semel.records r WHERE r.id = record;
    IF NOT FOUND THEN
      -- From here to the end of this transaction nobody else can insert it.
      EXIT WHEN NOT pg_try_advisory_xact_lock(semel.id_lock(record));
      PERFORM FROM semel.records r WHERE r.id = record;
      CONTINUE WHEN FOUND;
      INSERT INTO semel.records AS r (id, version, state, attempt, token, fingerprint, lease_until, created_at,
        updated_at, expires_at, tombstone_until, hold_until, ttl, tombstone, hold_for, due_at, flags,
        result, response_version, tenant, operation, key, noted)
      VALUES (record, nextval('semel.versions'), 2, 1, token, print, semel.after(at, lease), at,
        at, never, never, never, new_ttl, new_tombstone, never, semel.after(at, lease), 0,
        0, version_of_response, of_tenant, of_operation, of_key, semel.note(NULL, at, 2, 1, 'claimed'))
      ON CONFLICT DO NOTHING RETURNING r.attempt INTO attempt;
      CONTINUE WHEN NOT FOUND;
      PERFORM semel.commit_synchronously();
      verdict := 'execute';
      RETURN;
    END IF;

    verdict := semel.admission(was, print, unknown, version_of_response, at);
    -- The claim is repeated by the one who holds it, because its reply was lost.
    IF was.state = 2 AND was.fingerprint = print AND semel.same_token(was.token, given) THEN
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
      UPDATE semel.records r SET version = nextval('semel.versions'), state = 5,
        flags = r.flags & ~1, updated_at = at, hold_until = semel.after(at, r.hold_for),
        expires_at = never, due_at = semel.after(at, r.hold_for), awaited = false, unknown_since = at,
        noted = semel.note(r.noted, at, 5, r.attempt, 'its owner is gone')
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
      -- Written again, so that it is durable now if it was not yet.
      UPDATE semel.records r SET version = nextval('semel.versions'), lease_until = semel.after(at, lease)
      WHERE r.id = record RETURNING r.attempt INTO attempt;
    ELSE
      UPDATE semel.records r SET
        version = nextval('semel.versions'), state = 2, token = claim_record.token,
        attempt = CASE verdict WHEN 'again' THEN r.attempt + 1 ELSE 1 END,
        flags = CASE verdict WHEN 'again' THEN r.flags & 1 ELSE 0 END,
        created_at = CASE verdict WHEN 'again' THEN r.created_at ELSE at END,
        rest = CASE verdict WHEN 'again' THEN r.rest END,
        key = CASE verdict WHEN 'again' THEN r.key ELSE of_key END,
        noted = CASE verdict
          WHEN 'again' THEN semel.note(r.noted, at, 2, r.attempt + 1, CASE r.state
            WHEN 4 THEN 'claimed again after release'
            ELSE 'claimed again: the outcome of the last attempt is unknown' END)
          ELSE semel.note(NULL, at, 2, 1, 'claimed after expiry') END,
        fingerprint = print, lease_until = semel.after(at, lease), due_at = semel.after(at, lease),
        updated_at = at, expires_at = never, tombstone_until = never, hold_until = never,
        ttl = new_ttl, tombstone = new_tombstone, hold_for = never, result = 0,
        response_version = version_of_response, answer_day = NULL, answer_version = NULL, awaited = false,
        unknown_since = NULL
      WHERE r.id = record RETURNING r.attempt INTO attempt;
      -- Answers of a day are dropped with it; what lies elsewhere goes with the record that had it.
      IF was.answer_day IS NOT NULL THEN
        DELETE FROM ONLY semel.answers a WHERE a.id = was.id AND a.version = was.answer_version;
        DELETE FROM semel.chunks c WHERE was.flags & 16 <> 0 AND c.id = was.id AND c.token = was.token;
      END IF;
      PERFORM semel.tell(was);  -- the claim that was waited for is over
    END IF;
    verdict := 'execute';
    RETURN;
  END LOOP;
  -- Another transaction is at work under this key.
  verdict := 'busy';
  token := NULL;
END $$;

-- The right to execute. verdict: execute (with the token that completes it), replay (with the stored
-- answer), busy, mismatch, unknown, expired, version-changed.
CREATE FUNCTION semel.claim(
  tenant text, operation text, key text, fingerprint bytea DEFAULT '\x',
  lease interval DEFAULT '30 seconds', ttl interval DEFAULT '24 hours', tombstone interval DEFAULT '0',
  unknown text DEFAULT 'hold', response_version text DEFAULT '1', token bytea DEFAULT NULL,
  namespace text DEFAULT 'default')
RETURNS TABLE (verdict text, record bytea, token bytea, attempt integer, status integer,
               headers jsonb, body bytea)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = semel, pg_temp AS $$
  -- By number: two of them share a name with a column.
  SELECT c.* FROM semel.claim_record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS c $$;

-- Complete and release -----------------------------------------------------------------------------

-- The outcome, in the transaction of the effect. Whatever it raises must undo the effect too.
CREATE FUNCTION semel.complete(record bytea, token bytea, status integer, headers jsonb DEFAULT '[]',
                               body bytea DEFAULT '')
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  lines bytea := semel.header_lines(headers);
  was semel.records := semel.granted_record(record, token);
  said boolean;
BEGIN
  IF status IS NULL OR status NOT BETWEEN 200 AND 599 THEN
    PERFORM semel.bad_argument('status must be between 200 and 599');
  ELSIF body IS NULL OR length(body) > 16777216 THEN
    PERFORM semel.bad_argument('body must not be null, and have 16 MiB at most');
  END IF;
  was := semel.locked_record(record);
  IF was.id IS NULL THEN
    PERFORM semel.raise_stale(record, 'is not there');
  ELSIF NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'has been claimed by another attempt, or an operator has decided about it');
  ELSIF was.state = 3 THEN
    SELECT (a.status, a.headers, a.body) = (complete.status, semel.header_pairs(lines), complete.body)
    INTO said FROM semel.answer_of(was) AS a;
    IF NOT coalesce(said, false) THEN
      PERFORM semel.raise_stale(record, 'was completed with another answer');
    ELSIF NOT (SELECT semel.written_here(r.xmin) FROM semel.records r WHERE r.id = was.id) THEN
      PERFORM semel.raise_done(record);
    END IF;
    RETURN;
  ELSIF was.state NOT IN (2, 5) THEN
    PERFORM semel.raise_stale(record, 'is not in progress any more');
  END IF;
  PERFORM semel.commit_synchronously();
  was.flags := was.flags & 2;
  PERFORM semel.make_completed(was, semel.now_ms(), status, lines, body, 'completed by ' || session_user);
  PERFORM semel.tell(was);
END $$;

-- The claim is given back: nothing was done under it, and the next claim may execute.
CREATE FUNCTION semel.release(record bytea, token bytea, reason text DEFAULT '')
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  was semel.records := semel.granted_record(record, token);
  at bigint;
BEGIN
  was := semel.locked_record(record);
  IF was.id IS NULL THEN
    PERFORM semel.raise_stale(record, 'is not there');
  ELSIF NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'has been claimed by another attempt, or an operator has decided about it');
  ELSIF was.state = 4 THEN
    RETURN;
  ELSIF was.state NOT IN (2, 5) THEN
    PERFORM semel.raise_stale(record, 'is not in progress any more');
  END IF;
  PERFORM semel.commit_synchronously();
  at := semel.now_ms();
  UPDATE semel.records r SET
    version = nextval('semel.versions'), state = 4, result = 0, flags = r.flags & 2, updated_at = at,
    hold_until = semel.never(), expires_at = semel.after(at, r.ttl),
    tombstone_until = semel.after(semel.after(at, r.ttl), r.tombstone),
    due_at = semel.after(at, r.ttl), answer_day = NULL, answer_version = NULL, awaited = false,
    unknown_since = NULL,
    noted = semel.note(r.noted, at, 4, r.attempt,
                       coalesce(nullif(reason, ''), 'released by ' || session_user))
  WHERE r.id = was.id;
  PERFORM semel.tell(was);
END $$;

-- Guard --------------------------------------------------------------------------------------------

-- A row lives from guard() to the COMMIT that it guards; nobody ever sees one of another transaction.
CREATE UNLOGGED TABLE semel.guards (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record bytea NOT NULL,
  token  bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE FUNCTION semel.check_guard() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  DELETE FROM semel.guards g WHERE g.number = NEW.number;
  PERFORM FROM semel.records r
  WHERE r.id = NEW.record AND r.state = 3 AND semel.same_token(r.token, NEW.token)
    AND semel.written_here(r.xmin);
  IF NOT FOUND THEN
    PERFORM semel.raise_stale(NEW.record, 'is guarded, and this transaction has not completed it');
  END IF;
  PERFORM semel.commit_synchronously();
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER check_guard AFTER INSERT ON semel.guards
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION semel.check_guard();

-- From here on the transaction commits only if it completes this record with this token. Called
-- before the first savepoint: what a savepoint undoes, it undoes in the guard too.
CREATE FUNCTION semel.guard(record bytea, token bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  was semel.records := semel.granted_record(record, token);
BEGIN
  IF was.id IS NULL OR NOT semel.same_token(was.token, token) OR was.state NOT IN (2, 3, 5) THEN
    PERFORM semel.raise_stale(record, 'is not held with this token');
  ELSIF was.state = 3
     AND NOT (SELECT semel.written_here(r.xmin) FROM semel.records r WHERE r.id = was.id) THEN
    PERFORM semel.raise_done(record);
  END IF;
  INSERT INTO semel.guards (record, token) VALUES (guard.record, guard.token);
END $$;

-- docs/formats.md, "Derived key".
CREATE FUNCTION semel.derive_key(record bytea, label text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  IF record IS NULL OR length(record) <> 32 OR label IS NULL THEN
    PERFORM semel.bad_argument('a key is derived from the 32 bytes of a record''s id and a label');
  END IF;
  RETURN translate(rtrim(encode(sha256(semel.sized('semel derived key 1') || record ||
                                       semel.sized(convert_to(label, 'UTF8'))), 'base64'), '='),
                   '+/', '-_');
END $$;

SELECT semel.close_to_public();
