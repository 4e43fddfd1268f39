-- What the orders service needs, run once by the owner of the database after `semel schema apply`.
-- In `public` by name: for an owner called semel the first schema in the search_path is Semel's own.
CREATE TABLE public.orders (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant   text NOT NULL,
  item     text NOT NULL,
  quantity integer NOT NULL CHECK (quantity > 0)
);

CREATE ROLE shop LOGIN;
GRANT SELECT, INSERT ON public.orders TO shop;
SELECT semel.allow('shop', '*', 'orders');   -- of every tenant, but no other operation
