-- The functions of atomic phases. sql/005_phases.sql says what they guard. Arguments and bodies are
-- bytea, text, json or jsonb: bytes_of(). In earlier versions they were bytea.

-- Returns the delay before the next attempt, in milliseconds: 1 s, doubled per attempt up to 10 min,
-- times a random factor from 0.5 to 1, so that operations that failed together do not return together.
CREATE OR REPLACE FUNCTION semel.backoff(attempts integer) RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (least(1000 * 2 ^ least(attempts, 20), 600000) * (0.5 + random() / 2))::bigint $$;

-- Locks and returns the operation of a record. SM002 if the session's user may not use the record,
-- SM001 if there is no operation or the claim is no longer ours, lock_not_available if a phase is open.
CREATE OR REPLACE FUNCTION semel.own_operation(record bytea, token bytea) RETURNS semel.operations
LANGUAGE plpgsql AS $$
DECLARE
  own semel.operations;
  was semel.records := semel.granted_record(record, token);
BEGIN
  SELECT o.* INTO own FROM semel.operations o WHERE o.record = own_operation.record
  FOR UPDATE NOWAIT;
  IF NOT FOUND THEN
    PERFORM semel.raise_stale(record, 'has no unfinished operation');
  ELSIF was.state <> 2 /* in_progress */ OR NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'has been claimed by another attempt, or has ended');
  END IF;
  RETURN own;
END $$;

-- Locks the record, extends the lease of a claim that is still ours, and returns the lease's end. The
-- sweeper may still come at the old end of the lease, and finds it renewed.
CREATE OR REPLACE FUNCTION semel.extend_lease(record bytea, token bytea, lease interval) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  was semel.records := semel.locked_record(record);
  until bigint := greatest(was.lease_until, semel.after(semel.now_ms(), semel.ms(lease)));
BEGIN
  IF was.id IS NULL OR was.state <> 2 /* in_progress */ OR NOT semel.same_token(was.token, token) THEN
    PERFORM semel.raise_stale(record, 'has been claimed by another attempt, or has ended');
  END IF;
  UPDATE semel.records r SET version = nextval('semel.versions'), lease_until = until
  WHERE r.id = was.id;
  RETURN until;
END $$;

