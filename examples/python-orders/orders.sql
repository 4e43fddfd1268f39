-- What the orders service needs, run once by the owner of the database after `semel schema apply`.
CREATE TABLE orders (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant   text NOT NULL,
  item     text NOT NULL,
  quantity integer NOT NULL CHECK (quantity > 0)
);

CREATE ROLE shop LOGIN;
GRANT SELECT, INSERT ON orders TO shop;
SELECT semel.allow('shop', '*', 'orders');   -- of every tenant, but no other operation
