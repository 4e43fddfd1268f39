CREATE TABLE orders (id integer, customer text, amount integer);
CREATE ROLE app LOGIN;
