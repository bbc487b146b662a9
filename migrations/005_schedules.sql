-- Schedules: when jobs are to be made by the clock, and what became of each time.

CREATE TABLE errand.schedules (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_.-]{0,99}$'),

    -- What it asks for: errand.schedule_settings() lists these columns.
    recurrence text NOT NULL,
    zone text NOT NULL DEFAULT 'UTC',
    gap text CHECK (gap IN ('shift', 'skip')),
    repeats text CHECK (repeats IN ('first', 'last', 'both')),
    starts_at timestamptz,
    ends_at timestamptz,
    jitter_ms bigint NOT NULL DEFAULT 0 CHECK (jitter_ms >= 0),
    kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z0-9][a-z0-9_.-]{0,99}$'),
    args jsonb NOT NULL DEFAULT '{}',
    args_version smallint NOT NULL DEFAULT 1,
    -- Null: as the kind says.
    queue text COLLATE "C" CHECK (queue ~ '^[a-z0-9][a-z0-9_.-]{0,62}$'),
    priority smallint CHECK (priority BETWEEN 0 AND 3),
    max_attempts smallint CHECK (max_attempts >= 1),
    catch_up text NOT NULL DEFAULT 'latest'
        CHECK (catch_up IN ('none', 'latest', 'all', 'merge')),
    catch_up_window_s bigint NOT NULL DEFAULT 604800 CHECK (catch_up_window_s >= 0),
    catch_up_limit int NOT NULL DEFAULT 100 CHECK (catch_up_limit BETWEEN 1 AND 1000),
    overlap text NOT NULL DEFAULT 'allow'
        CHECK (overlap IN ('allow', 'skip', 'buffer-one', 'replace', 'cancel')),
    pause_after int CHECK (pause_after >= 1),
    run_limit bigint CHECK (run_limit >= 1),

    -- What the program that declares it asked for last, null for one that an operator added.
    -- Where a setting differs from it, an operator changed it, and a new declaration leaves it.
    declared jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz,
    changed_by text,
    paused_at timestamptz,
    paused_by text,
    pause_note text,

    -- Where it stands. All times come from the program, which knows the zones; none from here.
    next_due timestamptz,
    -- next_due with its jitter; null when nothing more is to come.
    next_at timestamptz,
    last_due timestamptz,
    runs bigint NOT NULL DEFAULT 0,
    failures int NOT NULL DEFAULT 0,
    -- Why next_due is to be computed anew (then next_at is -infinity), or null.
    replan text DEFAULT 'new' CHECK (replan IN ('new', 'edited', 'resumed', 'tzdata', 'clock')),
    -- Since when its other times hold.
    replan_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The version of the time-zone data that next_due was computed with.
    planned_with text COLLATE "C",
    CHECK (ends_at > starts_at)
) WITH (fillfactor = 70);
CREATE INDEX schedules_next ON errand.schedules (next_at)
    WHERE paused_at IS NULL AND next_at IS NOT NULL;

-- Each time at which a schedule was dealt with on its own, once: the primary key is what makes an
-- occurrence happen exactly once, however many schedulers run.
CREATE TABLE errand.schedule_occurrences (
    schedule_id bigint NOT NULL REFERENCES errand.schedules ON DELETE CASCADE,
    due_at timestamptz NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    job_id bigint,
    origin text NOT NULL CHECK (origin IN ('schedule', 'catch-up', 'backfill', 'trigger')),
    -- held: waits for the last run to end; enqueued: its job has not ended yet; ended: the job
    -- left no trace; skipped: no job was made.
    outcome text NOT NULL CHECK (outcome IN (
        'held', 'enqueued', 'completed', 'cancelled', 'dead', 'ended', 'skipped')),
    reason text,
    -- In the job of this other occurrence.
    merged_into timestamptz,
    PRIMARY KEY (schedule_id, due_at)
) WITH (fillfactor = 70);
CREATE INDEX schedule_occurrences_open ON errand.schedule_occurrences (schedule_id, due_at)
    WHERE outcome IN ('held', 'enqueued');
CREATE INDEX schedule_occurrences_held ON errand.schedule_occurrences (schedule_id, due_at)
    WHERE outcome = 'held';

-- Times that went by without a job, a row for each unbroken run of them.
CREATE TABLE errand.schedule_misses (
    schedule_id bigint NOT NULL REFERENCES errand.schedules ON DELETE CASCADE,
    first_due timestamptz NOT NULL,
    last_due timestamptz NOT NULL,
    -- Null: too many to count.
    count int,
    reason text NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX schedule_misses_place ON errand.schedule_misses (schedule_id, last_due);

-- What a schedule asks for, by column.
CREATE FUNCTION errand.schedule_settings(s errand.schedules) RETURNS jsonb
LANGUAGE sql STABLE SET timezone = 'UTC' AS $$
    SELECT to_jsonb(s) - '{id,name,declared,created_at,changed_at,changed_by,paused_at,paused_by,
        pause_note,next_due,next_at,last_due,runs,failures,replan,replan_at,planned_with}'::text[]
$$;

-- The settings in which an operator's change differs from the program's declaration.
CREATE FUNCTION errand.changed_settings(s errand.schedules) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(d.key ORDER BY d.key), '{}')
    FROM jsonb_each(s.declared) AS d
    WHERE d.value IS DISTINCT FROM errand.schedule_settings(s) -> d.key
$$;

-- Whether two sets of settings give the same times.
CREATE FUNCTION errand.same_times(a jsonb, b jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT bool_and(a -> name IS NOT DISTINCT FROM b -> name)
    FROM unnest('{recurrence,zone,gap,repeats,starts_at,ends_at,jitter_ms}'::text[]) AS t (name)
$$;

-- Gives a schedule these settings (those not named stay, or are the defaults of a new one).
-- Returns whether it is new.
--   changed_by   who: null for the program that declares it, whose word does not undo what an
--                operator changed
CREATE FUNCTION errand.put_schedule(schedule_name text, settings jsonb, changed_by text)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    present errand.schedules;
    before jsonb;
    asked jsonb;
    unknown text;
    is_new boolean := false;
BEGIN
    SELECT * INTO present FROM errand.schedules s WHERE s.name = schedule_name;
    -- Every start of a program comes by here: what is unchanged locks nothing.
    IF changed_by IS NULL AND present.declared
        = errand.schedule_settings(jsonb_populate_record(present, settings))
    THEN
        RETURN false;
    END IF;
    SELECT key INTO unknown FROM jsonb_object_keys(settings) AS key
    WHERE NOT errand.schedule_settings(jsonb_populate_record(NULL::errand.schedules, '{}')) ? key
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a schedule has no setting %', unknown
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
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
    -- A higher limit of runs brings an ended one back; other changes leave its times alone.
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
