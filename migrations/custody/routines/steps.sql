-- The steps of a destruction in the database. Each may be repeated.

-- Begins a step, unless the destruction was cancelled meanwhile.
--   detail  what to record before it does anything
CREATE OR REPLACE FUNCTION custody.begin_step(
    destruction bigint, step text, detail jsonb DEFAULT '{}'
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM custody.expect_started(destruction);
    IF step = 'keys' THEN
        -- Behind this, it can only be completed.
        PERFORM custody.expect_detached(destruction);
    END IF;
    UPDATE custody.steps s SET started_at = coalesce(s.started_at, clock_timestamp()),
        detail = s.detail || detail
    WHERE s.destruction_id = destruction AND s.name = step;
END $$;

-- Stops new work: revokes the functions of apps, tills and schedulers, and pauses queues and
-- schedules. A check in errand.enqueue() would cost every job instead.
--
-- EXECUTE is checked at each call, also of prepared statements; USAGE of a schema is not.
CREATE OR REPLACE FUNCTION custody.stop_intake(destruction bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of record;
    mark CONSTANT text := 'destruction ' || destruction;
    revoked bigint := 0;
BEGIN
    PERFORM custody.expect_started(destruction);
    FOR of IN
        SELECT p.oid::regprocedure::text AS routine, r.rolname AS grantee
        FROM errand.modules m
        JOIN pg_namespace n ON n.nspname = CASE m.name WHEN 'engine' THEN 'errand' ELSE m.name END
        JOIN pg_proc p ON p.pronamespace = n.oid
        CROSS JOIN LATERAL aclexplode(p.proacl) a
        JOIN pg_roles r ON r.oid = a.grantee
        WHERE r.rolname IN ('errand_app', 'errand_till', 'errand_scheduler')
    LOOP
        INSERT INTO custody.revoked_rights VALUES (destruction, of.routine, of.grantee)
        ON CONFLICT DO NOTHING;
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %I', of.routine, of.grantee);
        revoked := revoked + 1;
    END LOOP;
    WITH former AS (
        SELECT q.name, q.paused_at, q.paused_by, q.pause_reason, q.paused_until
        FROM errand.queues q WHERE q.paused_at IS NULL OR q.paused_until IS NOT NULL
        FOR NO KEY UPDATE
    ), saved AS (
        INSERT INTO custody.paused_queues AS p (destruction_id, queue, paused_at, paused_by,
            pause_reason, paused_until)
        SELECT destruction, f.name, f.paused_at, f.paused_by, f.pause_reason, f.paused_until
        FROM former f
        ON CONFLICT (destruction_id, queue) DO UPDATE SET paused_at = excluded.paused_at,
            paused_by = excluded.paused_by, pause_reason = excluded.pause_reason,
            paused_until = excluded.paused_until
    )
    UPDATE errand.queues q SET paused_at = clock_timestamp(), paused_by = mark, pause_reason = mark,
        paused_until = NULL
    FROM former f WHERE f.name = q.name;
    UPDATE errand.schedules s SET paused_at = clock_timestamp(), paused_by = mark,
        pause_reason = mark
    WHERE s.paused_at IS NULL;
    RETURN revoked;
END $$;

-- Undoes custody.stop_intake().
CREATE OR REPLACE FUNCTION custody.resume_intake(destruction bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    of record;
    mark CONSTANT text := 'destruction ' || destruction;
BEGIN
    FOR of IN
        DELETE FROM custody.revoked_rights r WHERE r.destruction_id = destruction RETURNING r.*
    LOOP
        -- A newer version of a module may not have it.
        CONTINUE WHEN to_regprocedure(of.routine) IS NULL;
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', of.routine, of.grantee);
    END LOOP;
    WITH former AS (
        DELETE FROM custody.paused_queues p WHERE p.destruction_id = destruction RETURNING p.*
    )
    UPDATE errand.queues q SET paused_at = f.paused_at, paused_by = f.paused_by,
        pause_reason = f.pause_reason, paused_until = f.paused_until
    FROM former f WHERE q.name = f.queue AND q.paused_by = mark;
    UPDATE errand.schedules s SET paused_at = NULL, paused_by = NULL, pause_reason = NULL,
        replan = 'resumed', replan_at = clock_timestamp(), next_at = '-infinity'
    WHERE s.paused_by = mark;
END $$;

-- Records the rows of each table before anything is destroyed.
CREATE OR REPLACE FUNCTION custody.count_before(destruction bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO custody.counts (destruction_id, module, object, rows_before, kept_for)
    SELECT destruction, f.module, custody.name_of(f.object), custody.count_of(f.object), f.kept_for
    FROM custody.fates(destruction) f
    ON CONFLICT DO NOTHING;
    -- Not before: who cancels need not wait until everything is counted.
    PERFORM custody.expect_started(destruction);
    RETURN (SELECT sum(c.rows_before) FROM custody.counts c WHERE c.destruction_id = destruction);
END $$;

-- The modules whose tables are to be emptied, those that need others first.
CREATE OR REPLACE FUNCTION custody.modules_left(destruction bigint) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
    SELECT c.module FROM custody.counts c
    LEFT JOIN errand.migrations m USING (module)
    WHERE c.destruction_id = destruction AND c.emptied_at IS NULL
      AND (c.kept_for IS NULL OR c.object = 'errand.audit')
    GROUP BY 1 ORDER BY min(m.id) DESC NULLS FIRST
$$;

-- Empties the tables of a module, and restarts their sequences.
--
-- TRUNCATE removes the files of tables and indexes at once, where deleting in batches would leave
-- the rows in them. Nothing else runs now, so nobody waits for its locks.
CREATE OR REPLACE FUNCTION custody.empty_module(destruction bigint, module text) RETURNS bigint
LANGUAGE plpgsql SET lock_timeout = '15s' AS $$
#variable_conflict use_variable
DECLARE
    emptied text[];
    lines errand.audit[];
    of record;
BEGIN
    PERFORM custody.expect_started(destruction);
    IF NOT EXISTS (SELECT FROM custody.steps s WHERE s.destruction_id = destruction
            AND s.name = 'keys' AND s.started_at IS NOT NULL) THEN
        -- It could still be cancelled.
        PERFORM errand.refuse('wrong_state', format(
            'destruction %s has not come to its tables', destruction));
    END IF;
    SELECT array_agg(c.object) INTO emptied FROM custody.counts c
    WHERE c.destruction_id = destruction AND c.module = module
      AND (c.kept_for IS NULL OR c.object = 'errand.audit');
    IF emptied IS NULL THEN
        RETURN 0;
    END IF;
    -- CASCADE must never reach what is kept: it is for tables that were emptied before.
    PERFORM custody.expect_detached(destruction);
    IF module = 'engine' THEN
        lines := ARRAY(SELECT a FROM errand.audit a
            -- Not those about a single person: they name who objects, and why.
            WHERE a.action LIKE 'destruction %'
                OR a.action IN ('transfer export', 'transfer import')
            ORDER BY a.id);
        FOR of IN
            SELECT i.inhrelid::regclass AS name FROM pg_inherits i
            WHERE i.inhparent = 'errand.finished_jobs'::regclass
              AND custody.name_of(i.inhrelid::regclass) ~ '^errand\.finished_jobs_[0-9]{8}$'
        LOOP
            EXECUTE format('DROP TABLE %s', of.name);
        END LOOP;
    END IF;
    FOR of IN
        SELECT t.tgrelid::regclass AS name, t.tgname, t.tgenabled FROM pg_trigger t
        WHERE t.tgrelid = ANY (emptied::regclass[]) AND NOT t.tgisinternal
          AND t.tgenabled <> 'D' AND t.tgtype::int & 32 <> 0
    LOOP
        -- They forbid it to programs.
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', of.name, of.tgname);
    END LOOP;
    EXECUTE format('TRUNCATE %s RESTART IDENTITY CASCADE', array_to_string(emptied, ', '));
    FOR of IN
        SELECT format('%I.%I', s.schemaname, s.sequencename) AS name FROM pg_sequences s
        WHERE s.schemaname = CASE module WHEN 'engine' THEN 'errand' ELSE module END
          AND s.last_value IS NOT NULL
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
              AND d.objid = format('%I.%I', s.schemaname, s.sequencename)::regclass
              AND d.deptype IN ('a', 'i'))
    LOOP
        EXECUTE format('ALTER SEQUENCE %s RESTART', of.name);
    END LOOP;
    IF cardinality(lines) > 0 THEN
        INSERT INTO errand.audit OVERRIDING SYSTEM VALUE SELECT (l).* FROM unnest(lines) l;
        PERFORM setval(pg_get_serial_sequence('errand.audit', 'id'), max(a.id))
        FROM errand.audit a;
    END IF;
    UPDATE custody.counts c SET emptied_at = clock_timestamp()
    WHERE c.destruction_id = destruction AND c.object = ANY (emptied);
    RETURN cardinality(emptied);
END $$;

-- Counts all tables again. Those that have rows are emptied again by a further round, because a
-- worker or an operator has written to them meanwhile. Returns their names.
CREATE OR REPLACE FUNCTION custody.count_after(destruction bigint) RETURNS text[]
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    left_over text[];
BEGIN
    UPDATE custody.counts c SET rows_after = custody.count_of(c.object::regclass)
    WHERE c.destruction_id = destruction;
    WITH again AS (
        UPDATE custody.counts c SET emptied_at = NULL
        WHERE c.destruction_id = destruction AND c.kept_for IS NULL AND c.rows_after > 0
        RETURNING c.object
    )
    SELECT array_agg(a.object ORDER BY a.object) INTO left_over FROM again a;
    RETURN coalesce(left_over, '{}');
END $$;
