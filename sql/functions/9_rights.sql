-- Grants that have to be repeated whenever functions are added or replaced. The last of the files.

-- Returns the migrations applied to this schema, for programs to compare with their own. A function,
-- since roles that run `semel complete` can read no table. Row 0 is these functions; the other rows are
-- the files of sql/ by number. Programs of other versions call it, so its result must not change.
CREATE OR REPLACE FUNCTION semel.applied_migrations(
  OUT number integer, OUT name text, OUT checksum text, OUT applied_by text)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER SET search_path = semel, pg_temp AS
$$ SELECT m.number, m.name, m.checksum, m.applied_by FROM semel.migrations m ORDER BY m.number $$;

-- Lets a role that does not own the schema run gateways, relays and Semel's other programs: it may read
-- and write all records and messages. For the schema's owner.
CREATE OR REPLACE FUNCTION semel.allow_gateway(role name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
                WHERE oid = 'semel.records'::regclass);
  one regprocedure;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %1$s TO %2$I;'
                 'GRANT USAGE ON ALL SEQUENCES IN SCHEMA %1$s TO %2$I;'
                 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %1$s TO %2$I;'
                 'REVOKE INSERT, UPDATE, DELETE ON %1$s.migrations, %1$s.grants FROM %2$I',
                 home, allow_gateway.role);
  FOR one IN SELECT semel.for_gateways() LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', one, allow_gateway.role);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION semel.disallow_gateway(role name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
                WHERE oid = 'semel.records'::regclass);
  one record;
BEGIN
  EXECUTE format('REVOKE ALL ON SCHEMA %1$s FROM %2$I;'
                 'REVOKE ALL ON ALL TABLES IN SCHEMA %1$s FROM %2$I;'
                 'REVOKE ALL ON ALL SEQUENCES IN SCHEMA %1$s FROM %2$I;'
                 'REVOKE ALL ON ALL ROUTINES IN SCHEMA %1$s FROM %2$I', home, disallow_gateway.role);
  -- Keeps the role's grants as an application.
  FOR one IN SELECT g.tenant, g.operation FROM semel.grants g
             WHERE g.role = quote_ident(disallow_gateway.role)::regrole LOOP
    PERFORM semel.allow(disallow_gateway.role, one.tenant, one.operation);
  END LOOP;
END $$;

-- Returns all functions except those for the owner.
CREATE OR REPLACE FUNCTION semel.for_gateways() RETURNS SETOF regprocedure LANGUAGE sql STABLE AS
$$ SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p
   WHERE p.pronamespace = (SELECT relnamespace FROM pg_catalog.pg_class
                           WHERE oid = 'semel.records'::regclass)
     AND p.proname NOT IN ('allow', 'disallow', 'allow_gateway', 'disallow_gateway',
                           'close_to_public') $$;

-- Returns the first right that the caller lacks to be a gateway's role; null if it has all of them.
CREATE OR REPLACE FUNCTION semel.missing_rights() RETURNS text LANGUAGE sql STABLE AS
$$ SELECT format('the role %I has no right to %s', current_user, wanting.what) FROM (
     SELECT format('%s on %s', verb, c.oid::regclass) AS what
     FROM pg_catalog.pg_class c, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS verb
     WHERE c.relnamespace = (SELECT relnamespace FROM pg_catalog.pg_class
                             WHERE oid = 'semel.records'::regclass)
       AND c.relkind = 'r' AND c.relname NOT IN ('migrations', 'grants')
       AND NOT has_table_privilege(c.oid, verb)
     UNION ALL
     SELECT format('USAGE on %s', s) FROM unnest(
       '{semel.versions,semel.outbox_ids,semel.outbox_leases}'::regclass[]) AS s
     WHERE NOT has_sequence_privilege(s, 'USAGE')
     UNION ALL
     SELECT format('EXECUTE %s', f) FROM semel.for_gateways() AS f
     WHERE NOT has_function_privilege(f, 'EXECUTE')) AS wanting
   LIMIT 1 $$;

SELECT semel.close_to_public();
-- Grants new functions to the roles that have grants.
SELECT semel.allow(r.rolname, g.tenant, g.operation)
FROM semel.grants g JOIN pg_catalog.pg_roles r ON r.oid = g.role;
-- Grants them to gateways that do not own the schema, too: roles that may write to semel.nodes.
SELECT semel.allow_gateway(r.rolname)
FROM pg_catalog.pg_class c, aclexplode(c.relacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
WHERE c.oid = 'semel.nodes'::regclass AND a.privilege_type = 'INSERT' AND r.oid <> c.relowner;
SELECT semel.keep_days();
