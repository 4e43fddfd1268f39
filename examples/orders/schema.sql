-- What the orders service keeps itself. Semel's own schema comes from `semel schema apply`.
CREATE TABLE IF NOT EXISTS orders (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item   text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  status text NOT NULL,  -- reserved paid declined
  charge text            -- the card processor's id
);
