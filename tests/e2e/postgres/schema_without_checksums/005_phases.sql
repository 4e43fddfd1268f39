-- Atomic phases: operations that are made of several transactions, with calls to others between
-- them. A row here is an operation that has begun and not finished: how far it has come, and what is
-- needed to go on. It goes with the transaction that completes the record. docs/library.md tells the
-- story; include/semel/phases.h runs it in C++, and any language can by these functions.
--
-- The record in semel.records is claimed all the while, and is the only fence: a phase ends by
-- moving the recovery point, under the record's lock and only if the record's token is its own.
-- A claim whose lease ran out, or that became unknown, is resumed under the next attempt (the policy
-- `retry` of src/core/transition.cc): phases make that exact, so nobody has to resolve it by hand.
--
-- Locks: a phase holds its row here from enter_phase() to its end, and takes the record's last. Who
-- wants to take over waits for neither: a row that is locked means that somebody is at work.

CREATE TABLE semel.operations (
  record         bytea PRIMARY KEY CHECK (length(record) = 32),  -- semel.records.id
  name           text NOT NULL,        -- of the steps that resume it
  namespace      text NOT NULL,        -- of the scope, with tenant, operation and key
  tenant         text NOT NULL,
  operation      text NOT NULL,
  key            text NOT NULL,
  fingerprint    bytea NOT NULL,
  arguments      bytea NOT NULL,       -- the request, as the first attempt brought it
  recovery_point text NOT NULL DEFAULT '',   -- the last phase that is committed; '': none
  state          json NOT NULL DEFAULT '{}', -- what the steps hand on to each other
  attempts       integer NOT NULL DEFAULT 0, -- of completers, since it last moved
  next_try_at    bigint NOT NULL,      -- a completer looks at it no earlier
  last_error     text,
  problem        text,                 -- not null: only a person can say how to go on
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX operations_due ON semel.operations (next_try_at) WHERE problem IS NULL;

-- How long after its failure an operation is tried again: 1 s, doubled each time up to 10 min, of
-- which a random half is waited, so that what failed together does not come back together.
CREATE FUNCTION semel.backoff(attempts integer) RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (least(1000 * 2 ^ least(attempts, 20), 600000) * (0.5 + random() / 2))::bigint $$;

-- The operation of a record, locked, if this session's user may work on it and the token is the
-- record's. lock_not_available: a phase of it is open.
CREATE FUNCTION semel.own_operation(record bytea, token bytea) RETURNS semel.operations
LANGUAGE plpgsql AS $$
DECLARE
  own semel.operations;
  was semel.records := semel.granted_record(record, token);
BEGIN
  SELECT o.* INTO own FROM semel.operations o WHERE o.record = own_operation.record
  FOR UPDATE NOWAIT;
  IF NOT FOUND THEN
    PERFORM semel.raise_stale(record, 'has no operation that is unfinished');
  ELSIF was.state <> 2 OR NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'has been claimed by another attempt, or has ended');
  END IF;
  RETURN own;
END $$;

-- Extends the lease of a claim that is still ours; the record is locked then. The sweeper may still
-- look at the old end of the lease, and finds it renewed.
CREATE FUNCTION semel.extend_lease(record bytea, token bytea, lease interval) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  was semel.records := semel.locked_record(record);
  until bigint := greatest(was.lease_until, semel.after(semel.now_ms(), semel.ms(lease)));
BEGIN
  IF was.id IS NULL OR was.state <> 2 OR NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'has been claimed by another attempt, or has ended');
  END IF;
  UPDATE semel.records r SET version = nextval('semel.versions'), lease_until = until
  WHERE r.id = was.id;
  RETURN until;
END $$;

-- Puts an operation under the claim that was just made on its record, or finds the one that was
-- left behind. Raises lock_not_available where a phase of it is still open, and SM005 where what was
-- left behind came with another request: it is not finished, so its key is not free.
CREATE FUNCTION semel.put_operation(name text, namespace text, claimed semel.records, arguments bytea,
                                    lease interval)
