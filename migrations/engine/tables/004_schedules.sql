-- Schedules: when jobs are created by the clock, and the outcome of each occurrence.

CREATE TABLE errand.schedules (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_.-]{0,99}$'),

    -- Its settings: errand.schedule_settings() returns these columns.
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
    -- Null: the default of the kind.
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

    -- The settings as its program declared them last; null for a schedule that an operator added.
    -- A setting that differs was changed by an operator, and a new declaration leaves it alone.
    declared jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz,
    changed_by text,
    paused_at timestamptz,
    paused_by text,
    pause_reason text,

    -- Its state. All times are computed by the program, which knows the time zones.
    next_due timestamptz,
    -- next_due with its jitter; null when there is no further occurrence.
    next_at timestamptz,
    last_due timestamptz,
    runs bigint NOT NULL DEFAULT 0,
    failures int NOT NULL DEFAULT 0,
    -- Why next_due must be computed again (then next_at is -infinity), or null.
    replan text DEFAULT 'new' CHECK (replan IN ('new', 'edited', 'resumed', 'tzdata', 'clock')),
    -- The time from which its changed times apply.
    replan_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The version of the time-zone data that next_due was computed with.
    planned_with text COLLATE "C",
    CHECK (ends_at > starts_at)
) WITH (fillfactor = 70);
CREATE INDEX schedules_next ON errand.schedules (next_at)
    WHERE paused_at IS NULL AND next_at IS NOT NULL;

-- The individually processed occurrences. The primary key ensures that each is processed once,
-- however many schedulers run.
CREATE TABLE errand.schedule_occurrences (
    schedule_id bigint NOT NULL REFERENCES errand.schedules ON DELETE CASCADE,
    due_at timestamptz NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    job_id bigint,
    origin text NOT NULL CHECK (origin IN ('schedule', 'catch-up', 'backfill', 'trigger')),
    -- held: waits for the previous run; enqueued: its job is unfinished; ended: its job finished
    -- without a record; skipped: no job was created.
    outcome text NOT NULL CHECK (outcome IN (
        'held', 'enqueued', 'completed', 'cancelled', 'dead', 'ended', 'skipped')),
    reason text,
    -- The occurrence whose job includes this one.
    merged_into timestamptz,
    PRIMARY KEY (schedule_id, due_at)
) WITH (fillfactor = 70);
CREATE INDEX schedule_occurrences_open ON errand.schedule_occurrences (schedule_id, due_at)
    WHERE outcome IN ('held', 'enqueued');
CREATE INDEX schedule_occurrences_held ON errand.schedule_occurrences (schedule_id, due_at)
    WHERE outcome = 'held';

-- Missed occurrences, one row for each consecutive run of them.
CREATE TABLE errand.schedule_misses (
    schedule_id bigint NOT NULL REFERENCES errand.schedules ON DELETE CASCADE,
    first_due timestamptz NOT NULL,
    last_due timestamptz NOT NULL,
    -- Null if there were too many to count.
    count int,
    reason text NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX schedule_misses_place ON errand.schedule_misses (schedule_id, last_due);
