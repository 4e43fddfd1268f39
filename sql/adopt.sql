-- Databases of before checksums were kept have the numbers 1 to 5 and no more: their files had tables and
-- functions in them, and were edited while nothing was released. Their tables are compared with those
-- of the files that are released now. Where they are the same, the files count as applied.
DO $adopt$
DECLARE
  file record;
  shape text;
BEGIN
  FOR file IN
    SELECT f.* FROM (VALUES
      (1, '001_records',
       'd1a98468d85af5c2265db7b328f24d4e14367ddb21b0a17df3e4d6e66828063b',
       '9e89a50539cbe25cec0ca92457ca02a4b4d03865691e61d461045a875bd8df9d',
       '{versions,records,records_pkey,records_due,records_unknown,leases,leases_pkey,
         answers,answers_pkey,chunks,chunks_pkey,chunks_put_at}'::text[]),
      (2, '002_store',
       'ce5abb9f8ef7337bf69f3b19ea98a65615e8c5724db2d7d56f4b2cc906026a01',
       'c07a886c5a8ddbde6bcf855a9977f370f3fe51c335f4459a2741492d0a39a824',
       '{nodes,nodes_pkey,whole_record,swap_item,answer_item}'),
      (3, '003_grants',
       'fc1854e0edb9b00bdace1d1f0a8b60c081d08e2a98816913397d2e44b7a35064',
       'f20e5a0002ad13278411aae127c7ee87cb7834fd7c0aecf1dcedd19d3153205a',
       '{grants,grants_pkey,guards,guards_pkey}'),
      (4, '004_outbox',
       '4515506363121da30995932957aada546ea338af6c64da9eff06cb62a430e2a4',
       '047e552959842bad2d5e9a3fd17a10da6f2697d747184132a4c81297dbf9333d',
       '{outbox_identity,outbox_ids,outbox_leases,outbox_lanes,outbox_lanes_pkey,
         outbox_lanes_of_key,outbox_lanes_due,outbox,outbox_pkey,outbox_of_lane,
         dead_letters,dead_letters_pkey}'),
      (5, '005_phases',
       '51bd41cb6b39185ededce35039fff82a29444e5ca6a1786a3cb7fd048a66c0fd',
       '47e3959c0550d54687b9e8862b9338ecdedfa3dc057ade8feca8f1d72b5b7f41',
       '{operations,operations_pkey,operations_due}'))
      AS f (number, name, checksum, shape, relations)
    JOIN semel.migrations m ON m.number = f.number WHERE m.checksum IS NULL ORDER BY f.number
  LOOP
    SELECT encode(sha256(convert_to(string_agg(concat_ws(' ', c.relname, a.attname,
             format_type(a.atttypid, a.atttypmod), a.attnotnull, s.seqincrement), E'\n'
             ORDER BY c.relname COLLATE "C", a.attnum), 'UTF8')), 'hex')
    INTO shape
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_sequence s ON s.seqrelid = c.oid
    WHERE c.relname = ANY (file.relations)
      AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'semel.migrations'::regclass);
    IF shape IS DISTINCT FROM file.shape THEN
      RAISE EXCEPTION 'the tables of % were created by a version that was never released, and cannot be upgraded',
        file.name
        USING HINT = 'Create the schema again: keys that it knows are then new.';
    END IF;
    UPDATE semel.migrations m SET name = file.name, checksum = file.checksum, applied_by = '0.1.0'
    WHERE m.number = file.number;
  END LOOP;
END $adopt$;
