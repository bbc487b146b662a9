-- Exports and imports.

-- Records that a person objects to the transfer of their data; false if it was known.
CREATE OR REPLACE FUNCTION custody.object(person bigint, actor text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM people.people p WHERE p.id = person) THEN
        RAISE EXCEPTION 'there is no person %', person USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO custody.objections (person_id, recorded_by) VALUES (person, actor)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- Withdraws an objection; false if there is none.
CREATE OR REPLACE FUNCTION custody.withdraw_objection(person bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    DELETE FROM custody.objections o WHERE o.person_id = person;
    RETURN FOUND;
END $$;

-- Erases everyone who objects, as a request for erasure would, with all the passes over the jobs;
-- returns how many.
--
-- An export calls it in its own transaction, which it rolls back once everything is read. So the
-- archive has what the law has them keep, and this database keeps everything.
CREATE OR REPLACE FUNCTION custody.leave_out() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    objection record;
    erasure bigint;
    left_out bigint[] := '{}';
    unerased bigint;
BEGIN
    FOR objection IN
        SELECT o.person_id FROM custody.objections o JOIN people.people p ON p.id = o.person_id
        ORDER BY o.person_id
    LOOP
        left_out := left_out || objection.person_id;
        PERFORM people.request_erasure(objection.person_id, 'transfer:' || objection.person_id);
        UPDATE people.erasures e SET starts_at = clock_timestamp()
        WHERE e.person_id = objection.person_id AND e.state = 'requested'
          AND e.starts_at > clock_timestamp();
        FOR erasure IN
            SELECT e.id FROM people.erasures e
            WHERE e.person_id = objection.person_id AND e.state IN ('requested', 'running')
        LOOP
            WHILE people.erase_step(erasure) IS NOT NULL LOOP
                NULL;
            END LOOP;
        END LOOP;
    END LOOP;
    WHILE cardinality(left_out) > 0 AND people.sweep_jobs(100000) LOOP
        NULL;
    END LOOP;
    -- Each of them, or there is no archive.
    SELECT count(*) INTO unerased FROM people.people p
    WHERE p.id = ANY (left_out) AND p.erased_at IS NULL;
    IF unerased > 0 THEN
        PERFORM errand.refuse('not_left_out', format(
            'the data of %s people who object cannot be left out now: %s', unerased, (
                SELECT coalesce(string_agg(DISTINCT e.failure, ', '), 'their erasure did not end')
                FROM people.erasures e
                WHERE e.person_id = ANY (left_out) AND e.state <> 'finished')),
            'Request their erasure with errand person erase, and export when it is finished.');
    END IF;
    RETURN cardinality(left_out);
END $$;

-- The tables to export, in the order in which they can be imported, each with its COPY commands.
-- Rows are in a fixed order, mostly that of the primary key, so that equal tables have equal bytes.
CREATE OR REPLACE FUNCTION custody.exported()
RETURNS TABLE (module text, object text, columns text, copy_out text, copy_in text)
LANGUAGE sql STABLE AS $$
    SELECT t.module, custody.name_of(t.object), c.columns,
        format('COPY (SELECT %s FROM %s t ORDER BY %s) TO STDOUT', c.columns,
            custody.name_of(t.object), k.columns),
        format('COPY %s (%s) FROM STDIN', custody.name_of(t.object), c.columns)
    FROM custody.tables() t
    CROSS JOIN LATERAL (SELECT custody.columns_of(t.object)) c (columns)
    CROSS JOIN LATERAL (
        SELECT coalesce(
            (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY u.place)
            FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY u (number, place)
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.number
            WHERE i.indrelid = t.object AND i.indisprimary),
            (SELECT 'id' FROM pg_attribute a WHERE a.attrelid = t.object AND a.attname = 'id'),
            't::text')
    ) k (columns)
    WHERE NOT t.is_bookkeeping AND NOT t.is_local
    ORDER BY t.depth, t.module, 2
$$;

-- The tables that prevent an import because they have rows that no migration wrote: those of
-- people, and those whose rows are numbered as they are created. The others' rows are replaced.
CREATE OR REPLACE FUNCTION custody.occupied() RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
DECLARE
    of record;
    has_rows boolean;
BEGIN
    FOR of IN
        SELECT custody.name_of(t.object) AS name FROM custody.tables() t
        WHERE NOT t.is_bookkeeping AND NOT t.is_local
          -- Workers and errand migrate declare schedules.
          AND t.object <> 'errand.schedules'::regclass
          AND (EXISTS (SELECT FROM pg_attribute a
                  WHERE a.attrelid = t.object AND a.attidentity <> '')
              OR EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = t.object
                  AND f.contype = 'f' AND f.confrelid = 'people.people'::regclass)
              OR t.object = 'errand.finished_jobs'::regclass)
        ORDER BY 1
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s t WHERE NOT EXISTS ('
            'SELECT FROM errand.migrations m WHERE m.xmin = t.xmin))', of.name) INTO has_rows;
        IF has_rows THEN
            RETURN NEXT of.name;
        END IF;
    END LOOP;
END $$;

-- Prepares an empty database for an import: removes what migrations wrote, and disables the
-- triggers until custody.end_import() in the same transaction.
CREATE OR REPLACE FUNCTION custody.begin_import() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    of record;
BEGIN
    LOCK TABLE people.people IN ACCESS EXCLUSIVE MODE;
    SELECT string_agg(o, ', ') AS names INTO of FROM custody.occupied() o;
    IF of.names IS NOT NULL THEN
        PERFORM errand.refuse('not_empty', 'this database is not empty: ' || of.names,
            'Import into a database that only errand migrate has written to.');
    END IF;
    CREATE TEMPORARY TABLE disabled_triggers ON COMMIT DROP AS
        SELECT custody.name_of(t.tgrelid::regclass) AS name, t.tgname,
            t.tgenabled::text AS enabled
        FROM pg_trigger t JOIN custody.tables() o ON o.object = t.tgrelid
        WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgparentid = 0
          AND NOT o.is_bookkeeping AND NOT o.is_local;
    FOR of IN SELECT * FROM disabled_triggers LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', of.name, of.tgname);
    END LOOP;
    SELECT string_agg(custody.name_of(t.object), ', ') AS names INTO of FROM custody.tables() t
    WHERE NOT t.is_bookkeeping AND NOT t.is_local;
    EXECUTE 'TRUNCATE ' || of.names;
END $$;

-- Ends an import: enables the triggers again, and sets a sequence for each of these.
CREATE OR REPLACE FUNCTION custody.end_import(sequences text[], last_values bigint[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of record;
BEGIN
    FOR of IN SELECT * FROM disabled_triggers LOOP
        EXECUTE format('ALTER TABLE %s ENABLE %s TRIGGER %I', of.name,
            CASE of.enabled WHEN 'A' THEN 'ALWAYS' WHEN 'R' THEN 'REPLICA' ELSE '' END, of.tgname);
    END LOOP;
    PERFORM setval(s.name::regclass, s.last_value)
    FROM unnest(sequences, last_values) AS s (name, last_value)
    -- Only those of the modules: the archive must not move others.
    JOIN custody.sequences() known ON known.object = s.name;
END $$;
