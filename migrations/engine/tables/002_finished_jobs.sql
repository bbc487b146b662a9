-- Finished jobs and dead letters.

CREATE TYPE errand.job_outcome AS ENUM ('completed', 'cancelled', 'dead');

-- Finished jobs, partitioned by the day on which their retention ends: kinds can have different
-- retentions, and expired jobs are deleted by dropping a partition.
CREATE TABLE errand.finished_jobs (
    id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    run_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    worker bigint,
    keep_until date NOT NULL,
    outcome errand.job_outcome NOT NULL,
    duration_ms real,
    priority smallint NOT NULL,
    attempt smallint NOT NULL,
    max_attempts smallint NOT NULL,
    args_version smallint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    reason text,
    args jsonb NOT NULL,
    unique_key text,
    tags text[],
    options jsonb,
    errors jsonb,
    -- For dead letters only, computed once, so that a group of a million is counted from an index
    -- instead of by a million regular expressions.
    fingerprint text
) PARTITION BY RANGE (keep_until);
CREATE INDEX finished_jobs_id ON errand.finished_jobs (id);
-- For listings, like those of errand.jobs.
CREATE INDEX finished_jobs_key ON errand.finished_jobs (unique_key, id)
    WHERE unique_key IS NOT NULL;
CREATE INDEX finished_jobs_tagged ON errand.finished_jobs (id) WHERE tags IS NOT NULL;
-- A job that was discarded without an error has a reason.
CREATE INDEX finished_jobs_failed ON errand.finished_jobs (id)
    WHERE errors IS NOT NULL OR reason IS NOT NULL;

-- Dead letters wait for an operator, outside of the daily retention.
CREATE TABLE errand.dead_jobs PARTITION OF errand.finished_jobs
    FOR VALUES FROM ('9999-01-01') TO (MAXVALUE);
CREATE INDEX dead_jobs_time ON errand.dead_jobs (finished_at);
CREATE INDEX dead_jobs_group ON errand.dead_jobs (fingerprint, id) INCLUDE (kind, finished_at);
CREATE INDEX dead_jobs_kind ON errand.dead_jobs (kind, id);
CREATE INDEX dead_jobs_queue ON errand.dead_jobs (queue, id);

-- For days without a prepared partition; emptied row by row.
CREATE TABLE errand.finished_jobs_other PARTITION OF errand.finished_jobs DEFAULT;
