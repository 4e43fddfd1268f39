-- Who may do what with the functions for applications.
-- '*' is any tenant, any operation. An operation covers its paths too ("name TAB path").
CREATE TABLE semel.grants (
  role      regrole NOT NULL,
  tenant    text NOT NULL CHECK (tenant <> ''),
  operation text NOT NULL CHECK (operation <> ''),
  PRIMARY KEY (role, tenant, operation)
);

-- A row lives from guard() to the COMMIT that it guards; nobody ever sees one of another transaction.
CREATE UNLOGGED TABLE semel.guards (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record bytea NOT NULL,
  token  bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