RETURNS semel.operations LANGUAGE plpgsql AS $$
DECLARE
  found_one semel.operations;
  now_is bigint := semel.now_ms();
BEGIN
  SELECT o.* INTO found_one FROM semel.operations o WHERE o.record = claimed.id
  FOR UPDATE NOWAIT;
  IF NOT FOUND THEN
    INSERT INTO semel.operations (record, name, namespace, tenant, operation, key, fingerprint,
                                  arguments, next_try_at, created_at, updated_at)
    VALUES (claimed.id, put_operation.name, put_operation.namespace, coalesce(claimed.tenant, ''),
            coalesce(claimed.operation, ''), coalesce(claimed.key, ''), claimed.fingerprint,
            put_operation.arguments, semel.after(now_is, semel.ms(lease)), now_is, now_is)
    RETURNING * INTO found_one;
    RETURN found_one;
  END IF;
  IF found_one.fingerprint <> claimed.fingerprint OR found_one.name <> put_operation.name THEN
    RAISE EXCEPTION 'an unfinished operation has this key' USING ERRCODE = 'SM005';
  END IF;
  UPDATE semel.operations o
  SET next_try_at = semel.after(now_is, semel.ms(lease)), problem = NULL, updated_at = now_is
  WHERE o.record = claimed.id;
  RETURN found_one;
END $$;

-- Claims a key for an operation, or takes up what was left behind under it, and says where to go on.
-- For a transaction of its own: the steps come after its commit.
CREATE FUNCTION semel.begin_operation(name text, tenant text, operation text, key text,
                                      arguments bytea, fingerprint bytea,
                                      lease interval DEFAULT '30 seconds',
                                      ttl interval DEFAULT '24 hours',
                                      tombstone interval DEFAULT '0',
                                      response_version text DEFAULT '1',
                                      namespace text DEFAULT 'default')
