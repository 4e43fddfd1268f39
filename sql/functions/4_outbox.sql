-- The functions of the outbox. sql/004_outbox.sql explains lanes, leases and order.

-- All messages, waiting and dead, for people and for `semel outbox`.
CREATE OR REPLACE VIEW semel.outbox_rows AS
SELECT o.id,
       CASE WHEN l.due_at = semel.never() THEN 'blocked'
            WHEN l.holder IS NOT NULL AND l.due_at > semel.now_ms() THEN 'leased'
            ELSE 'waiting' END AS state,
       l.destination, l.ordering_key, o.payload, o.headers, o.record, o.enqueued_at, o.attempts,
       o.last_error, l.due_at, l.holder, NULL::bigint AS died_at
FROM semel.outbox o JOIN semel.outbox_lanes l USING (lane)
UNION ALL
SELECT id, 'dead', destination, ordering_key, payload, headers, record, enqueued_at, attempts,
       last_error, NULL, NULL, died_at
FROM semel.dead_letters;

CREATE OR REPLACE FUNCTION semel.ordering_lock(destination text, ordering_key text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS
$$ SELECT hashtextextended('semel.outbox ' || length(destination) || ' ' || destination || ordering_key,
                           0) $$;

-- An idle relay holds this lock exclusively. enqueue() tries to share it until the end of its
-- transaction: if it cannot, a relay is idle and has to be notified; if it can, no relay can become
-- idle before that transaction ends. So no message is overlooked, and busy relays cost no NOTIFY
-- (with one in every transaction, commits would wait for each other).
CREATE OR REPLACE FUNCTION semel.outbox_idle_lock() RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT hashtextextended('semel.outbox_idle', 0) $$;

CREATE OR REPLACE FUNCTION semel.outbox_channel() RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT 'outbox_' || substring(md5('semel.outbox') FROM 1 FOR 16) $$;

CREATE OR REPLACE FUNCTION semel.check_outbox_headers(headers jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  field record;
BEGIN
  IF jsonb_typeof(headers) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION 'headers must be an object whose values are strings' USING ERRCODE = '22023';
  END IF;
  IF octet_length(headers::text) > 16384 THEN
    RAISE EXCEPTION 'headers are larger than 16 KiB' USING ERRCODE = '22023';
  END IF;
  FOR field IN SELECT name, value FROM jsonb_each(headers) AS e(name, value) LOOP
    IF jsonb_typeof(field.value) <> 'string' OR (field.value #>> '{}') !~ '^[ -~]*$' THEN
      RAISE EXCEPTION 'header %: the value must be a string of printable ASCII characters', field.name
        USING ERRCODE = '22023';
    END IF;
    IF field.name !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$' OR
       lower(field.name) IN ('host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive',
                             'te', 'trailer', 'upgrade', 'expect', 'user-agent', 'idempotency-key') OR
       lower(field.name) LIKE 'proxy-%' THEN
      RAISE EXCEPTION 'header %: a message may not set this header', field.name USING ERRCODE = '22023';
    END IF;
  END LOOP;
END $$;

-- Returns the lane for a message, and creates it if needed. FOR KEY SHARE keeps relays from removing it
-- until the transaction ends. The caller holds the ordering lock, so no other transaction creates this
-- lane. If the snapshot is older than the lane (REPEATABLE READ and above), it fails with 40001.
CREATE OR REPLACE FUNCTION semel.lane_for(id bigint, destination text, ordering_key text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  found_lane bigint;
BEGIN
  IF lane_for.ordering_key IS NOT NULL THEN
    SELECT l.lane INTO found_lane FROM semel.outbox_lanes l
    WHERE l.destination = lane_for.destination AND l.ordering_key = lane_for.ordering_key
    FOR KEY SHARE;
    IF FOUND THEN RETURN found_lane; END IF;
  END IF;
  INSERT INTO semel.outbox_lanes (lane, destination, ordering_key, due_at)
  VALUES (lane_for.id, lane_for.destination, lane_for.ordering_key, semel.now_ms())
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the ordering key was used by another transaction at the same time' USING ERRCODE = '40001';
  END IF;
  RETURN lane_for.id;
END $$;

-- Puts a message into the outbox: it is delivered if and only if the caller's transaction commits.
-- Returns a unique number. With an ordering key it waits until other transactions that enqueued under
-- this destination and key have ended. With a record the derived key comes from the record.
-- `payload` is bytea, text, json or jsonb: bytes_of(). In earlier versions it was bytea.
DROP FUNCTION IF EXISTS semel.enqueue(text, bytea, text, jsonb, bytea);
CREATE OR REPLACE FUNCTION semel.enqueue(destination text, payload anycompatible, ordering_key text DEFAULT NULL,
                              headers jsonb DEFAULT '{}', record bytea DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  number bigint;
BEGIN
  -- A relay may deliver it at once, so a crash must not undo the transaction that it reports.
  PERFORM semel.commit_synchronously();
  PERFORM semel.check_outbox_headers(enqueue.headers);
  IF enqueue.record IS NOT NULL THEN PERFORM semel.check_outbox_record(enqueue.record); END IF;
  IF enqueue.ordering_key IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(semel.ordering_lock(enqueue.destination, enqueue.ordering_key));
  END IF;
  number := nextval('semel.outbox_ids');
  INSERT INTO semel.outbox (id, lane, payload, headers, record, enqueued_at)
  VALUES (number, semel.lane_for(number, enqueue.destination, enqueue.ordering_key),
          semel.bytes_of(enqueue.payload, 'payload'), enqueue.headers, enqueue.record, semel.now_ms());
  IF NOT pg_try_advisory_xact_lock_shared(semel.outbox_idle_lock()) THEN
    PERFORM pg_notify(semel.outbox_channel(), '');
  END IF;
  RETURN number;
END $$;

-- Raises SM002 unless the session's user may use the record: a derived key speaks for its holder.
CREATE OR REPLACE FUNCTION semel.check_outbox_record(record bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  was semel.records;
BEGIN
  SELECT r.* INTO was FROM semel.records r WHERE r.id = check_outbox_record.record;
  IF NOT semel.may_use(was.tenant, was.operation) THEN
    RAISE EXCEPTION USING ERRCODE = 'SM002',
      MESSAGE = format('there is no record %s that %s may use', encode(record, 'hex'), session_user),
      HINT = 'It is gone, or its tenant and operation are not granted: see allow().';
  END IF;
END $$;

-- For relays ------------------------------------------------------------------------------------

-- Gives a lane back. Removes an empty lane, unless a transaction is just enqueuing into it.
CREATE OR REPLACE FUNCTION semel.settle_lane(lane bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  pause bigint := 0;
BEGIN
  IF NOT EXISTS (SELECT FROM semel.outbox o WHERE o.lane = settle_lane.lane) THEN
    PERFORM FROM semel.outbox_lanes l WHERE l.lane = settle_lane.lane FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      pause := 50;  -- ms until the next look: the other transaction may commit a message
    ELSIF NOT EXISTS (SELECT FROM semel.outbox o WHERE o.lane = settle_lane.lane) THEN
      DELETE FROM semel.outbox_lanes l WHERE l.lane = settle_lane.lane;
      RETURN;
    END IF;
  END IF;
  UPDATE semel.outbox_lanes l SET due_at = semel.now_ms() + pause, holder = NULL, blocked_by = NULL
  WHERE l.lane = settle_lane.lane;
END $$;

-- Leases up to slots[i] lanes per destination, those due longest first, and returns the first messages
-- of each, in order. Skips a lane that another relay has locked as a whole, never only its first
-- message. bytes[i] bounds the first messages of a destination together (and once more the messages
-- behind them), so that a relay's memory has a bound. A larger message is taken alone if whole[i],
-- which says that the relay holds nothing else.
CREATE OR REPLACE FUNCTION semel.outbox_take(destinations text[], slots integer[], bytes bigint[], whole boolean[],
                                  who text, lease_ms bigint)
RETURNS TABLE (lane bigint, lease bigint, destination text, ordering_key text, id bigint, payload bytea,
               headers text, record bytea, attempts integer, enqueued_at bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint := semel.now_ms();
  taken bigint[] := '{}';
  batch bigint[];
  behind bigint := 262144;  -- bytes per lane that may follow its first message
  empty_lane bigint;
BEGIN
  FOR i IN 1 .. cardinality(destinations) LOOP
    WITH due AS MATERIALIZED (
      SELECT l.lane, l.due_at FROM semel.outbox_lanes l
      WHERE l.destination = destinations[i] AND l.due_at <= now
      ORDER BY l.due_at LIMIT slots[i] FOR NO KEY UPDATE SKIP LOCKED
    ), sized AS (
      SELECT d.lane, row_number() OVER w AS place,
             sum((SELECT length(o.payload) FROM semel.outbox o WHERE o.lane = d.lane
                  ORDER BY o.id LIMIT 1)) OVER w AS so_far
      FROM due d WINDOW w AS (ORDER BY d.due_at, d.lane)
    ), leased AS (
      UPDATE semel.outbox_lanes l
      SET lease = nextval('semel.outbox_leases'), holder = who, due_at = now + lease_ms
      FROM sized s
      WHERE l.lane = s.lane AND (coalesce(s.so_far, 0) <= bytes[i] OR (s.place = 1 AND whole[i]))
      RETURNING l.lane
    )
    SELECT coalesce(array_agg(lane), '{}') INTO batch FROM leased;
    taken := taken || batch;
    IF batch <> '{}' THEN
      behind := least(behind, bytes[i] / cardinality(batch));
    END IF;
  END LOOP;
  IF taken = '{}' THEN RETURN; END IF;
  -- A separate statement, so that it sees everything committed before the lanes were locked.
  FOR empty_lane IN
    SELECT t FROM unnest(taken) t WHERE NOT EXISTS (SELECT FROM semel.outbox o WHERE o.lane = t)
  LOOP
    PERFORM semel.settle_lane(empty_lane);
  END LOOP;
  RETURN QUERY
  SELECT l.lane, l.lease, l.destination, l.ordering_key, m.id, m.payload, m.headers::text, m.record,
         m.attempts, m.enqueued_at
  FROM semel.outbox_lanes l CROSS JOIN LATERAL (
    -- The first message, and more as long as they are small.
    SELECT s.* FROM (
      SELECT h.*, sum(length(h.payload)) OVER (ORDER BY h.id) AS bytes,
             row_number() OVER (ORDER BY h.id) AS place
      FROM (SELECT o.* FROM semel.outbox o WHERE o.lane = l.lane ORDER BY o.id LIMIT 16) h) s
    WHERE s.place = 1 OR s.bytes <= behind
  ) m
  WHERE l.lane = ANY (taken) AND l.holder = who
  ORDER BY l.lane, m.id;
END $$;

-- Records the results of deliveries, in order: `delivered`, `retry` (after delays[i] ms; gives the lane
-- back), `dead`, `blocked` (the message is dead and the lane waits behind it), `end` (gives the lane
-- back). Returns the indexes of items whose holder has lost the lease; it changes nothing for these.
CREATE OR REPLACE FUNCTION semel.outbox_report(lanes bigint[], leases bigint[], holders text[], ids bigint[],
                                    verdicts text[], errors text[], delays bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  i integer;
BEGIN
  -- A crash may forget a delivery: it is repeated under its key. It must not forget a dead letter,
  -- which could then be delivered after the messages behind it.
  IF 'dead' = ANY (verdicts) THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  FOR i IN SELECT n FROM generate_subscripts(lanes, 1) n ORDER BY lanes[n], n LOOP
    PERFORM FROM semel.outbox_lanes l
    WHERE l.lane = lanes[i] AND l.lease = leases[i] AND l.holder = holders[i] FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      RETURN NEXT i;
      CONTINUE;
    END IF;
    CASE verdicts[i]
    WHEN 'delivered' THEN
      DELETE FROM semel.outbox o WHERE o.id = ids[i] AND o.lane = lanes[i];
    WHEN 'dead' THEN
      WITH gone AS (DELETE FROM semel.outbox o WHERE o.id = ids[i] AND o.lane = lanes[i] RETURNING *)
      INSERT INTO semel.dead_letters
      SELECT g.id, l.destination, l.ordering_key, g.payload, g.headers, g.record, g.enqueued_at,
             g.attempts + 1, errors[i], semel.now_ms()
      FROM gone g JOIN semel.outbox_lanes l ON l.lane = g.lane;
    WHEN 'retry', 'blocked' THEN
      UPDATE semel.outbox o SET attempts = o.attempts + 1, last_error = errors[i]
      WHERE o.id = ids[i] AND o.lane = lanes[i];
      -- The message was dropped meanwhile, so nothing could ever unblock its lane.
      IF NOT FOUND THEN
        PERFORM semel.settle_lane(lanes[i]);
        CONTINUE;
      END IF;
      UPDATE semel.outbox_lanes l
      SET holder = NULL, blocked_by = CASE WHEN verdicts[i] = 'blocked' THEN ids[i] END,
          due_at = CASE WHEN verdicts[i] = 'blocked' THEN semel.never()
                        ELSE semel.now_ms() + delays[i] END
      WHERE l.lane = lanes[i];
    WHEN 'end' THEN
      PERFORM semel.settle_lane(lanes[i]);
    END CASE;
  END LOOP;
END $$;

-- Extends leases. Returns the indexes of those that the holder has lost.
CREATE OR REPLACE FUNCTION semel.outbox_renew(lanes bigint[], leases bigint[], holders text[], lease_ms bigint)
RETURNS SETOF bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  i integer;
BEGIN
  FOR i IN SELECT n FROM generate_subscripts(lanes, 1) n ORDER BY lanes[n] LOOP
    UPDATE semel.outbox_lanes l SET due_at = semel.now_ms() + lease_ms
    WHERE l.lane = lanes[i] AND l.lease = leases[i] AND l.holder = holders[i];
    IF NOT FOUND THEN RETURN NEXT i; END IF;
  END LOOP;
END $$;

-- Returns in how many milliseconds the next lane of these destinations is due; null if there is none.
CREATE OR REPLACE FUNCTION semel.outbox_next(destinations text[]) RETURNS bigint LANGUAGE sql STABLE AS
$$ SELECT min(first.due_at) - semel.now_ms()
   FROM unnest(destinations) AS d(name) CROSS JOIN LATERAL (
     SELECT l.due_at FROM semel.outbox_lanes l
     WHERE l.destination = d.name AND l.due_at < semel.never() ORDER BY l.due_at LIMIT 1) first $$;

-- Returns the destinations of waiting messages, by name, beginning after `after`. Takes one step in
-- the index per destination.
CREATE OR REPLACE FUNCTION semel.outbox_destinations(after text, names_max integer) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE names AS (
    (SELECT l.destination FROM semel.outbox_lanes l WHERE l.destination > after
     ORDER BY l.destination LIMIT 1)
    UNION ALL
    SELECT (SELECT l.destination FROM semel.outbox_lanes l WHERE l.destination > n.destination
            ORDER BY l.destination LIMIT 1)
    FROM names n WHERE n.destination IS NOT NULL
  )
  SELECT destination FROM names WHERE destination IS NOT NULL LIMIT names_max $$;

-- Tries to become the idle relay (see outbox_idle_lock). Returns `idle`: it is; `another`: there is one
-- already, and notifications reach all listeners; `soon`: a transaction that has enqueued is open.
CREATE OR REPLACE FUNCTION semel.outbox_lie_down() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF pg_try_advisory_lock(semel.outbox_idle_lock()) THEN RETURN 'idle'; END IF;
  IF pg_try_advisory_lock_shared(semel.outbox_idle_lock()) THEN
    PERFORM pg_advisory_unlock_shared(semel.outbox_idle_lock());
    RETURN 'soon';
  END IF;
  RETURN 'another';
END $$;

CREATE OR REPLACE FUNCTION semel.outbox_get_up() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_unlock(semel.outbox_idle_lock());
END $$;

-- For operators ---------------------------------------------------------------------------------

-- Makes messages due now and counts their attempts from zero. Dead letters go back to their place,
-- before the messages that wait under their ordering key. A blocked lane stays blocked, unless the
-- message that blocks it is among them. Returns the ids it found.
CREATE OR REPLACE FUNCTION semel.outbox_retry(ids bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  letter semel.dead_letters;
  its_lane bigint;
  number bigint;
BEGIN
  FOR number IN SELECT DISTINCT n FROM unnest(ids) n ORDER BY n LOOP
    SELECT * INTO letter FROM semel.dead_letters d WHERE d.id = number FOR UPDATE;
    IF FOUND THEN
      IF letter.ordering_key IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(semel.ordering_lock(letter.destination, letter.ordering_key));
      END IF;
      INSERT INTO semel.outbox (id, lane, payload, headers, record, enqueued_at, last_error)
      VALUES (number, semel.lane_for(number, letter.destination, letter.ordering_key), letter.payload,
              letter.headers, letter.record, letter.enqueued_at, letter.last_error);
      DELETE FROM semel.dead_letters d WHERE d.id = number;
    ELSE
      UPDATE semel.outbox o SET attempts = 0 WHERE o.id = number RETURNING o.lane INTO its_lane;
      CONTINUE WHEN NOT FOUND;
      UPDATE semel.outbox_lanes l SET due_at = semel.now_ms(), blocked_by = NULL
      WHERE l.lane = its_lane AND l.holder IS NULL AND coalesce(l.blocked_by, number) = number;
    END IF;
    RETURN NEXT number;
  END LOOP;
  PERFORM pg_notify(semel.outbox_channel(), '');
END $$;

-- Removes messages, dead or waiting. A blocked lane stays blocked, unless the message that blocks it is
-- among them. Returns the ids it found. A message that is being delivered may still arrive.
CREATE OR REPLACE FUNCTION semel.outbox_drop(ids bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  its_lane bigint;
  number bigint;
BEGIN
  FOR number IN SELECT DISTINCT n FROM unnest(ids) n ORDER BY n LOOP
    DELETE FROM semel.dead_letters d WHERE d.id = number;
    IF NOT FOUND THEN
      DELETE FROM semel.outbox o WHERE o.id = number RETURNING o.lane INTO its_lane;
      CONTINUE WHEN NOT FOUND;
      PERFORM FROM semel.outbox_lanes l
      WHERE l.lane = its_lane AND l.holder IS NULL AND coalesce(l.blocked_by, number) = number
      FOR NO KEY UPDATE;
      IF FOUND THEN PERFORM semel.settle_lane(its_lane); END IF;
    END IF;
    RETURN NEXT number;
  END LOOP;
  PERFORM pg_notify(semel.outbox_channel(), '');
END $$;
