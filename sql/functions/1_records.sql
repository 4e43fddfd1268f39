-- Times, ids and the tables of answers: the base of all other functions.

CREATE OR REPLACE FUNCTION semel.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE OR REPLACE FUNCTION semel.never() RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT 9223372036854775807 $$;

-- Adds a duration to a time. Either may be "never", and then so is the sum.
CREATE OR REPLACE FUNCTION semel.after(at bigint, duration bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN at > 9223372036854775807 - greatest(duration, 0) THEN 9223372036854775807
               ELSE at + duration END $$;

-- Returns by how much the removal of a record may be delayed.
CREATE OR REPLACE FUNCTION semel.slack(ttl bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT least(ttl / 8, 3600000) $$;

CREATE OR REPLACE FUNCTION semel.day_of(at bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS
$$ SELECT least(at / 86400000, 2147483647)::integer $$;

-- Prefixes bytes with their length (32 bits, little-endian).
CREATE OR REPLACE FUNCTION semel.sized(bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT set_byte(set_byte(set_byte(set_byte('\x00000000'::bytea,
            0, length(bytes) & 255), 1, (length(bytes) >> 8) & 255),
            2, (length(bytes) >> 16) & 255), 3, (length(bytes) >> 24) & 255) || bytes $$;

-- Computes a record's id: docs/formats.md, "Record id".
CREATE OR REPLACE FUNCTION semel.record_id(namespace text, tenant text, operation text, key text)
RETURNS bytea LANGUAGE sql IMMUTABLE AS
$$ SELECT sha256(semel.sized(convert_to(namespace, 'UTF8')) || semel.sized(convert_to(tenant, 'UTF8')) ||
                 semel.sized(convert_to(operation, 'UTF8')) || semel.sized(convert_to(key, 'UTF8'))) $$;

-- Returns the number of the advisory lock for a record that does not exist yet.
CREATE OR REPLACE FUNCTION semel.id_lock(id bytea) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || encode(substring(id FROM 1 FOR 8), 'hex'))::bit(64)::bigint $$;

-- Returns the table for answers of a day: its own, or the parent if it has none.
CREATE OR REPLACE FUNCTION semel.answers_of(day integer) RETURNS regclass LANGUAGE sql STABLE AS
$$ SELECT coalesce(to_regclass('semel.answers_' || day), 'semel.answers'::regclass) $$;

CREATE OR REPLACE FUNCTION semel.put_answer(id bytea, version bigint, day integer, status integer, headers bytea,
                                 body bytea, spilled bigint, sealed_key text, sealed bytea)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO %s VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', semel.answers_of(day))
  USING day, id, version, status, headers, body, spilled, sealed_key, sealed;
END $$;

-- Creates the tables of the coming days and drops those of past days. Every node calls it now and
-- then. A table that cannot be locked at once is left for the next call. The tables belong to the
-- schema's owner, regardless of the caller, and have the same grants as semel.answers. No day after
-- `until` is dropped: the caller knows whether the clock was set forward.
DROP FUNCTION IF EXISTS semel.keep_days();
CREATE OR REPLACE FUNCTION semel.keep_days(until bigint DEFAULT 9223372036854775807) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semel, pg_temp AS $$
DECLARE
  today integer := semel.day_of(semel.now_ms());
  passed integer := semel.day_of(least(semel.now_ms(), until)) - 1;
  may record;
  wanted integer;
  old record;
  dropped integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('semel keep_days', 0)) THEN RETURN 0; END IF;
  PERFORM set_config('lock_timeout', '100ms', true);
  -- Yesterday too: a record that expires about now may have expired before midnight.
  FOR wanted IN SELECT generate_series(today - 1, today + 46) LOOP
    IF to_regclass('semel.answers_' || wanted) IS NULL THEN
      EXECUTE format('CREATE TABLE semel.answers_%s (CHECK (day = %s), PRIMARY KEY (version)) '
                     'INHERITS (semel.answers)', wanted, wanted);
      FOR may IN
        SELECT r.rolname, a.privilege_type AS what
        FROM pg_catalog.pg_class c, aclexplode(c.relacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'semel.answers'::regclass AND r.oid <> c.relowner
      LOOP
        EXECUTE format('GRANT %s ON semel.answers_%s TO %I', may.what, wanted, may.rolname);
      END LOOP;
    END IF;
  END LOOP;
  -- Keeps the day before: a record may be read a moment after it expired.
  FOR old IN
    SELECT c.oid::regclass AS name, c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'semel.answers'::regclass
  LOOP
    -- Not in the query: the planner could evaluate it there for tables with other names.
    CONTINUE WHEN substring(old.relname FROM 9)::integer >= passed;
    BEGIN
      EXECUTE format('DROP TABLE %s', old.name);
      dropped := dropped + 1;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END LOOP;
  RETURN dropped;
END $$;
