-- The tables and sequences of the installed modules.

-- The tables of the installed modules, without their partitions. A table comes after all those that
-- it references.
--   is_bookkeeping  what is installed here: neither destroyed nor transferred
--   is_local        of this installation alone: destroyed, but not transferred
CREATE OR REPLACE FUNCTION custody.tables()
RETURNS TABLE (module text, object regclass, depth int, is_bookkeeping boolean, is_local boolean)
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE own AS (
        SELECT m.name AS module, c.oid FROM errand.modules m
        JOIN pg_namespace n ON n.nspname = CASE m.name WHEN 'engine' THEN 'errand' ELSE m.name END
        JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
            AND NOT c.relispartition
        WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
            AND d.objid = c.oid AND d.deptype = 'e')
    ), depths (oid, depth) AS (
        SELECT oid, 0 FROM own
        UNION
        SELECT f.conrelid, d.depth + 1 FROM depths d
        JOIN pg_constraint f ON f.contype = 'f' AND f.confrelid = d.oid AND f.conrelid <> d.oid
        WHERE d.depth < 50
    )
    SELECT own.module, own.oid::regclass, max(d.depth),
        own.module = 'custody' AND own.oid <> 'custody.objections'::regclass
            OR own.oid IN ('errand.instance'::regclass, 'errand.modules'::regclass,
                'errand.migrations'::regclass),
        own.oid IN ('errand.workers'::regclass, 'errand.leaders'::regclass,
            'errand.slots'::regclass, 'errand.lane_starts'::regclass,
            'errand.polled_lanes'::regclass, 'errand.activity'::regclass,
            'errand.operations'::regclass, 'errand.audit'::regclass,
            'custody.objections'::regclass)
    FROM own JOIN depths d USING (oid)
    GROUP BY own.module, own.oid
    ORDER BY 3, 1, own.oid::regclass::text
$$;

-- The columns of a table that can be written, as a list.
CREATE OR REPLACE FUNCTION custody.columns_of(object regclass) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
    FROM pg_attribute a
    WHERE a.attrelid = object AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
$$;

-- The name of a table with its schema, whatever the search path.
CREATE OR REPLACE FUNCTION custody.name_of(object regclass) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT format('%I.%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = object
$$;

-- The exact number of rows of a table.
CREATE OR REPLACE FUNCTION custody.count_of(object regclass) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %s', custody.name_of(object)) INTO found;
    RETURN found;
END $$;

-- The sequences of the installed modules; last_value is null for one that was never used.
CREATE OR REPLACE FUNCTION custody.sequences()
RETURNS TABLE (module text, object text, last_value bigint) LANGUAGE sql STABLE AS $$
    SELECT m.name, format('%I.%I', s.schemaname, s.sequencename), s.last_value
    FROM errand.modules m
    JOIN pg_sequences s
        ON s.schemaname = CASE m.name WHEN 'engine' THEN 'errand' ELSE m.name END
    WHERE m.name <> 'custody'
      -- These belong to tables that are not transferred.
      AND NOT EXISTS (SELECT FROM pg_depend d JOIN custody.tables() t ON t.object = d.refobjid
          WHERE d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
            AND d.objid = format('%I.%I', s.schemaname, s.sequencename)::regclass
            AND (t.is_bookkeeping OR t.is_local))
    ORDER BY 1, 2
$$;

-- What a destruction does with each table of the modules.
--   kept_for  why its rows are kept; null for a table that is emptied
CREATE OR REPLACE FUNCTION custody.fates(destruction bigint)
RETURNS TABLE (module text, object regclass, kept_for text) LANGUAGE sql STABLE AS $$
    SELECT t.module, t.object, CASE
        WHEN t.is_bookkeeping THEN 'bookkeeping of the installation'
        WHEN t.module = 'ledger' AND d.keeps_ledger THEN 'books kept by law, without people'
        WHEN t.object = 'errand.audit'::regclass THEN 'lines of the destruction' END
    FROM custody.destructions d CROSS JOIN custody.tables() t
    WHERE d.id = destruction
    -- The tables of this module hold the record itself.
      AND (t.module <> 'custody' OR NOT t.is_bookkeeping)
$$;

-- The tables that TRUNCATE … CASCADE of these tables would empty too: those that reference them,
-- and those that inherit from them.
CREATE OR REPLACE FUNCTION custody.attached_to(emptied regclass[]) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE reached (oid, is_partition) AS (
        SELECT e::oid, true FROM unnest(emptied) e
        UNION
        SELECT i.inhrelid, c.relispartition
        FROM reached r JOIN pg_inherits i ON i.inhparent = r.oid
        JOIN pg_class c ON c.oid = i.inhrelid
    )
    SELECT custody.name_of(r.oid::regclass) FROM reached r
    GROUP BY r.oid HAVING NOT bool_or(r.is_partition)
    UNION
    SELECT custody.name_of(f.conrelid::regclass) FROM pg_constraint f
    WHERE f.contype = 'f' AND f.conparentid = 0
      AND f.confrelid IN (SELECT r.oid FROM reached r)
      AND f.conrelid NOT IN (SELECT r.oid FROM reached r)
    ORDER BY 1
$$;

-- Refuses a destruction that would reach beyond the tables it is to empty.
CREATE OR REPLACE FUNCTION custody.expect_detached(destruction bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    names text;
BEGIN
    SELECT string_agg(a, ', ' ORDER BY a) INTO names
    FROM custody.attached_to(ARRAY(SELECT f.object FROM custody.fates(destruction) f
        WHERE f.kept_for IS NULL OR f.object = 'errand.audit'::regclass)) a;
    IF names IS NOT NULL THEN
        PERFORM errand.refuse('referenced', format('tables that are kept would be emptied too, as '
            'they reference those of modules or inherit from them: %s', names),
            'Drop their constraints, or the tables, first.');
    END IF;
END $$;

-- The schemas of this database that belong to no module, with their number of tables: Errand leaves
-- them alone.
CREATE OR REPLACE FUNCTION custody.foreign_schemas()
RETURNS TABLE (schema text, tables bigint) LANGUAGE sql STABLE AS $$
    SELECT n.nspname::text, count(*)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast'
      AND NOT EXISTS (SELECT FROM errand.modules m
          WHERE n.nspname = CASE m.name WHEN 'engine' THEN 'errand' ELSE m.name END)
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
          AND d.objid = c.oid AND d.deptype = 'e')
    GROUP BY 1 ORDER BY 1
$$;