-- Stores an operation under the new claim on its record, or finds the one that was left behind. Raises
-- lock_not_available if a phase of it is still open, and SM005 if the operation left behind belongs to
-- another request: it is not finished, so its key is not free.
CREATE OR REPLACE FUNCTION semel.put_operation(name text, namespace text, claimed semel.records, arguments bytea,
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

-- Claims a key for an operation, or resumes the one left behind under it, and returns the recovery
-- point. Call it in a transaction of its own: the steps come after its commit.
DROP FUNCTION IF EXISTS semel.begin_operation(text, text, text, text, bytea, bytea, interval, interval,
                                              interval, text, text);
CREATE OR REPLACE FUNCTION semel.begin_operation(name text, tenant text, operation text, key text,
                                      arguments anycompatible, fingerprint bytea,
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
                               semel.bytes_of(begin_operation.arguments, 'arguments'),
                               begin_operation.lease);
  END IF;
  RETURN QUERY SELECT claimed.verdict, claimed.record, claimed.token, claimed.attempt,
                      own.recovery_point, own.state, own.arguments, claimed.status, claimed.headers,
                      claimed.body;
EXCEPTION  -- undoes the claim, too
  WHEN lock_not_available THEN
    RETURN QUERY SELECT 'busy'::text, NULL::bytea, NULL::bytea, NULL::integer, NULL::text, NULL::json,
                        NULL::bytea, NULL::integer, NULL::jsonb, NULL::bytea;
  WHEN SQLSTATE 'SM005' THEN
    RETURN QUERY SELECT 'mismatch'::text, NULL::bytea, NULL::bytea, NULL::integer, NULL::text,
                        NULL::json, NULL::bytea, NULL::integer, NULL::jsonb, NULL::bytea;
END $$;

-- Begins or resumes an operation under a claim made by the gateway or by take_abandoned().
DROP FUNCTION IF EXISTS semel.adopt_operation(text, bytea, bytea, bytea, interval, text);
CREATE OR REPLACE FUNCTION semel.adopt_operation(name text, record bytea, token bytea,
                                      arguments anycompatible,
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
                             semel.bytes_of(adopt_operation.arguments, 'arguments'),
                             adopt_operation.lease);
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

-- Enters a phase, which lasts to move_operation() or finish_operation() in the same transaction. SM001
-- if the claim is no longer ours; lock_not_available if another phase of it is open.
CREATE OR REPLACE FUNCTION semel.enter_phase(record bytea, token bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  PERFORM semel.own_operation(record, token);
  PERFORM set_config('semel.phase', encode(record || token, 'hex'), true);
END $$;

-- Raises 25000 unless this transaction entered the phase. A phase that ended its transaction on the
-- way would have committed its effect without the fence.
CREATE OR REPLACE FUNCTION semel.require_phase(record bytea, token bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('semel.phase', true) IS DISTINCT FROM encode(record || token, 'hex') THEN
    RAISE EXCEPTION 'this transaction is not the one that entered the phase'
      USING ERRCODE = '25000', HINT = 'A phase neither commits nor rolls back.';
  END IF;
END $$;

-- Ends a phase: the transaction's effect, the recovery point and the state commit together, and only if
-- the claim is still ours.
CREATE OR REPLACE FUNCTION semel.move_operation(record bytea, token bytea, recovery_point text, state json,
                                     lease interval DEFAULT '30 seconds') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  until bigint;
BEGIN
  PERFORM semel.require_phase(record, token);
  IF move_operation.recovery_point = '' THEN
    RAISE EXCEPTION 'a recovery point must have a name' USING ERRCODE = '22023';
  END IF;
  IF json_typeof(move_operation.state) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION 'the state must be a JSON object' USING ERRCODE = '22023';
  END IF;
  PERFORM semel.own_operation(record, token);
  until := semel.extend_lease(record, token, lease);
  -- The next step may be a call to another service, based on the decisions of this phase.
  PERFORM semel.commit_synchronously();
  UPDATE semel.operations o
  SET recovery_point = move_operation.recovery_point, state = move_operation.state, attempts = 0,
      next_try_at = until, last_error = NULL, updated_at = semel.now_ms()
  WHERE o.record = move_operation.record;
END $$;

-- Ends the last phase: completes the record and removes the operation.
DROP FUNCTION IF EXISTS semel.finish_operation(bytea, bytea, integer, jsonb, bytea);
CREATE OR REPLACE FUNCTION semel.finish_operation(record bytea, token bytea, status integer,
                                       headers jsonb DEFAULT '[]', body anycompatible DEFAULT ''::bytea)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
BEGIN
  PERFORM semel.require_phase(record, token);
  PERFORM semel.own_operation(record, token);
  PERFORM semel.complete(record => finish_operation.record, token => finish_operation.token,
                         status => finish_operation.status, headers => finish_operation.headers,
                         body => finish_operation.body);
  DELETE FROM semel.operations o WHERE o.record = finish_operation.record;
END $$;

-- Extends the lease between phases. SM001 if the claim is no longer ours.
CREATE OR REPLACE FUNCTION semel.renew_operation(record bytea, token bytea, lease interval DEFAULT '30 seconds')
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  until bigint;
BEGIN
  PERFORM semel.own_operation(record, token);
  until := semel.extend_lease(record, token, lease);
  UPDATE semel.operations o SET next_try_at = until WHERE o.record = renew_operation.record;
END $$;

-- Gives the claim back after a failed step. A retry may resume the operation at once, a completer after
-- the backoff. If neither a phase nor a call has done anything yet, releases the key and forgets the
-- operation. Does nothing if the claim is no longer ours.
CREATE OR REPLACE FUNCTION semel.suspend_operation(record bytea, token bytea, why text, nothing_done boolean)
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
  -- Ends the lease now, unless another claim has taken the record over since own_operation().
  UPDATE semel.records r SET version = nextval('semel.versions'), lease_until = now_is - 1,
                             due_at = least(r.due_at, now_is)
  WHERE r.id = suspend_operation.record AND r.state = 2 /* in_progress */
    AND semel.same_token(r.token, suspend_operation.token);
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE semel.operations o
  SET next_try_at = now_is + semel.backoff(o.attempts), last_error = left(why, 1000),
      updated_at = now_is
  WHERE o.record = suspend_operation.record;
END $$;

-- Returns whether an operation of this record has begun and not finished.
CREATE OR REPLACE FUNCTION semel.is_unfinished(record bytea) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = semel, pg_temp AS
$$ SELECT EXISTS (SELECT FROM semel.operations o
                  WHERE o.record = is_unfinished.record AND semel.may_use(o.tenant, o.operation)) $$;

-- Claims the record of an abandoned operation again. Returns null, or the reason why it cannot.
CREATE OR REPLACE FUNCTION semel.take_over(abandoned semel.operations, lease interval) RETURNS text
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
    -- The record was released and has expired, or its route forgets released records.
    IF semel.record_id(abandoned.namespace, abandoned.tenant, abandoned.operation, abandoned.key)
       <> abandoned.record THEN
      RETURN 'its record is gone, and too little is known of its key to create it again';
    END IF;
    SELECT c.verdict INTO verdict
    FROM semel.claim(tenant => abandoned.tenant, operation => abandoned.operation,
                     key => abandoned.key, fingerprint => abandoned.fingerprint,
                     lease => take_over.lease, unknown => 'retry',
                     namespace => abandoned.namespace) c;
    RETURN CASE WHEN verdict <> 'execute' THEN 'busy' END;
  END IF;
  IF found_one.state = 2 /* in_progress */ AND now_is <= found_one.lease_until THEN RETURN 'busy'; END IF;
  IF found_one.state = 1 /* queued */ THEN RETURN 'busy'; END IF;
  IF found_one.state IN (3 /* completed */, 6 /* tombstone */)
     OR (found_one.state = 5 /* unknown */ AND found_one.hold_until <= now_is) THEN
    RETURN 'somebody else has ended its record';
  END IF;
  UPDATE semel.records r
  SET version = nextval('semel.versions'), state = 2 /* in_progress */, attempt = r.attempt + 1,
      token = semel.random_token(), flags = r.flags & ~1 /* only_auth_failures */,
      lease_until = until, updated_at = now_is, expires_at = semel.never(),
      tombstone_until = semel.never(), hold_until = semel.never(), due_at = until, result = 0 /* none */,
      answer_day = NULL, answer_version = NULL, awaited = false, unknown_since = NULL,
      noted = semel.note(r.noted, now_is, 2 /* in_progress */, r.attempt + 1, 'claimed again by ' || session_user ||
                         ': an operation in phases was left behind')
  WHERE r.id = abandoned.record;
  PERFORM semel.tell(found_one);  -- the claim that others waited for is over
  RETURN NULL;
END $$;

-- Claims and returns the next due operation with one of these names that nobody is working on; no row
-- if there is none now. Call it in a transaction of its own. Never waits for another transaction.
CREATE OR REPLACE FUNCTION semel.take_abandoned(names text[], lease interval DEFAULT '30 seconds',
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
        -- After the lease of the current holder, and not in the next round.
        next_try_at = greatest(now_is + 1000,
                               (SELECT r.lease_until + 1 FROM semel.records r
                                WHERE r.id = one.record AND r.state = 2 /* in_progress */))
    WHERE o.record = one.record;
  END LOOP;
END $$;

-- Returns the operations that completers have given up, oldest first. A client's retry resumes them.
CREATE OR REPLACE FUNCTION semel.stuck_operations(names text[], max_attempts integer DEFAULT 20)
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
