-- What the functions of the store exchange with src/stores/, and the nodes that call them.

-- The nodes that use these records, by a name each process makes up. Writing here is the first thing
-- a new connection does: after a crash of the server rows may be visible that its synchronous
-- standby does not have, and this commit waits until it has them.
CREATE TABLE semel.nodes (
  node    text PRIMARY KEY,
  seen_at bigint NOT NULL
);

-- A record with its answer; src/stores/postgres_rows.cc reads it by position.
CREATE TYPE semel.whole_record AS (
  id bytea, version bigint, state smallint, attempt integer, token bytea, fingerprint bytea,
  lease_until bigint, created_at bigint, updated_at bigint, expires_at bigint,
  tombstone_until bigint, hold_until bigint, ttl bigint, tombstone bigint, hold_for bigint,
  flags smallint, result smallint, response_version text, answer_day integer, tenant text,
  operation text, key text, noted text, rest bytea,
  status integer, headers bytea, body bytea, spilled bigint, sealed_key text, sealed bytea);

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
