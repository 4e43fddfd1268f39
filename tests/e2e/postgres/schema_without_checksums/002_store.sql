-- What the store `postgres` calls: many records a call, and no call ever waits for another's
-- transaction. Each call is a transaction of its own, READ COMMITTED, and each statement in it sees
-- what was committed when it began. The session is set up in src/stores/postgres_session.cc: sequential
-- scans, hash and merge joins are off, so that every plan goes through the indexes whatever the
-- statistics say, and plans are generic.

-- The nodes that use these records, by a name each process makes up. Writing here is the first thing
-- a new connection does: after a crash of the server rows may be visible that its synchronous
-- standby does not have, and this commit waits until it has them.
CREATE TABLE semel.nodes (
  node    text PRIMARY KEY,
  seen_at bigint NOT NULL
);

CREATE FUNCTION semel.hello(name text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM semel.nodes WHERE node IN (
    SELECT n.node FROM semel.nodes n WHERE n.seen_at < semel.now_ms() - 86400000
    FOR UPDATE SKIP LOCKED);
  INSERT INTO semel.nodes VALUES (name, semel.now_ms())
  ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at;
  RETURN semel.now_ms();
END $$;

-- A record with its answer; src/stores/postgres_rows.cc reads it by position.
CREATE TYPE semel.whole_record AS (
  id bytea, version bigint, state smallint, attempt integer, token bytea, fingerprint bytea,
  lease_until bigint, created_at bigint, updated_at bigint, expires_at bigint,
  tombstone_until bigint, hold_until bigint, ttl bigint, tombstone bigint, hold_for bigint,
  flags smallint, result smallint, response_version text, answer_day integer, tenant text,
  operation text, key text, noted text, rest bytea,
  status integer, headers bytea, body bytea, spilled bigint, sealed_key text, sealed bytea);

-- Records with their answers. STABLE: all of it is one snapshot, so that a record is never seen with
-- the absence of an answer that was replaced meanwhile. A record whose answer is gone (its day was
-- dropped) has answer_day and no status. An answer lies in the parent where the table of its day was
-- made later.
CREATE FUNCTION semel.read_batch(ids bytea[]) RETURNS SETOF semel.whole_record
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

-- Records by the order of `ids`, as many as fit: what comes after `bytes_max` is left out.
CREATE FUNCTION semel.read_page(ids bytea[], bytes_max bigint)
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

-- One swap: the record as it is to be, but for its answer. src/stores/postgres_rows.cc writes both by
-- position.
CREATE TYPE semel.swap_item AS (
  n integer,        -- counts from 1 within a batch
  id bytea,
  expected bigint,  -- its version; 0: there is none
  lock bigint,      -- semel.id_lock(id)
  state smallint,   -- 0: it is to be removed
  attempt integer, token bytea, fingerprint bytea, lease_until bigint, created_at bigint,
  updated_at bigint, expires_at bigint, tombstone_until bigint, hold_until bigint, ttl bigint,
  tombstone bigint, hold_for bigint, due_at bigint, flags smallint, result smallint,
  response_version text, tenant text, operation text, key text,
  answer_day integer,  -- null: it has no answer
  rest bytea);
CREATE TYPE semel.answer_item AS (
  n integer,        -- of its swap_item
  day integer, id bytea, status integer, headers bytea, body bytea, spilled bigint, sealed_key text,
  sealed bytea);

-- Swaps many records at once, an id once. `days` are the days of their answers. For each item that
-- was not applied comes the record as it is now, where there is one and `bytes_max` is not reached:
--   at another version than expected: a conflict
--   at the expected version, or absent where absence was expected: busy, somebody holds it in an
--   open transaction.
-- The last row has the time by this server's clock and the new versions of the items that were
-- applied, each being `base` + n.
--
-- Rows are only taken with SKIP LOCKED. A row is only inserted under its advisory lock, which is not
-- waited for either.
CREATE FUNCTION semel.swap_batch(
  items semel.swap_item[], answers semel.answer_item[], days integer[], updates boolean, removals boolean, inserts boolean,
  bytes_max bigint)
RETURNS TABLE (at bigint, base bigint, versions bigint[], found semel.whole_record)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  insert_looks CONSTANT integer := 5;
  before bigint := nextval('semel.versions');
  -- A list has its price, too.
  lists CONSTANT boolean := cardinality(items) >= 16;
  claimed bytea[];
  first_lease bigint;
  done bigint[] := '{}';
  more bigint[];
  -- Of the records that were replaced or removed: what went with them.
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
    -- By its place: it is locked, so that it stays there. Where another has written to it since this
    -- statement began (only a waiter's mark can be, the version being the same) it is not found, and
    -- counts as held for a moment.
    WITH u AS (
      UPDATE semel.records r SET
        version = before + n.n, state = n.state, attempt = n.attempt, token = n.token,
        fingerprint = n.fingerprint, lease_until = n.lease_until, created_at = n.created_at,
        updated_at = n.updated_at, expires_at = n.expires_at, tombstone_until = n.tombstone_until,
        hold_until = n.hold_until, ttl = n.ttl, tombstone = n.tombstone, hold_for = n.hold_for,
        -- A renewed lease leaves the index alone; the sweeper looks at lease_until as well. So does
        -- what ends about when the claim was expected to.
        due_at = CASE WHEN n.state = 2 AND n.was_state = 2 AND n.token = n.was_token
                       AND n.due_at >= n.was_due THEN n.was_due
                      WHEN n.state > 2 AND n.was_due - n.due_at BETWEEN 0 AND semel.slack(n.ttl)
                        THEN n.was_due
                      ELSE n.due_at END,
        flags = n.flags, result = n.result, response_version = n.response_version,
        answer_day = n.answer_day,
        answer_version = CASE WHEN n.answer_day IS NOT NULL THEN before + n.n END,
        awaited = n.was_awaited AND n.state IN (1, 2) AND n.token = n.was_token,
        tenant = n.tenant, operation = n.operation, key = n.key, noted = NULL, rest = n.rest,
        unknown_since = CASE WHEN n.state = 5 THEN n.updated_at END
      FROM (
        SELECT x.*, o.ctid AS place, o.state AS was_state, o.token AS was_token,
               o.flags AS was_flags, o.awaited AS was_awaited, o.due_at AS was_due,
               o.answer_version AS was_answer
        FROM unnest(items) x JOIN semel.records o ON o.id = x.id AND o.version = x.expected
        WHERE x.expected <> 0 AND x.state <> 0
        FOR UPDATE OF o SKIP LOCKED) n
      WHERE r.ctid = n.place
      RETURNING r.version, r.id, n.was_token, n.was_answer,
                n.was_awaited AND NOT r.awaited AS has_ended,
                n.was_flags & 16 <> 0 AND NOT (n.flags & 16 <> 0 AND n.token = n.was_token)
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
      WHERE x.expected <> 0 AND x.state = 0
      FOR UPDATE OF o SKIP LOCKED),
    d AS (
      DELETE FROM semel.records r USING n WHERE r.id = n.id
      RETURNING n.n, r.id, r.token, r.flags, r.awaited, r.answer_version)
    SELECT array_agg(before + d.n),
           array_agg(d.answer_version) FILTER (WHERE d.answer_version IS NOT NULL),
           array_agg(d.id) FILTER (WHERE d.flags & 16 <> 0),
           array_agg(d.token) FILTER (WHERE d.flags & 16 <> 0),
           array_agg(d.id) FILTER (WHERE d.awaited)
    INTO more, gone_answered_versions, gone_spilled_ids, gone_spilled_tokens, gone_ended FROM d;
    done := done || more;
    answered_versions := answered_versions || gone_answered_versions;
    spilled_ids := spilled_ids || gone_spilled_ids;
    spilled_tokens := spilled_tokens || gone_spilled_tokens;
    ended := ended || gone_ended;
  END IF;

  IF inserts THEN
    -- What is visible is not inserted over: somebody may be removing it, and would be waited for. Nor is
    -- what somebody else is inserting, for its lock is not free. What is left is an insertion that was
    -- committed since the statement began: then the next look sees it. Looking again is cheaper than
    -- ON CONFLICT, which has its price for every row.
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
            CASE WHEN lists AND x.state = 2
                 THEN semel.after(semel.after(x.created_at, x.ttl), semel.slack(x.ttl))
                 ELSE x.due_at END,
            x.flags, x.result, x.response_version, x.answer_day,
            CASE WHEN x.answer_day IS NOT NULL THEN before + x.n END,
            x.tenant, x.operation, x.key, x.rest, CASE WHEN x.state = 5 THEN x.updated_at END
          FROM (SELECT * FROM unnest(items) x
                WHERE x.expected = 0 AND x.state <> 0
                  AND NOT EXISTS (SELECT FROM semel.records o WHERE o.id = x.id)
                OFFSET 0) x
          WHERE pg_try_advisory_xact_lock(x.lock)
          RETURNING r.version, r.id, r.state, r.lease_until)
        SELECT array_agg(i.version), array_agg(i.id) FILTER (WHERE i.state = 2),
               min(i.lease_until) FILTER (WHERE i.state = 2)
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
  -- Days are dropped whole; only the parent is not.
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
      SELECT NULL::bigint, NULL::bigint, NULL::bigint[], b FROM semel.read_page(
        (SELECT array_agg(x.id ORDER BY x.n) FROM unnest(items) x WHERE before + x.n <> ALL (done)),
        bytes_max) b;
  END IF;
  at := semel.now_ms();
  base := before;
  versions := done;
  found := NULL;
  RETURN NEXT;
END $$;

-- Removes what is past its time by this server's clock, with what belongs to it. Any number of
-- nodes share the work.
CREATE FUNCTION semel.remove_expired(records_max integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  today bigint := semel.now_ms();
  ids bytea[];
  tokens bytea[];
  removed integer;
BEGIN
  WITH due AS MATERIALIZED (
    SELECT r.id FROM semel.records r
    WHERE r.due_at <= today AND r.due_at < 9223372036854775807 AND r.state IN (3, 4, 6)
      AND r.tombstone_until <= today AND (r.state = 6 OR r.expires_at <= today)
    ORDER BY r.due_at LIMIT records_max
    FOR UPDATE SKIP LOCKED),
  gone AS (
    DELETE FROM semel.records r USING due WHERE r.id = due.id
    RETURNING r.id, r.token, r.flags, r.answer_day, r.answer_version),
  answers AS (
    DELETE FROM ONLY semel.answers a USING gone
    WHERE gone.answer_day IS NOT NULL AND a.id = gone.id AND a.version = gone.answer_version)
  SELECT count(*), array_agg(gone.id) FILTER (WHERE gone.flags & 16 <> 0),
         array_agg(gone.token) FILTER (WHERE gone.flags & 16 <> 0)
  INTO removed, ids, tokens FROM gone;
  IF ids IS NOT NULL THEN
    DELETE FROM semel.chunks c USING unnest(ids, tokens) AS x (id, token)
    WHERE c.id = x.id AND c.token = x.token;
  END IF;
  RETURN removed;
END $$;

-- Looks at the claims whose first lease was to be over by now. Most of them have ended. What has not is
-- from now on found by its due_at. Returns how many it has looked at: fewer than `claims_max`, if there
-- are no more.
CREATE FUNCTION semel.list_leases(until bigint, claims_max integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  held_for CONSTANT bigint := 1000;  -- when to look again at what somebody else is writing
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
    WHERE r.id = ANY (list.ids) AND r.state = 2 AND r.due_at > r.lease_until;
    listed := 0;
    IF running IS NOT NULL THEN
      WITH n AS MATERIALIZED (
        SELECT r.id FROM semel.records r
        WHERE r.id = ANY (running) AND r.state = 2 AND r.due_at > r.lease_until
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

-- What the sweeper is to look at. A lease may have been renewed since due_at was written.
CREATE FUNCTION semel.due_ids(until bigint, records_max integer) RETURNS bytea[]
LANGUAGE sql STABLE AS $$
  SELECT array_agg(d.id) FROM (
    SELECT r.id FROM semel.records r
    WHERE r.due_at <= until AND r.due_at < 9223372036854775807
      AND (r.state > 2 OR r.lease_until <= until)
    ORDER BY r.due_at LIMIT records_max) d $$;

CREATE FUNCTION semel.ids_after(last bytea, records_max integer) RETURNS bytea[]
LANGUAGE sql STABLE AS $$
  SELECT array_agg(p.id) FROM (
    SELECT r.id FROM semel.records r WHERE r.id > last ORDER BY r.id LIMIT records_max) p $$;

-- Marks claims whose end another process waits for. Only what is no longer so, or is held in an open
-- transaction, comes back: `held` says which.
CREATE FUNCTION semel.await_batch(ids bytea[], tokens bytea[])
RETURNS TABLE (id bytea, token bytea, held boolean) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  WITH n AS MATERIALIZED (
    SELECT o.id FROM unnest(ids, tokens) AS x (id, token)
    JOIN semel.records o ON o.id = x.id AND o.token = x.token
    WHERE o.state IN (1, 2) AND NOT o.awaited
    FOR UPDATE OF o SKIP LOCKED)
  UPDATE semel.records r SET awaited = true FROM n WHERE r.id = n.id;
  RETURN QUERY
    SELECT x.id, x.token, o.id IS NOT NULL
    FROM unnest(ids, tokens) AS x (id, token)
    LEFT JOIN semel.records o ON o.id = x.id AND o.token = x.token AND o.state IN (1, 2)
    WHERE o.awaited IS NOT TRUE;
END $$;

-- Drops chunks that were put more than a day ago and that no record refers to: one step through what
-- was put since `since`. Where to go on; null: it is through.
CREATE FUNCTION semel.drop_orphans(since bigint, chunks_max integer) RETURNS bigint
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
