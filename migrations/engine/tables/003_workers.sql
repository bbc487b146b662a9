-- Workers, the leadership roles that they hold, the limits of queues, and the activity of each
-- minute.

CREATE TABLE errand.workers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host text NOT NULL,
    pid int NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_seconds real NOT NULL,
    stopping boolean NOT NULL DEFAULT false,
    -- {"queue": {"concurrency": n, "weight": n, "busy": n, "completed": n, "failed": n, …}}
    queues jsonb NOT NULL,
    -- "kind@version", for each version of the arguments that this worker can run
    kinds text[] NOT NULL,
    -- An operator's command; null for none.
    command text CHECK (command IN ('quiet', 'stop')),
    command_at timestamptz,
    command_by text,
    command_reason text,
    -- Whether it applies the command quiet: it claims no new jobs.
    quiet boolean NOT NULL DEFAULT false,
    -- The jobs that it ran at its last heartbeat, oldest first, at most a hundred: no index of
    -- errand.jobs names the claim.
    running bigint[] NOT NULL DEFAULT '{}',
    -- It applies the limits of queues that were set before this time.
    limits_applied_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

-- The holders of the leadership roles: an advisory lock decides, and its holder registers here.
CREATE TABLE errand.leaders (
    role text PRIMARY KEY CHECK (role IN ('feeder', 'scheduler')),
    -- Null for a scheduler outside a worker.
    worker bigint,
    host text NOT NULL,
    pid int NOT NULL,
    -- The process id of the PostgreSQL session that holds the lock.
    backend int NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When an operator asked its holder to release it; cleared when it is taken again.
    resign_requested_at timestamptz
);

-- Limits of a queue across all workers. A queue without a row here costs nothing.
CREATE TABLE errand.queue_limits (
    queue text COLLATE "C" PRIMARY KEY REFERENCES errand.queues (name) ON DELETE CASCADE,
    -- Jobs at once.
    running int CHECK (running >= 1),
    -- Starts per second: a token bucket that fills at this rate and holds a tenth of a second of
    -- it.
    rate_per_s double precision CHECK (rate_per_s > 0),
    -- As the operator wrote it, such as 50/m.
    rate text,
    tokens double precision NOT NULL DEFAULT 1,
    refilled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_by text NOT NULL,
    reason text,
    CHECK (running IS NOT NULL OR rate_per_s IS NOT NULL)
) WITH (fillfactor = 50);

-- The slots of running jobs of limited queues. A row counts while the job is claimed with its
-- token: the job's result, a recovery or a crash frees the slot, and the next claim of the queue
-- deletes the row.
CREATE TABLE errand.slots (
    queue text COLLATE "C" NOT NULL,
    job_id bigint NOT NULL,
    token bigint NOT NULL,
    PRIMARY KEY (queue, job_id, token)
);

-- The activity of the workers by minute, for rates and percentiles, which cost the same however
-- long the history is.
--
-- Each worker writes only its own rows, and updates the row of the minute with every heartbeat.
-- After an hour, the rows of all workers for ten minutes are merged into one row of worker 0. A
-- histogram is two parallel arrays: the numbers of the buckets that are not empty, and the count
-- of each. Bucket 0 ends at 100 µs, each further one is wider by a quarter of a doubling.
CREATE TABLE errand.activity (
    minute timestamptz NOT NULL,
    worker bigint NOT NULL,
    -- First attempts that started.
    started int NOT NULL DEFAULT 0,
    completed int NOT NULL DEFAULT 0,
    -- Attempts that failed and are retried.
    retried int NOT NULL DEFAULT 0,
    dead int NOT NULL DEFAULT 0,
    cancelled int NOT NULL DEFAULT 0,
    snoozed int NOT NULL DEFAULT 0,
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- From the time at which a job was due to the start of its attempt.
    wait_buckets smallint[] NOT NULL DEFAULT '{}',
    wait_counts int[] NOT NULL DEFAULT '{}',
    -- From the start of an attempt to its end.
    run_buckets smallint[] NOT NULL DEFAULT '{}',
    run_counts int[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (minute, worker, queue, kind)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
