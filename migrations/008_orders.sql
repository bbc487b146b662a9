-- What operators order: workers to be quiet or to stop, leaders to let go, queues to keep within
-- limits.

ALTER TABLE errand.workers
    -- What it was asked to do; null works as usual.
    ADD COLUMN asked text CHECK (asked IN ('quiet', 'stop')),
    ADD COLUMN asked_at timestamptz,
    ADD COLUMN asked_by text,
    ADD COLUMN asked_reason text,
    -- It has heard that it is to be quiet: it takes no new jobs.
    ADD COLUMN quiet boolean NOT NULL DEFAULT false,
    -- What it ran at its last beat, the oldest first, up to a hundred: no index names the claim.
    ADD COLUMN running bigint[] NOT NULL DEFAULT '{}',
    -- Up to when it has heard of the limits of queues, and claims by them.
    ADD COLUMN limits_heard timestamptz NOT NULL DEFAULT '-infinity';

-- Who leads in what: a lock in PostgreSQL decides, and its holder signs here.
CREATE TABLE errand.leads (
    lead text PRIMARY KEY CHECK (lead IN ('duties', 'scheduler')),
    -- Null for a scheduler outside a worker.
    worker bigint,
    host text NOT NULL,
    pid int NOT NULL,
    -- The server's process of the session that holds the lock.
    backend int NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When its holder was asked to let go; forgotten with the next signature.
    resign_asked_at timestamptz
);

-- How much of a queue may run, over all workers. A queue without a row here costs nothing.
CREATE TABLE errand.queue_limits (
    queue text COLLATE "C" PRIMARY KEY REFERENCES errand.queues (name) ON DELETE CASCADE,
    -- Jobs at once.
    running int CHECK (running >= 1),
    -- Starts a second, as a bucket that fills at this rate and holds a tenth of a second's worth.
    rate_per_s double precision CHECK (rate_per_s > 0),
    -- As it was asked for, such as 50/m.
    rate text,
    tokens double precision NOT NULL DEFAULT 1,
    refilled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_by text NOT NULL,
    reason text,
    CHECK (running IS NOT NULL OR rate_per_s IS NOT NULL)
) WITH (fillfactor = 50);

-- Where to look for the running jobs of limited queues. A row counts while the job is claimed
-- with its token, so that nobody has to delete it in time: the job's end, a rescue or a crash
-- free the slot by themselves, and the next claim of the queue sweeps it up.
CREATE TABLE errand.slots (
    queue text COLLATE "C" NOT NULL,
    job_id bigint NOT NULL,
    token bigint NOT NULL,
    PRIMARY KEY (queue, job_id, token)
);
