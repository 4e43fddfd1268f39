-- The outbox: messages that are enqueued in an application's transaction and delivered after it, by
-- any number of relays (`semel relay`), at least once and, per ordering key, in commit order.
-- docs/outbox.md has what that promises and what not.
--
-- A *lane* is what must be delivered one after another: an ordering key of a destination, or a
-- message without one, all by itself. A relay leases lanes, holds no transaction while it delivers,
-- and reports under the number of its lease: whoever lost the lease changes nothing. Numbers of leases
-- are not synced, and may come again after a crash of the server: a lease is its number and its
-- holder, and a relay has another name on each connection.
--
-- Order: enqueue() holds the ordering key (an advisory lock of the transaction) until commit, and
-- draws the message's number while it holds it. So within a lane numbers are in commit order, and
-- no number becomes visible after a higher one.
--
-- Who waits for whom: an application waits for another that holds the same ordering key, and for a
-- relay's short statement. A relay waits for no application: it takes lanes FOR NO KEY UPDATE, with
-- which an application's FOR KEY SHARE does not conflict, and removes one only if nobody has it.

-- What derived keys of messages without a record come from: one for each outbox ever made.
CREATE TABLE semel.outbox_identity (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id  bytea NOT NULL CHECK (length(id) = 32)
);
INSERT INTO semel.outbox_identity (id)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- No CACHE: a session that kept numbers in reserve would draw one lower than another's before it.
CREATE SEQUENCE semel.outbox_ids AS bigint CACHE 1;
CREATE SEQUENCE semel.outbox_leases AS bigint CACHE 64;

