-- What has to be done again whenever functions were added or replaced. The last of the files.

-- What was applied to this schema, for programs to compare with what they know: `semel complete` is
-- run by roles that reach no table. Row 0 is these functions; the others are the files of sql/ by
-- number. Programs of other versions call this, so what it returns stays.
CREATE OR REPLACE FUNCTION semel.applied_migrations(
  OUT number integer, OUT name text, OUT checksum text, OUT applied_by text)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER SET search_path = semel, pg_temp AS
$$ SELECT m.number, m.name, m.checksum, m.applied_by FROM semel.migrations m ORDER BY m.number $$;

SELECT semel.close_to_public();
-- Roles that have grants get the functions that are new.
SELECT semel.allow(r.rolname, g.tenant, g.operation)
FROM semel.grants g JOIN pg_catalog.pg_roles r ON r.oid = g.role;
SELECT semel.keep_days();
