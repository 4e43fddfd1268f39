CREATE TABLE orders (id integer, customer text, amount integer);
