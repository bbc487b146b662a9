-- The settings of schedules: declared by programs, changed by operators.

-- The settings of a schedule, by column.
CREATE OR REPLACE FUNCTION errand.schedule_settings(s errand.schedules) RETURNS jsonb
LANGUAGE sql STABLE SET timezone = 'UTC' AS $$
    SELECT to_jsonb(s) - '{id,name,declared,created_at,changed_at,changed_by,paused_at,paused_by,
        pause_reason,next_due,next_at,last_due,runs,failures,replan,replan_at,planned_with}'::text[]
$$;

-- The settings that an operator changed from what the program declares.
CREATE OR REPLACE FUNCTION errand.changed_settings(s errand.schedules) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(d.key ORDER BY d.key), '{}')
    FROM jsonb_each(s.declared) AS d
    WHERE d.value IS DISTINCT FROM errand.schedule_settings(s) -> d.key
$$;

-- Whether two sets of settings give the same occurrences.
CREATE OR REPLACE FUNCTION errand.same_times(a jsonb, b jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT bool_and(a -> name IS NOT DISTINCT FROM b -> name)
    FROM unnest('{recurrence,zone,gap,repeats,starts_at,ends_at,jitter_ms}'::text[]) AS t (name)
$$;

-- Raises an error unless every key of settings is a setting of schedules.
CREATE OR REPLACE FUNCTION errand.expect_settings(settings jsonb) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    unknown text;
BEGIN
    SELECT key INTO unknown FROM jsonb_object_keys(settings) AS key
    WHERE NOT errand.schedule_settings(jsonb_populate_record(NULL::errand.schedules, '{}')) ? key
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a schedule has no setting %', unknown
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- Creates or changes a schedule, and returns whether it is new. Missing settings are unchanged, or
-- get their defaults.
--   changed_by   the operator; null for the program that declares it, which does not override what
--                an operator changed
CREATE OR REPLACE FUNCTION errand.put_schedule(schedule_name text, settings jsonb, changed_by text)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present errand.schedules;
    before jsonb;
    asked jsonb;
    is_new boolean := false;
BEGIN
    SELECT * INTO present FROM errand.schedules s WHERE s.name = schedule_name;
    -- Every start of a program calls this: an unchanged schedule is not locked.
    IF changed_by IS NULL AND present.declared
        = errand.schedule_settings(jsonb_populate_record(present, settings))
    THEN
        RETURN false;
    END IF;
    PERFORM errand.expect_settings(settings);
    IF NOT EXISTS (SELECT FROM errand.schedules s WHERE s.name = schedule_name) THEN
        INSERT INTO errand.schedules AS s (name, recurrence, kind, next_at)
        VALUES (schedule_name, settings ->> 'recurrence', settings ->> 'kind', '-infinity')
        ON CONFLICT (name) DO NOTHING;
        is_new := FOUND;
    END IF;
    SELECT * INTO STRICT present FROM errand.schedules s WHERE s.name = schedule_name FOR UPDATE;
    before := errand.schedule_settings(present);
    -- Columns say how each value is written, so that the next comparison is of like with like.
    asked := errand.schedule_settings(jsonb_populate_record(present, settings));
    IF changed_by IS NULL THEN
        UPDATE errand.schedules s SET declared = asked WHERE s.id = present.id;
        IF is_new THEN
            NULL;
        ELSIF present.declared IS NULL THEN
            -- An operator added it before: all of it is the operator's.
            asked := '{}';
        ELSE
            asked := asked - errand.changed_settings(present);
        END IF;
    END IF;
    present := jsonb_populate_record(present, asked);
    UPDATE errand.schedules s
    SET recurrence = present.recurrence, zone = present.zone, gap = present.gap,
        repeats = present.repeats, starts_at = present.starts_at, ends_at = present.ends_at,
        jitter_ms = present.jitter_ms, kind = present.kind, args = present.args,
        args_version = present.args_version, queue = present.queue, priority = present.priority,
        max_attempts = present.max_attempts, catch_up = present.catch_up,
        catch_up_window_s = present.catch_up_window_s, catch_up_limit = present.catch_up_limit,
        overlap = present.overlap, pause_after = present.pause_after,
        run_limit = present.run_limit,
        changed_at = CASE WHEN changed_by IS NULL THEN s.changed_at ELSE clock_timestamp() END,
        changed_by = coalesce(put_schedule.changed_by, s.changed_by)
    WHERE s.id = present.id;
    -- A higher run limit resumes an ended schedule; other changes keep its times.
    IF NOT is_new AND (NOT errand.same_times(before, errand.schedule_settings(present))
        OR (present.next_at IS NULL AND before -> 'run_limit'
            IS DISTINCT FROM errand.schedule_settings(present) -> 'run_limit'))
    THEN
        UPDATE errand.schedules s
        SET replan = 'edited', replan_at = clock_timestamp(), next_at = '-infinity'
        WHERE s.id = present.id;
    END IF;
    INSERT INTO errand.queues (name) SELECT present.queue WHERE present.queue IS NOT NULL
    ON CONFLICT DO NOTHING;
    PERFORM pg_notify('errand_schedules', '');
    RETURN is_new;
END $$;