CREATE TABLE semel.outbox_lanes (
  lane         bigint PRIMARY KEY,  -- the number of the message that opened it
  destination  text NOT NULL CHECK (octet_length(destination) BETWEEN 1 AND 1024),
  ordering_key text CHECK (octet_length(ordering_key) <= 1024),  -- null: one message, no order
  due_at       bigint NOT NULL,     -- when it may be taken; leased: until then it is the holder's;
                                    -- never: it is blocked by a dead letter
  lease        bigint,              -- of whoever took it last, from semel.outbox_leases: the fence
  holder       text,                -- the relay that has it; null: nobody
  blocked_by   bigint               -- the dead message that all others wait behind; null: none
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX outbox_lanes_of_key ON semel.outbox_lanes (destination, ordering_key)
  WHERE ordering_key IS NOT NULL;
CREATE INDEX outbox_lanes_due ON semel.outbox_lanes (destination, due_at);

CREATE TABLE semel.outbox (
  id          bigint PRIMARY KEY,
  lane        bigint NOT NULL REFERENCES semel.outbox_lanes,
  payload     bytea NOT NULL CHECK (length(payload) <= 16777216),
  headers     jsonb NOT NULL,
  record      bytea CHECK (length(record) = 32),
  enqueued_at bigint NOT NULL,
  attempts    integer NOT NULL DEFAULT 0,
  last_error  text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_of_lane ON semel.outbox (lane, id);

-- What was given up. It stays until somebody retries or drops it.
CREATE TABLE semel.dead_letters (
  id           bigint PRIMARY KEY,
  destination  text NOT NULL,
  ordering_key text,
  payload      bytea NOT NULL,
  headers      jsonb NOT NULL,
  record       bytea,
  enqueued_at  bigint NOT NULL,
  attempts     integer NOT NULL,
  last_error   text,
  died_at      bigint NOT NULL
);

-- For people, and `semel outbox`.
CREATE VIEW semel.outbox_rows AS
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

CREATE FUNCTION semel.ordering_lock(destination text, ordering_key text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS
$$ SELECT hashtextextended('semel.outbox ' || length(destination) || ' ' || destination || ordering_key,
                           0) $$;

-- A relay that has nothing to do holds this lock, exclusively. Who enqueues tries to share it until
-- the end of the transaction: if that fails, a relay waits and is to be notified; if it succeeds, no
-- relay can lie down before that transaction has ended. So no message is overlooked, and a database
-- whose relays are busy pays for no NOTIFY (one in every transaction would make their commits wait
-- for each other).
CREATE FUNCTION semel.outbox_idle_lock() RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT hashtextextended('semel.outbox_idle', 0) $$;

CREATE FUNCTION semel.outbox_channel() RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT 'outbox_' || substring(md5('semel.outbox') FROM 1 FOR 16) $$;

CREATE FUNCTION semel.check_outbox_headers(headers jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  field record;
BEGIN
  IF jsonb_typeof(headers) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION 'headers must be an object of names and texts' USING ERRCODE = '22023';
  END IF;
  IF octet_length(headers::text) > 16384 THEN
    RAISE EXCEPTION 'headers are larger than 16 KiB' USING ERRCODE = '22023';
  END IF;
  FOR field IN SELECT name, value FROM jsonb_each(headers) AS e(name, value) LOOP
    IF jsonb_typeof(field.value) <> 'string' OR (field.value #>> '{}') !~ '^[ -~]*$' THEN
      RAISE EXCEPTION 'header %: the value must be a text of printable ASCII characters', field.name
        USING ERRCODE = '22023';
    END IF;
    IF field.name !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$' OR
       lower(field.name) IN ('host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive',
                             'te', 'trailer', 'upgrade', 'expect', 'user-agent', 'idempotency-key') OR
       lower(field.name) LIKE 'proxy-%' THEN
      RAISE EXCEPTION 'header %: not a name that a message may set', field.name USING ERRCODE = '22023';
    END IF;
  END LOOP;
END $$;

-- The lane of a message, made if need be. It is there until the transaction ends: FOR KEY SHARE keeps
-- relays from removing it. The caller holds the ordering lock, so nobody else makes the same one; if
-- the transaction's snapshot is older than the lane (REPEATABLE READ and above) it fails with 40001.
CREATE FUNCTION semel.lane_for(id bigint, destination text, ordering_key text) RETURNS bigint
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
    RAISE EXCEPTION 'the ordering key was used at the same time' USING ERRCODE = '40001';
  END IF;
  RETURN lane_for.id;
END $$;

-- Puts a message into the outbox: it is delivered if and only if the caller's transaction commits.
-- The number is unique. With an ordering key it waits for other transactions that enqueued under the
-- same destination and key, until they end. With a record the derived key comes from the record.
CREATE FUNCTION semel.enqueue(destination text, payload bytea, ordering_key text DEFAULT NULL,
                              headers jsonb DEFAULT '{}', record bytea DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  number bigint;
BEGIN
  -- It may be delivered at once: what it tells of must not be lost in a crash.
  PERFORM semel.commit_synchronously();
  PERFORM semel.check_outbox_headers(enqueue.headers);
  IF enqueue.record IS NOT NULL THEN PERFORM semel.check_outbox_record(enqueue.record); END IF;
  IF enqueue.ordering_key IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(semel.ordering_lock(enqueue.destination, enqueue.ordering_key));
  END IF;
  number := nextval('semel.outbox_ids');
  INSERT INTO semel.outbox (id, lane, payload, headers, record, enqueued_at)
  VALUES (number, semel.lane_for(number, enqueue.destination, enqueue.ordering_key),
          enqueue.payload, enqueue.headers, enqueue.record, semel.now_ms());
  IF NOT pg_try_advisory_xact_lock_shared(semel.outbox_idle_lock()) THEN
    PERFORM pg_notify(semel.outbox_channel(), '');
  END IF;
  RETURN number;
END $$;

-- A key that is derived from a record says that its holder did it: only who may use the record may.
CREATE FUNCTION semel.check_outbox_record(record bytea) RETURNS void LANGUAGE plpgsql AS $$
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

-- Gives a lane back. One without messages is removed, unless somebody is just enqueuing into it.
CREATE FUNCTION semel.settle_lane(lane bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  pause bigint := 0;
BEGIN
  IF NOT EXISTS (SELECT FROM semel.outbox o WHERE o.lane = settle_lane.lane) THEN
    PERFORM FROM semel.outbox_lanes l WHERE l.lane = settle_lane.lane FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      pause := 50;  -- looked at again then: whoever has it will commit a message or nothing
    ELSIF NOT EXISTS (SELECT FROM semel.outbox o WHERE o.lane = settle_lane.lane) THEN
      DELETE FROM semel.outbox_lanes l WHERE l.lane = settle_lane.lane;
      RETURN;
    END IF;
  END IF;
  UPDATE semel.outbox_lanes l SET due_at = semel.now_ms() + pause, holder = NULL, blocked_by = NULL
  WHERE l.lane = settle_lane.lane;
END $$;

-- Leases up to so many lanes of each destination, those that are due the longest first, and gives the
-- first messages of each, in order. A lane that another relay is looking at right now is passed over
-- as a whole, never its first message only. bytes[i] is what the first messages of a destination may
-- have together (and what comes behind them, once more), so that a relay's memory has a bound; a
-- message that is larger than that is taken alone, where whole[i] says that there is nothing else.
CREATE FUNCTION semel.outbox_take(destinations text[], slots integer[], bytes bigint[], whole boolean[],
                                  who text, lease_ms bigint)
RETURNS TABLE (lane bigint, lease bigint, destination text, ordering_key text, id bigint, payload bytea,
               headers text, record bytea, attempts integer, enqueued_at bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  now bigint := semel.now_ms();
  taken bigint[] := '{}';
  batch bigint[];
  behind bigint := 262144;  -- what a lane may give beside its first message
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
  -- A statement of its own: it sees what was committed before the lanes were locked.
  FOR empty_lane IN
    SELECT t FROM unnest(taken) t WHERE NOT EXISTS (SELECT FROM semel.outbox o WHERE o.lane = t)
  LOOP
    PERFORM semel.settle_lane(empty_lane);
  END LOOP;
  RETURN QUERY
  SELECT l.lane, l.lease, l.destination, l.ordering_key, m.id, m.payload, m.headers::text, m.record,
         m.attempts, m.enqueued_at
  FROM semel.outbox_lanes l CROSS JOIN LATERAL (
    -- The first one, and more as long as they are small.
    SELECT s.* FROM (
      SELECT h.*, sum(length(h.payload)) OVER (ORDER BY h.id) AS bytes,
             row_number() OVER (ORDER BY h.id) AS place
      FROM (SELECT o.* FROM semel.outbox o WHERE o.lane = l.lane ORDER BY o.id LIMIT 16) h) s
    WHERE s.place = 1 OR s.bytes <= behind
  ) m
  WHERE l.lane = ANY (taken) AND l.holder = who
  ORDER BY l.lane, m.id;
END $$;

-- What became of deliveries, in order: `delivered`, `retry` (after delays[i] ms; gives the lane back),
-- `dead`, `blocked` (it is dead and the lane stays behind it), `end` (gives the lane back). Returns the
-- places of those whose leases are not the holder's any more: nothing of theirs was changed.
CREATE FUNCTION semel.outbox_report(lanes bigint[], leases bigint[], holders text[], ids bigint[],
                                    verdicts text[], errors text[], delays bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  i integer;
BEGIN
  -- A delivery that is forgotten is made again, under its key. A dead letter that is forgotten could
  -- be taken after what follows it.
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
      -- It was dropped meanwhile: nothing could ever unblock what it blocks.
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

-- Extends leases. Returns the places of those that are not the holder's any more.
CREATE FUNCTION semel.outbox_renew(lanes bigint[], leases bigint[], holders text[], lease_ms bigint)
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

-- In how many milliseconds the next lane of these destinations is due; null: there is none.
CREATE FUNCTION semel.outbox_next(destinations text[]) RETURNS bigint LANGUAGE sql STABLE AS
$$ SELECT min(first.due_at) - semel.now_ms()
   FROM unnest(destinations) AS d(name) CROSS JOIN LATERAL (
     SELECT l.due_at FROM semel.outbox_lanes l
     WHERE l.destination = d.name AND l.due_at < semel.never() ORDER BY l.due_at LIMIT 1) first $$;

-- The destinations of all that waits, by name, from the one after `after` on; one step in the index
-- each.
CREATE FUNCTION semel.outbox_destinations(after text, names_max integer) RETURNS SETOF text
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

-- To be a relay that waits (see outbox_idle_lock): `idle`, it is; `another`, a relay waits already and
-- everybody who listens is notified; `soon`, a transaction that has enqueued is not over yet.
CREATE FUNCTION semel.outbox_lie_down() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF pg_try_advisory_lock(semel.outbox_idle_lock()) THEN RETURN 'idle'; END IF;
  IF pg_try_advisory_lock_shared(semel.outbox_idle_lock()) THEN
    PERFORM pg_advisory_unlock_shared(semel.outbox_idle_lock());
    RETURN 'soon';
  END IF;
  RETURN 'another';
END $$;

CREATE FUNCTION semel.outbox_get_up() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_unlock(semel.outbox_idle_lock());
END $$;

-- For operators ---------------------------------------------------------------------------------

-- Has these delivered now, with attempts counted from the beginning: dead letters go back to their
-- place, before what still waits under their ordering key. A lane that is blocked stays so, unless the
-- message that blocks it is among them. Returns those it found.
CREATE FUNCTION semel.outbox_retry(ids bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
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

-- Removes these, dead or not. A lane that is blocked stays so, unless the message that blocks it is
-- among them. Returns those it found. What is being delivered may arrive all the same.
CREATE FUNCTION semel.outbox_drop(ids bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
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

REVOKE ALL ON semel.outbox_identity, semel.outbox_lanes, semel.outbox, semel.dead_letters,
  semel.outbox_rows FROM PUBLIC;
REVOKE ALL ON SEQUENCE semel.outbox_ids, semel.outbox_leases FROM PUBLIC;
REVOKE ALL ON FUNCTION semel.enqueue, semel.ordering_lock, semel.outbox_idle_lock,
  semel.outbox_channel, semel.check_outbox_headers, semel.lane_for, semel.check_outbox_record,
  semel.settle_lane, semel.outbox_take, semel.outbox_report, semel.outbox_renew, semel.outbox_next,
  semel.outbox_destinations, semel.outbox_lie_down, semel.outbox_get_up, semel.outbox_retry, semel.outbox_drop FROM PUBLIC;
