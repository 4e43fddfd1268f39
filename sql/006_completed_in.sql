-- The transaction that completed the record by semel.complete(); null: a gateway did. It tells a
-- completion that is repeated inside its own transaction from one that is repeated after it.
ALTER TABLE semel.records ADD COLUMN completed_in xid8;
