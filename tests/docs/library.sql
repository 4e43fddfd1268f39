CREATE TABLE orders (id serial, body text, charge text);
CREATE TABLE payments (body text);
