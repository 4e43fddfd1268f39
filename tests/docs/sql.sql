CREATE TABLE orders (id serial, item text);
