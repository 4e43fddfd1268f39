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