RETURNS TABLE (verdict text, record bytea, token bytea, attempt integer, recovery_point text,
               state json, arguments_kept bytea, status integer, headers jsonb, body bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  claimed record;
  was semel.records;
  own semel.operations;
BEGIN
  SELECT c.* INTO claimed
  FROM semel.claim(tenant => begin_operation.tenant, operation => begin_operation.operation,
                   key => begin_operation.key, fingerprint => begin_operation.fingerprint,
                   lease => begin_operation.lease, ttl => begin_operation.ttl,
                   tombstone => begin_operation.tombstone, unknown => 'retry',
                   response_version => begin_operation.response_version,
                   namespace => begin_operation.namespace) c;
  IF claimed.verdict = 'execute' THEN
    SELECT r.* INTO was FROM semel.records r WHERE r.id = claimed.record;
    own := semel.put_operation(begin_operation.name, begin_operation.namespace, was,
                               begin_operation.arguments, begin_operation.lease);
  END IF;
  RETURN QUERY SELECT claimed.verdict, claimed.record, claimed.token, claimed.attempt,
                      own.recovery_point, own.state, own.arguments, claimed.status, claimed.headers,
                      claimed.body;
EXCEPTION  -- the claim is undone with what follows it
  WHEN lock_not_available THEN
    RETURN QUERY SELECT 'busy'::text, NULL::bytea, NULL::bytea, NULL::integer, NULL::text, NULL::json,
                        NULL::bytea, NULL::integer, NULL::jsonb, NULL::bytea;
  WHEN SQLSTATE 'SM005' THEN
    RETURN QUERY SELECT 'mismatch'::text, NULL::bytea, NULL::bytea, NULL::integer, NULL::text,
                        NULL::json, NULL::bytea, NULL::integer, NULL::jsonb, NULL::bytea;
END $$;

-- The same under a claim that was made by the gateway or by take_abandoned(), and handed on.
CREATE FUNCTION semel.adopt_operation(name text, record bytea, token bytea, arguments bytea,
                                      lease interval DEFAULT '30 seconds',
                                      namespace text DEFAULT 'default')
RETURNS TABLE (verdict text, record_id bytea, token_kept bytea, attempt integer, recovery_point text,
               state json, arguments_kept bytea, status integer, headers jsonb, body bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  was semel.records := semel.granted_record(record, token);
  own semel.operations;
BEGIN
  PERFORM semel.extend_lease(record, token, lease);
  own := semel.put_operation(adopt_operation.name, adopt_operation.namespace, was,
                             adopt_operation.arguments, adopt_operation.lease);
  RETURN QUERY SELECT 'execute'::text, adopt_operation.record, adopt_operation.token, was.attempt,
                      own.recovery_point, own.state, own.arguments, NULL::integer, NULL::jsonb,
                      NULL::bytea;
EXCEPTION
  WHEN lock_not_available THEN
    RETURN QUERY SELECT 'busy'::text, NULL::bytea, NULL::bytea, NULL::integer, NULL::text, NULL::json,
                        NULL::bytea, NULL::integer, NULL::jsonb, NULL::bytea;
  WHEN SQLSTATE 'SM005' THEN
    RETURN QUERY SELECT 'mismatch'::text, NULL::bytea, NULL::bytea, NULL::integer, NULL::text,
                        NULL::json, NULL::bytea, NULL::integer, NULL::jsonb, NULL::bytea;
END $$;

-- A phase is the transaction between this and move_operation() or finish_operation(). SM001 if the
-- claim is not ours any more; lock_not_available if another phase of it is open.
CREATE FUNCTION semel.enter_phase(record bytea, token bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  PERFORM semel.own_operation(record, token);
  PERFORM set_config('semel.phase', encode(record || token, 'hex'), true);
END $$;

-- A phase that ended its transaction under way would have let its effect go without the fence.
CREATE FUNCTION semel.require_phase(record bytea, token bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('semel.phase', true) IS DISTINCT FROM encode(record || token, 'hex') THEN
    RAISE EXCEPTION 'this transaction is not the one that entered the phase'
      USING ERRCODE = '25000', HINT = 'A phase neither commits nor rolls back.';
  END IF;
END $$;

-- Ends a phase: the transaction's effect, the recovery point and the state commit together, and only
-- if the claim is still ours.
CREATE FUNCTION semel.move_operation(record bytea, token bytea, recovery_point text, state json,
                                     lease interval DEFAULT '30 seconds') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  until bigint;
BEGIN
  PERFORM semel.require_phase(record, token);
  IF move_operation.recovery_point = '' THEN
    RAISE EXCEPTION 'a recovery point has a name' USING ERRCODE = '22023';
  END IF;
  IF json_typeof(move_operation.state) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION 'the state must be a JSON object' USING ERRCODE = '22023';
  END IF;
  PERFORM semel.own_operation(record, token);
  until := semel.extend_lease(record, token, lease);
  -- What follows may be a call to somebody else, with what this phase has decided.
  PERFORM semel.commit_synchronously();
  UPDATE semel.operations o
  SET recovery_point = move_operation.recovery_point, state = move_operation.state, attempts = 0,
      next_try_at = until, last_error = NULL, updated_at = semel.now_ms()
  WHERE o.record = move_operation.record;
END $$;

-- Ends the last phase: completes the record, and the operation is over.
CREATE FUNCTION semel.finish_operation(record bytea, token bytea, status integer,
                                       headers jsonb DEFAULT '[]', body bytea DEFAULT '') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  PERFORM semel.require_phase(record, token);
  PERFORM semel.own_operation(record, token);
  PERFORM semel.complete(record => finish_operation.record, token => finish_operation.token,
                         status => finish_operation.status, headers => finish_operation.headers,
                         body => finish_operation.body);
  DELETE FROM semel.operations o WHERE o.record = finish_operation.record;
END $$;

-- Between phases: extends the lease. SM001 if the claim is not ours any more.
CREATE FUNCTION semel.renew_operation(record bytea, token bytea, lease interval DEFAULT '30 seconds')
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  until bigint;
BEGIN
  PERFORM semel.own_operation(record, token);
  until := semel.extend_lease(record, token, lease);
  UPDATE semel.operations o SET next_try_at = until WHERE o.record = renew_operation.record;
END $$;

-- A step failed: gives the claim back. A retry may resume it at once, a completer after a while.
-- Where nothing was done yet, neither by a phase nor by a call, the key is released and the operation
-- forgotten. Does nothing if the claim is not ours any more.
CREATE FUNCTION semel.suspend_operation(record bytea, token bytea, why text, nothing_done boolean)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  own semel.operations;
  now_is bigint := semel.now_ms();
BEGIN
  BEGIN
    own := semel.own_operation(record, token);
  EXCEPTION WHEN SQLSTATE 'SM001' OR SQLSTATE 'SM002' OR lock_not_available THEN
    RETURN;
  END;
  IF nothing_done AND own.recovery_point = '' THEN
    PERFORM semel.release(record => suspend_operation.record, token => suspend_operation.token,
                          reason => left(why, 200));
    DELETE FROM semel.operations o WHERE o.record = suspend_operation.record;
    RETURN;
  END IF;
  -- A lease of no length: a renewal that ends it. Unless it was taken over since it was looked at.
  UPDATE semel.records r SET version = nextval('semel.versions'), lease_until = now_is - 1,
                             due_at = least(r.due_at, now_is)
  WHERE r.id = suspend_operation.record AND r.state = 2
    AND semel.same_token(r.token, suspend_operation.token);
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE semel.operations o
  SET next_try_at = now_is + semel.backoff(o.attempts), last_error = left(why, 1000),
      updated_at = now_is
  WHERE o.record = suspend_operation.record;
END $$;

-- Whether an operation of this record has begun and not finished.
CREATE FUNCTION semel.is_unfinished(record bytea) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = semel, pg_temp AS
$$ SELECT EXISTS (SELECT FROM semel.operations o
                  WHERE o.record = is_unfinished.record AND semel.may_use(o.tenant, o.operation)) $$;

-- Claims the record of an abandoned operation again. Says why it cannot be, or null.
CREATE FUNCTION semel.take_over(abandoned semel.operations, lease interval) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  found_one semel.records;
  now_is bigint := semel.now_ms();
  until bigint := semel.after(now_is, semel.ms(lease));
  verdict text;
BEGIN
  SELECT r.* INTO found_one FROM semel.records r WHERE r.id = abandoned.record
  FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    PERFORM FROM semel.records r WHERE r.id = abandoned.record;
    IF FOUND THEN RETURN 'busy'; END IF;
    -- It was released and has expired, or the route forgets what it releases.
    IF semel.record_id(abandoned.namespace, abandoned.tenant, abandoned.operation, abandoned.key)
       <> abandoned.record THEN
      RETURN 'its record is gone, and cannot be made again from what is known of its key';
    END IF;
    SELECT c.verdict INTO verdict
    FROM semel.claim(tenant => abandoned.tenant, operation => abandoned.operation,
                     key => abandoned.key, fingerprint => abandoned.fingerprint,
                     lease => take_over.lease, unknown => 'retry',
                     namespace => abandoned.namespace) c;
    RETURN CASE WHEN verdict <> 'execute' THEN 'busy' END;
  END IF;
  IF found_one.state = 2 AND now_is <= found_one.lease_until THEN RETURN 'busy'; END IF;
  IF found_one.state = 1 THEN RETURN 'busy'; END IF;
  IF found_one.state IN (3, 6) OR (found_one.state = 5 AND found_one.hold_until <= now_is) THEN
    RETURN 'its record was ended by somebody else';
  END IF;
  UPDATE semel.records r
  SET version = nextval('semel.versions'), state = 2, attempt = r.attempt + 1,
      token = semel.random_token(), flags = r.flags & ~1,
      lease_until = until, updated_at = now_is, expires_at = semel.never(),
      tombstone_until = semel.never(), hold_until = semel.never(), due_at = until, result = 0,
      answer_day = NULL, answer_version = NULL, awaited = false, unknown_since = NULL,
      noted = semel.note(r.noted, now_is, 2, r.attempt + 1, 'claimed again by ' || session_user ||
                         ': an operation in phases was left behind')
  WHERE r.id = abandoned.record;
  PERFORM semel.tell(found_one);  -- the claim that was waited for is over
  RETURN NULL;
END $$;

-- The next operation of these names that nobody works on and that is due, under a new claim. No row:
-- there is none now. For a transaction of its own. Waits for nobody.
CREATE FUNCTION semel.take_abandoned(names text[], lease interval DEFAULT '30 seconds',
                                     max_attempts integer DEFAULT 20)
RETURNS TABLE (record bytea, token bytea, attempt integer, name text, tenant text, key text,
               arguments bytea, recovery_point text, state json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  one semel.operations;
  trouble text;
  now_is bigint;
BEGIN
  FOR round IN 1..100 LOOP
    now_is := semel.now_ms();
    SELECT o.* INTO one FROM semel.operations o
    WHERE o.problem IS NULL AND o.next_try_at <= now_is AND o.name = ANY (names)
      AND o.attempts < max_attempts AND semel.may_use(o.tenant, o.operation)
    ORDER BY o.next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN; END IF;

    trouble := semel.take_over(one, lease);
    IF trouble IS NULL THEN
      UPDATE semel.operations o
      SET attempts = o.attempts + 1, updated_at = now_is,
          next_try_at = semel.after(now_is, greatest(semel.ms(lease),
                                                     semel.backoff(o.attempts)))
      WHERE o.record = one.record;
      RETURN QUERY SELECT r.id, r.token, r.attempt, one.name, one.tenant, one.key, one.arguments,
                          one.recovery_point, one.state
                   FROM semel.records r WHERE r.id = one.record;
      RETURN;
    END IF;
    UPDATE semel.operations o
    SET problem = CASE WHEN trouble <> 'busy' THEN trouble END,
        -- Not before the lease of whoever has it, and not in the next round.
        next_try_at = greatest(now_is + 1000,
                               (SELECT r.lease_until + 1 FROM semel.records r
                                WHERE r.id = one.record AND r.state = 2))
    WHERE o.record = one.record;
  END LOOP;
END $$;

-- What completers have given up, oldest first. A retry of the client still resumes it.
CREATE FUNCTION semel.stuck_operations(names text[], max_attempts integer DEFAULT 20)
RETURNS TABLE (record bytea, name text, tenant text, key text, recovery_point text, attempts integer,
               why text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = semel, pg_temp AS
$$ SELECT o.record, o.name, o.tenant, o.key, o.recovery_point, o.attempts,
          coalesce(o.problem, o.last_error, 'its runner died each time')
   FROM semel.operations o
   WHERE (o.problem IS NOT NULL OR
          (o.attempts >= stuck_operations.max_attempts AND o.next_try_at <= semel.now_ms()))
     AND o.name = ANY (stuck_operations.names) AND semel.may_use(o.tenant, o.operation)
   ORDER BY o.created_at LIMIT 1000 $$;

-- Offered to applications, besides those of before.
CREATE OR REPLACE FUNCTION semel.offered() RETURNS SETOF regprocedure LANGUAGE sql STABLE AS
$$ SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p
   WHERE p.pronamespace = (SELECT relnamespace FROM pg_catalog.pg_class
                           WHERE oid = 'semel.records'::regclass)
     AND p.prosecdef
     AND p.proname IN ('claim', 'complete', 'release', 'guard', 'derive_key', 'enqueue',
                       'begin_operation', 'adopt_operation', 'enter_phase', 'move_operation',
                       'finish_operation', 'renew_operation', 'suspend_operation', 'is_unfinished',
                       'take_abandoned', 'stuck_operations') $$;
SELECT semel.allow(r.rolname, g.tenant, g.operation)
FROM semel.grants g JOIN pg_catalog.pg_roles r ON r.oid = g.role;
SELECT semel.close_to_public();
