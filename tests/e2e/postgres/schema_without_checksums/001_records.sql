-- The records: one narrow row a key. What decides is in columns, so that SQL can apply the rules of
-- src/core/transition.cc too; the rest of the record is in `rest`, as src/core/codec.cc encodes it.
-- A column wins over what `rest` says. Times are milliseconds since 1970 UTC, 2^63-1 meaning "never";
-- docs/formats.md has the whole format.
--
-- Whoever writes a row gives it a version: the next of semel.versions, or one of those that follow it
-- up to the one after. So a later version is a larger one. Whoever inserts a row holds semel.id_lock(id) as an advisory lock of its transaction, so that nobody ever waits for an
-- insertion that is not committed yet: it is taken with pg_try_advisory_xact_lock, and "not free"
-- means that somebody is at work under this key.

CREATE SEQUENCE semel.versions AS bigint INCREMENT BY 1024;

CREATE TABLE semel.records (
  id               bytea PRIMARY KEY,  -- 32 bytes
  version          bigint NOT NULL,
  state            smallint NOT NULL,
      -- 1 queued 2 in_progress 3 completed 4 released 5 unknown 6 tombstone
  attempt          integer NOT NULL,
  token            bytea NOT NULL,     -- 16 bytes
  fingerprint      bytea NOT NULL,
  lease_until      bigint NOT NULL,
  created_at       bigint NOT NULL,
  updated_at       bigint NOT NULL,
  expires_at       bigint NOT NULL,
  tombstone_until  bigint NOT NULL,
  hold_until       bigint NOT NULL,
  ttl              bigint NOT NULL,
  tombstone        bigint NOT NULL,
  hold_for         bigint NOT NULL,
  due_at           bigint NOT NULL,
      -- The sweeper looks no later than this, or finds it through semel.leases. A renewed lease
      -- and a timely completion leave it alone (the update then touches no index), so that an
      -- in_progress row may be listed before its lease is over, and a completed one up to
      -- semel.slack(ttl) after its ttl.
  flags            smallint NOT NULL,
      -- 1 only auth failures so far  2 ttl counts from creation  4 the body was omitted
      -- 16 the body lies in semel.chunks
  result           smallint NOT NULL,  -- 0 none 1 succeeded 2 failed
  response_version text NOT NULL,
  answer_day       integer,   -- which day of semel.answers the answer lies; null: none
  answer_version   bigint,
  awaited          boolean NOT NULL DEFAULT false,  -- another process waits for its end
  tenant           text,      -- null (all three): they are not valid text, and are in `rest`
  operation        text,
  key              text,
  noted            text,      -- what SQL did to it since `rest` was written: reason and history
  rest             bytea,     -- null: it was claimed by SQL
  unknown_since    bigint     -- updated_at of an unknown record, else null: for its index. One with
      -- `state` or `updated_at` in it would be touched by every update
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX records_due ON semel.records (due_at) WHERE due_at < 9223372036854775807;
CREATE INDEX records_unknown ON semel.records (unknown_since) WHERE unknown_since IS NOT NULL;

-- Claims that the store made together, by when the first of their leases is over. Their due_at is when
-- they would end if they were completed soon, so that completing them touches no index. Those
-- that are not ended or renewed by then are given the end of their lease as due_at, and the list is
-- dropped: semel.list_leases.
CREATE TABLE semel.leases (
  look_at bigint NOT NULL,
  base    bigint NOT NULL,   -- the version before the first of them
  ids     bytea[] NOT NULL,
  PRIMARY KEY (look_at, base)
) WITH (autovacuum_vacuum_cost_delay = 0);
ALTER TABLE semel.leases ALTER COLUMN ids SET STORAGE EXTERNAL;

-- The answers, by the day (since 1970) on which they expire: a day that has passed is dropped whole.
-- The days are children of this table by inheritance, not declared partitions: writing to one of
-- those locks the parent until commit, and a drop would wait for every open transaction. A day is
-- written and read by its own name. What expires later than any route allows lies in the parent.
CREATE TABLE semel.answers (
  day        integer NOT NULL,
  id         bytea NOT NULL,
  version    bigint NOT NULL,  -- records.answer_version: the version it was written with
  status     integer NOT NULL,
  headers    bytea NOT NULL,   -- "name: value" and CR LF, each
  body       bytea NOT NULL,
  spilled    bigint NOT NULL,  -- bytes of a body that lies in semel.chunks
  sealed_key text NOT NULL,    -- '': status, headers and body are as they are
  sealed     bytea NOT NULL,   -- else they are empty, and this is they
  PRIMARY KEY (version)        -- not by id: ascending, so that writing touches few pages
);

-- Bodies that are too large for a row, in pieces, under the token of the attempt that made them.
CREATE TABLE semel.chunks (
  id     bytea NOT NULL,
  token  bytea NOT NULL,
  index  integer NOT NULL,
  bytes  bytea NOT NULL,
  put_at bigint NOT NULL,
  PRIMARY KEY (id, token, index)
);
ALTER TABLE semel.chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE INDEX chunks_put_at ON semel.chunks (put_at);

CREATE FUNCTION semel.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE FUNCTION semel.never() RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT 9223372036854775807 $$;

-- A time and a duration, both possibly "never".
CREATE FUNCTION semel.after(at bigint, duration bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN at > 9223372036854775807 - greatest(duration, 0) THEN 9223372036854775807
               ELSE at + duration END $$;

-- How much later than it could a record may be removed.
CREATE FUNCTION semel.slack(ttl bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT least(ttl / 8, 3600000) $$;

CREATE FUNCTION semel.day_of(at bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS
$$ SELECT least(at / 86400000, 2147483647)::integer $$;

-- A length (32 bits, little-endian) and the bytes.
CREATE FUNCTION semel.sized(bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT set_byte(set_byte(set_byte(set_byte('\x00000000'::bytea,
            0, length(bytes) & 255), 1, (length(bytes) >> 8) & 255),
            2, (length(bytes) >> 16) & 255), 3, (length(bytes) >> 24) & 255) || bytes $$;

-- docs/formats.md, "Record id".
CREATE FUNCTION semel.record_id(namespace text, tenant text, operation text, key text)
RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT sha256(semel.sized(convert_to(namespace, 'UTF8')) || semel.sized(convert_to(tenant, 'UTF8')) ||
                 semel.sized(convert_to(operation, 'UTF8')) || semel.sized(convert_to(key, 'UTF8'))) $$;

-- The advisory lock of a record that does not exist yet.
CREATE FUNCTION semel.id_lock(id bytea) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || encode(substring(id FROM 1 FOR 8), 'hex'))::bit(64)::bigint $$;

-- The table that takes answers of this day.
CREATE FUNCTION semel.answers_of(day integer) RETURNS regclass LANGUAGE sql STABLE AS
$$ SELECT coalesce(to_regclass('semel.answers_' || day), 'semel.answers'::regclass) $$;

CREATE FUNCTION semel.put_answer(id bytea, version bigint, day integer, status integer, headers bytea,
                                 body bytea, spilled bigint, sealed_key text, sealed bytea)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO %s VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', semel.answers_of(day))
  USING day, id, version, status, headers, body, spilled, sealed_key, sealed;
END $$;

-- Makes the tables of the coming days and drops those that have passed. Called now and then by every
-- node. What cannot be locked at once is left for the next time.
CREATE FUNCTION semel.keep_days() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  today integer := semel.day_of(semel.now_ms());
  wanted integer;
  old record;
  dropped integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('semel keep_days', 0)) THEN RETURN 0; END IF;
  PERFORM set_config('lock_timeout', '100ms', true);
  -- Yesterday too: what expires about now may have expired before midnight.
  FOR wanted IN SELECT generate_series(today - 1, today + 46) LOOP
    IF to_regclass('semel.answers_' || wanted) IS NULL THEN
      EXECUTE format('CREATE TABLE semel.answers_%s (CHECK (day = %s), PRIMARY KEY (version)) '
                     'INHERITS (semel.answers)', wanted, wanted);
    END IF;
  END LOOP;
  -- The day before is kept: a record may be read a moment after it expired.
  FOR old IN
    SELECT c.oid::regclass AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'semel.answers'::regclass
      AND substring(c.relname FROM 9)::integer < today - 1
  LOOP
    BEGIN
      EXECUTE format('DROP TABLE %s', old.name);
      dropped := dropped + 1;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END LOOP;
  RETURN dropped;
END $$;
SELECT semel.keep_days();
