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
