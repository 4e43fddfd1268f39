-- The functions of the store `postgres`. They take many records per call and never wait for another
-- transaction. Each call is a transaction of its own, READ COMMITTED, so each statement in it sees
-- everything committed before that statement began. src/stores/postgres/session.cc sets up the
-- session: sequential scans, hash joins and merge joins are off, so that every plan uses the indexes
-- whatever the statistics say, and plans are generic.

CREATE OR REPLACE FUNCTION semel.hello(name text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM semel.nodes WHERE node IN (
    SELECT n.node FROM semel.nodes n WHERE n.seen_at < semel.now_ms() - 86400000
    FOR UPDATE SKIP LOCKED);
  INSERT INTO semel.nodes VALUES (name, semel.now_ms())
  ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at;
  RETURN semel.now_ms();
END $$;

-- Returns whether a failover can lose acknowledged writes: a standby follows this server, or is
-- expected to, and no commit waits for it. Logical subscribers and backups do not count as standbys.
CREATE OR REPLACE FUNCTION semel.may_lose_at_failover() RETURNS boolean LANGUAGE sql VOLATILE AS
$$ SELECT current_setting('synchronous_standby_names') = '' AND (
     EXISTS (SELECT FROM pg_catalog.pg_stat_replication r
             WHERE r.state IS DISTINCT FROM 'backup' AND r.pid NOT IN (
               SELECT s.active_pid FROM pg_catalog.pg_replication_slots s
               WHERE s.slot_type = 'logical' AND s.active_pid IS NOT NULL))
     OR EXISTS (SELECT FROM pg_catalog.pg_replication_slots s
                WHERE s.slot_type = 'physical' AND NOT s.temporary)) $$;

-- Reads records with their answers. STABLE, so all of it uses one snapshot: a record never appears
-- without its answer because the answer was replaced meanwhile. A record whose answer is gone (its
-- day was dropped) has answer_day and no status. An answer is in the parent table if the table of its
-- day did not exist when the answer was written.
CREATE OR REPLACE FUNCTION semel.read_batch(ids bytea[]) RETURNS SETOF semel.whole_record
LANGUAGE plpgsql STABLE AS $$
DECLARE
  days integer[];
  day integer;
  place regclass;
BEGIN
  SELECT array_agg(DISTINCT r.answer_day) FILTER (WHERE r.answer_day IS NOT NULL) INTO days
  FROM semel.records r WHERE r.id = ANY (ids);
  RETURN QUERY
    SELECT r.id, r.version, r.state, r.attempt, r.token, r.fingerprint, r.lease_until,
           r.created_at, r.updated_at, r.expires_at, r.tombstone_until, r.hold_until, r.ttl,
           r.tombstone, r.hold_for, r.flags, r.result, r.response_version, r.answer_day, r.tenant,
           r.operation, r.key, r.noted, r.rest,
           NULL::integer, NULL::bytea, NULL::bytea, NULL::bigint, NULL::text, NULL::bytea
    FROM semel.records r WHERE r.id = ANY (ids) AND r.answer_day IS NULL;
  FOREACH day IN ARRAY coalesce(days, '{}') LOOP
    place := semel.answers_of(day);
    RETURN QUERY EXECUTE format(
      'SELECT r.id, r.version, r.state, r.attempt, r.token, r.fingerprint, r.lease_until,
              r.created_at, r.updated_at, r.expires_at, r.tombstone_until, r.hold_until, r.ttl,
              r.tombstone, r.hold_for, r.flags, r.result, r.response_version, r.answer_day, r.tenant,
              r.operation, r.key, r.noted, r.rest,
              a.status, a.headers, a.body, a.spilled, a.sealed_key, a.sealed
       FROM semel.records r LEFT JOIN LATERAL (
         SELECT * FROM ONLY %s d WHERE d.version = r.answer_version AND d.id = r.id
         UNION ALL
         SELECT * FROM ONLY semel.answers p WHERE p.version = r.answer_version AND p.id = r.id
         LIMIT 1) a ON true
       WHERE r.id = ANY ($1) AND r.answer_day = $2', place)
    USING ids, day;
  END LOOP;
END $$;

-- Reads records in the order of `ids`, some at a time, until `bytes_max` is reached.
CREATE OR REPLACE FUNCTION semel.read_page(ids bytea[], bytes_max bigint)
RETURNS SETOF semel.whole_record LANGUAGE plpgsql STABLE AS $$
DECLARE
  read_at_once CONSTANT integer := 16;
  first integer := 1;
  bytes bigint := 0;
  one semel.whole_record;
BEGIN
  WHILE first <= coalesce(cardinality(ids), 0) AND bytes < bytes_max LOOP
    FOR one IN SELECT * FROM semel.read_batch(ids[first:first + read_at_once - 1]) LOOP
      bytes := bytes + coalesce(octet_length(one.rest), 0) + coalesce(octet_length(one.body), 0) +
               coalesce(octet_length(one.sealed), 0);
      RETURN NEXT one;
    END LOOP;
    first := first + read_at_once;
  END LOOP;
END $$;

-- Reads records as read_page() does, for a caller that acts on the result: it replays an answer or
-- repeats a 202. With a synchronous standby, a visible row may not have reached the standby yet, and
-- a failover would lose it after the caller relied on it. So this transaction waits for the standby
-- too (semel.commit_on_standby). Records in progress or released need no wait: a caller that goes on
-- from them writes, and that write waits.
CREATE OR REPLACE FUNCTION semel.read_relied_on(ids bytea[], bytes_max bigint)
RETURNS SETOF semel.whole_record LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  one semel.whole_record;
  decides boolean := false;
BEGIN
  IF current_setting('synchronous_standby_names') = '' THEN
    RETURN QUERY SELECT * FROM semel.read_page(ids, bytes_max);
    RETURN;
  END IF;
  FOR one IN SELECT * FROM semel.read_page(ids, bytes_max) LOOP
    decides := decides OR one.state NOT IN (2 /* in_progress */, 4 /* released */);
    RETURN NEXT one;
  END LOOP;
  IF decides THEN PERFORM semel.commit_on_standby(); END IF;
END $$;

-- Swaps many records at once; each id occurs once. `days` are the days of their answers. For each
-- item that was not applied, returns the current record if there is one, up to `bytes_max` in all:
--   at a version other than expected: a conflict
--   at the expected version, or absent where absence was expected: busy, an open transaction holds
--   the record.
-- The last row has the time by this server's clock and the new versions of the applied items, each
-- of them `base` + n.
--
-- Locks rows with SKIP LOCKED only, and inserts a row only under its advisory lock, for which it does
-- not wait either.
CREATE OR REPLACE FUNCTION semel.swap_batch(
  items semel.swap_item[], answers semel.answer_item[], days integer[], updates boolean, removals boolean, inserts boolean,
  bytes_max bigint)
RETURNS TABLE (at bigint, base bigint, versions bigint[], found semel.whole_record)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  insert_looks CONSTANT integer := 5;
  before bigint := nextval('semel.versions');
  -- A row in semel.leases costs something too, so only larger batches use one.
  lists CONSTANT boolean := cardinality(items) >= 16;
  claimed bytea[];
  first_lease bigint;
  done bigint[] := '{}';
  more bigint[];
  -- Answers, chunks and waits that end with the replaced or removed records.
  answered_versions bigint[];
  spilled_ids bytea[];
  spilled_tokens bytea[];
  ended bytea[];
  gone_answered_versions bigint[];
  gone_spilled_ids bytea[];
  gone_spilled_tokens bytea[];
  gone_ended bytea[];
  a_day integer;
BEGIN
  IF updates THEN
    -- Finds the row by ctid: it is locked, so it stays there. If another transaction has written to
    -- it since this statement began (only `awaited` can differ, since the version is the same), the
    -- row is not found and counts as busy.
    WITH u AS (
      UPDATE semel.records r SET
        version = before + n.n, state = n.state, attempt = n.attempt, token = n.token,
        fingerprint = n.fingerprint, lease_until = n.lease_until, created_at = n.created_at,
        updated_at = n.updated_at, expires_at = n.expires_at, tombstone_until = n.tombstone_until,
        hold_until = n.hold_until, ttl = n.ttl, tombstone = n.tombstone, hold_for = n.hold_for,
        -- Keeps due_at, and so the index, if a lease is renewed (the sweeper checks lease_until as
        -- well) or if the new time is at most slack() before the old one.
        due_at = CASE WHEN n.state = 2 /* in_progress */ AND n.was_state = 2 /* in_progress */
                       AND n.token = n.was_token
                       AND n.due_at >= n.was_due THEN n.was_due
                      WHEN n.state > 2 /* in_progress */
                       AND n.was_due - n.due_at BETWEEN 0 AND semel.slack(n.ttl)
                        THEN n.was_due
                      ELSE n.due_at END,
        flags = n.flags, result = n.result, response_version = n.response_version,
        answer_day = n.answer_day,
        answer_version = CASE WHEN n.answer_day IS NOT NULL THEN before + n.n END,
        awaited = n.was_awaited AND n.state IN (1 /* queued */, 2 /* in_progress */) AND n.token = n.was_token,
        tenant = n.tenant, operation = n.operation, key = n.key, noted = NULL, rest = n.rest,
        unknown_since = CASE WHEN n.state = 5 /* unknown */ THEN n.updated_at END, completed_in = NULL
      FROM (
        SELECT x.*, o.ctid AS place, o.state AS was_state, o.token AS was_token,
               o.flags AS was_flags, o.awaited AS was_awaited, o.due_at AS was_due,
               o.answer_version AS was_answer
        FROM unnest(items) x JOIN semel.records o ON o.id = x.id AND o.version = x.expected
        WHERE x.expected <> 0 AND x.state <> 0 /* removal */
        FOR UPDATE OF o SKIP LOCKED) n
      WHERE r.ctid = n.place
      RETURNING r.version, r.id, n.was_token, n.was_answer,
                n.was_awaited AND NOT r.awaited AS has_ended,
                n.was_flags & 16 /* body_spilled */ <> 0
                  AND NOT (n.flags & 16 /* body_spilled */ <> 0 AND n.token = n.was_token)
                  AS has_left_chunks)
    SELECT coalesce(array_agg(u.version), '{}'),
           array_agg(u.was_answer) FILTER (WHERE u.was_answer IS NOT NULL),
           array_agg(u.id) FILTER (WHERE u.has_left_chunks),
           array_agg(u.was_token) FILTER (WHERE u.has_left_chunks),
           array_agg(u.id) FILTER (WHERE u.has_ended)
    INTO done, answered_versions, spilled_ids, spilled_tokens, ended FROM u;
  END IF;

  IF removals THEN
    WITH n AS MATERIALIZED (
      SELECT x.n, x.id FROM unnest(items) x
      JOIN semel.records o ON o.id = x.id AND o.version = x.expected
      WHERE x.expected <> 0 AND x.state = 0 /* removal */
      FOR UPDATE OF o SKIP LOCKED),
    d AS (
      DELETE FROM semel.records r USING n WHERE r.id = n.id
      RETURNING n.n, r.id, r.token, r.flags, r.awaited, r.answer_version)
    SELECT array_agg(before + d.n),
           array_agg(d.answer_version) FILTER (WHERE d.answer_version IS NOT NULL),
           array_agg(d.id) FILTER (WHERE d.flags & 16 /* body_spilled */ <> 0),
           array_agg(d.token) FILTER (WHERE d.flags & 16 /* body_spilled */ <> 0),
           array_agg(d.id) FILTER (WHERE d.awaited)
    INTO more, gone_answered_versions, gone_spilled_ids, gone_spilled_tokens, gone_ended FROM d;
    done := done || more;
    answered_versions := answered_versions || gone_answered_versions;
    spilled_ids := spilled_ids || gone_spilled_ids;
    spilled_tokens := spilled_tokens || gone_spilled_tokens;
    ended := ended || gone_ended;
  END IF;

  IF inserts THEN
    -- Skips ids with a visible row: a transaction may be removing it, and the insert would wait for
    -- it. Skips ids that another transaction is inserting, since their lock is taken. A conflict is
    -- left only with an insert committed since the statement began; the next look sees it. Looking
    -- again is cheaper than ON CONFLICT, which costs time for every row.
    FOR look IN 1..insert_looks LOOP
      BEGIN
        WITH i AS (
          INSERT INTO semel.records AS r (
            id, version, state, attempt, token, fingerprint, lease_until, created_at, updated_at,
            expires_at, tombstone_until, hold_until, ttl, tombstone, hold_for, due_at, flags, result,
            response_version, answer_day, answer_version, tenant, operation, key, rest, unknown_since)
          SELECT x.id, before + x.n, x.state, x.attempt, x.token, x.fingerprint, x.lease_until,
            x.created_at, x.updated_at, x.expires_at, x.tombstone_until, x.hold_until, x.ttl,
            x.tombstone, x.hold_for,
            CASE WHEN lists AND x.state = 2 /* in_progress */
                 THEN semel.after(semel.after(x.created_at, x.ttl), semel.slack(x.ttl))
                 ELSE x.due_at END,
            x.flags, x.result, x.response_version, x.answer_day,
            CASE WHEN x.answer_day IS NOT NULL THEN before + x.n END,
            x.tenant, x.operation, x.key, x.rest, CASE WHEN x.state = 5 /* unknown */ THEN x.updated_at END
          FROM (SELECT * FROM unnest(items) x
                WHERE x.expected = 0 AND x.state <> 0 /* removal */
                  AND NOT EXISTS (SELECT FROM semel.records o WHERE o.id = x.id)
                OFFSET 0) x
          WHERE pg_try_advisory_xact_lock(x.lock)
          RETURNING r.version, r.id, r.state, r.lease_until)
        SELECT array_agg(i.version), array_agg(i.id) FILTER (WHERE i.state = 2 /* in_progress */),
               min(i.lease_until) FILTER (WHERE i.state = 2 /* in_progress */)
        INTO more, claimed, first_lease FROM i;
        EXIT;
      EXCEPTION WHEN unique_violation THEN
        IF look = insert_looks THEN RAISE; END IF;
      END;
    END LOOP;
    done := done || more;
    IF lists AND claimed IS NOT NULL THEN
      INSERT INTO semel.leases VALUES (first_lease, before, claimed);
    END IF;
  END IF;

  FOREACH a_day IN ARRAY days LOOP
    EXECUTE format(
      'INSERT INTO %s SELECT x.day, x.id, $2 + x.n, x.status, x.headers, x.body, x.spilled,
                             x.sealed_key, x.sealed
       FROM unnest($1) x WHERE x.day = $3 AND ($4 OR $2 + x.n = ANY ($5))',
      semel.answers_of(a_day))
    USING answers, before, a_day, cardinality(done) = cardinality(items), done;
  END LOOP;
  -- Only rows in the parent are deleted singly: keep_days() drops the tables of days.
  IF answered_versions IS NOT NULL THEN
    DELETE FROM ONLY semel.answers a WHERE a.version = ANY (answered_versions);
  END IF;
  IF spilled_ids IS NOT NULL THEN
    DELETE FROM semel.chunks c USING unnest(spilled_ids, spilled_tokens) AS x (id, token)
    WHERE c.id = x.id AND c.token = x.token;
  END IF;
  IF ended IS NOT NULL THEN
    PERFORM pg_notify('semel', string_agg(encode(x.id, 'hex'), ','))
    FROM unnest(ended) WITH ORDINALITY AS x (id, n) GROUP BY x.n / 100;
  END IF;

  IF cardinality(done) < cardinality(items) THEN
    RETURN QUERY
      SELECT NULL::bigint, NULL::bigint, NULL::bigint[], b FROM semel.read_relied_on(
        (SELECT array_agg(x.id ORDER BY x.n) FROM unnest(items) x WHERE before + x.n <> ALL (done)),
        bytes_max) b;
  END IF;
  at := semel.now_ms();
  base := before;
  versions := done;
  found := NULL;
  RETURN NEXT;
END $$;

-- Removes records that have expired by this server's clock, with their answers and chunks, but none
-- that expires after `until`: the caller knows whether the clock was set forward. Returns how many it
-- removed. Any number of nodes may call it at once and share the work.
DROP FUNCTION IF EXISTS semel.remove_expired(integer);
CREATE OR REPLACE FUNCTION semel.remove_expired(records_max integer,
                                                until bigint DEFAULT 9223372036854775807)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  today bigint := least(semel.now_ms(), until);
  ids bytea[];
  tokens bytea[];
  removed integer;
BEGIN
  WITH due AS MATERIALIZED (
    SELECT r.id FROM semel.records r
    WHERE r.due_at <= today AND r.due_at < 9223372036854775807
      AND r.state IN (3 /* completed */, 4 /* released */, 6 /* tombstone */)
      AND r.tombstone_until <= today AND (r.state = 6 /* tombstone */ OR r.expires_at <= today)
    ORDER BY r.due_at LIMIT records_max
    FOR UPDATE SKIP LOCKED),
  gone AS (
    DELETE FROM semel.records r USING due WHERE r.id = due.id
    RETURNING r.id, r.token, r.flags, r.answer_day, r.answer_version),
  answers AS (
    DELETE FROM ONLY semel.answers a USING gone
    WHERE gone.answer_day IS NOT NULL AND a.id = gone.id AND a.version = gone.answer_version)
  SELECT count(*), array_agg(gone.id) FILTER (WHERE gone.flags & 16 /* body_spilled */ <> 0),
         array_agg(gone.token) FILTER (WHERE gone.flags & 16 /* body_spilled */ <> 0)
  INTO removed, ids, tokens FROM gone;
  IF ids IS NOT NULL THEN
    DELETE FROM semel.chunks c USING unnest(ids, tokens) AS x (id, token)
    WHERE c.id = x.id AND c.token = x.token;
  END IF;
  RETURN removed;
END $$;

-- Checks the claims whose first lease should have ended by `until`. Most of them have ended. For the
-- others it sets due_at, by which due_ids() finds them from now on. Returns how many it has checked:
-- fewer than `claims_max` if there are no more.
CREATE OR REPLACE FUNCTION semel.list_leases(until bigint, claims_max integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  held_for CONSTANT bigint := 1000;  -- when to look again at rows that are locked
  list semel.leases;
  running bytea[];
  listed integer;
  looked integer := 0;
BEGIN
  FOR list IN
    SELECT l.* FROM semel.leases l WHERE l.look_at <= until
    ORDER BY l.look_at LIMIT claims_max FOR UPDATE SKIP LOCKED
  LOOP
    SELECT array_agg(r.id) INTO running FROM semel.records r
    WHERE r.id = ANY (list.ids) AND r.state = 2 /* in_progress */ AND r.due_at > r.lease_until;
    listed := 0;
    IF running IS NOT NULL THEN
      WITH n AS MATERIALIZED (
        SELECT r.id FROM semel.records r
        WHERE r.id = ANY (running) AND r.state = 2 /* in_progress */ AND r.due_at > r.lease_until
        FOR UPDATE SKIP LOCKED)
      UPDATE semel.records r SET due_at = r.lease_until FROM n WHERE r.id = n.id;
      GET DIAGNOSTICS listed = ROW_COUNT;
    END IF;
    IF listed = coalesce(cardinality(running), 0) THEN
      DELETE FROM semel.leases l WHERE l.look_at = list.look_at AND l.base = list.base;
    ELSE
      UPDATE semel.leases l SET look_at = until + held_for, ids = running
      WHERE l.look_at = list.look_at AND l.base = list.base;
    END IF;
    looked := looked + cardinality(list.ids);
    EXIT WHEN looked >= claims_max;
  END LOOP;
  RETURN looked;
END $$;

-- Returns the ids of due records, for the sweeper. Checks lease_until too: a renewal keeps due_at.
CREATE OR REPLACE FUNCTION semel.due_ids(until bigint, records_max integer) RETURNS bytea[]
LANGUAGE sql STABLE AS $$
  SELECT array_agg(d.id) FROM (
    SELECT r.id FROM semel.records r
    WHERE r.due_at <= until AND r.due_at < 9223372036854775807
      AND (r.state > 2 /* in_progress */ OR r.lease_until <= until)
    ORDER BY r.due_at LIMIT records_max) d $$;

CREATE OR REPLACE FUNCTION semel.ids_after(last bytea, records_max integer) RETURNS bytea[]
LANGUAGE sql STABLE AS $$
  SELECT array_agg(p.id) FROM (
    SELECT r.id FROM semel.records r WHERE r.id > last ORDER BY r.id LIMIT records_max) p $$;

-- Marks claims whose end another process waits for. Returns only those that it could not mark: the
-- claim is over, or, if `held`, an open transaction holds its record.
CREATE OR REPLACE FUNCTION semel.await_batch(ids bytea[], tokens bytea[])
RETURNS TABLE (id bytea, token bytea, held boolean) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  WITH n AS MATERIALIZED (
    SELECT o.id FROM unnest(ids, tokens) AS x (id, token)
    JOIN semel.records o ON o.id = x.id AND o.token = x.token
    WHERE o.state IN (1 /* queued */, 2 /* in_progress */) AND NOT o.awaited
    FOR UPDATE OF o SKIP LOCKED)
  UPDATE semel.records r SET awaited = true FROM n WHERE r.id = n.id;
  RETURN QUERY
    SELECT x.id, x.token, o.id IS NOT NULL
    FROM unnest(ids, tokens) AS x (id, token)
    LEFT JOIN semel.records o ON o.id = x.id AND o.token = x.token
      AND o.state IN (1 /* queued */, 2 /* in_progress */)
    WHERE o.awaited IS NOT TRUE;
END $$;

-- Drops chunks that are older than a day and that no record refers to: one step through the chunks put
-- after `since`. Returns the `since` of the next step, or null at the end.
CREATE OR REPLACE FUNCTION semel.drop_orphans(since bigint, chunks_max integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  looked bigint;
BEGIN
  WITH old AS MATERIALIZED (
    SELECT c.id, c.token, c.index, c.put_at FROM semel.chunks c
    WHERE c.put_at > since AND c.put_at < semel.now_ms() - 86400000
    ORDER BY c.put_at LIMIT chunks_max),
  gone AS (
    DELETE FROM semel.chunks c USING old
    WHERE c.id = old.id AND c.token = old.token AND c.index = old.index
      AND NOT EXISTS (SELECT FROM semel.records r WHERE r.id = old.id AND r.token = old.token))
  SELECT max(old.put_at) INTO looked FROM old HAVING count(*) = chunks_max;
  RETURN looked;
END $$;
