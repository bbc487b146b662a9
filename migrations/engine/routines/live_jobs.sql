-- Live jobs: their state, their failed attempts, and how many of them wait.

-- The state of a live job, as commands and pages show it.
CREATE OR REPLACE FUNCTION errand.live_state(
    claimed_by bigint, attempt smallint, run_at timestamptz, at timestamptz
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN claimed_by IS NOT NULL THEN 'running'
        WHEN attempt > 0 THEN 'retrying'
        WHEN run_at > at THEN 'scheduled'
        ELSE 'available'
    END
$$;

-- Adds one failed attempt to a job's history and keeps the last 25. What is no history, written by
-- hand, is replaced: an error would hold up the results of other jobs.
CREATE OR REPLACE FUNCTION errand.with_error(errors jsonb, entry jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN jsonb_typeof(errors) IS DISTINCT FROM 'array' THEN jsonb_build_array(entry)
        WHEN jsonb_array_length(errors) >= 25 THEN (errors - 0) || jsonb_build_array(entry)
        ELSE errors || jsonb_build_array(entry)
    END
$$;

-- Counts the workers that died within a second of the start of a job; only those that had started
-- at most N jobs in that second, with this one.
CREATE OR REPLACE FUNCTION errand.early_deaths(errors jsonb, n int DEFAULT 2147483647)
RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_array_length(jsonb_path_query_array(errors,
        '$[*] ? (@.started_together <= $n)', jsonb_build_object('n', n))), 0)
$$;

-- The depth of each queue, for autoscalers (such as KEDA). It costs a few index lookups per lane,
-- and counting ends at 10,000 jobs of a kind and priority, which is enough for autoscaling.
CREATE OR REPLACE VIEW errand.queue_depth AS
WITH alive AS MATERIALIZED (
    SELECT w.load FROM errand.workers w
    WHERE w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
)
SELECT q.name::text AS queue, coalesce(waiting.jobs, 0)::bigint AS ready,
    coalesce(held.jobs, 0)::bigint AS running,
    coalesce(greatest(extract(epoch FROM clock_timestamp() - waiting.oldest), 0), 0)::float8
        AS oldest_wait_seconds
FROM errand.queues q
LEFT JOIN (
    SELECT l.queue, sum(due.jobs) AS jobs,
        -- Infinite times cannot be subtracted.
        CASE WHEN sum(due.jobs) > 0 THEN greatest(min(due.oldest), '1970-01-01Z') END AS oldest
    FROM errand.lanes l CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, min(j.run_at) AS oldest
        FROM errand.lane_jobs(l, 10000, now(), waiting => true) AS j
    ) AS due
    GROUP BY l.queue
) AS waiting
    ON waiting.queue = q.name AND (q.paused_at IS NULL OR q.paused_until <= now())
LEFT JOIN (
    -- A row may have any value there.
    SELECT load.key AS queue, sum(CASE WHEN jsonb_typeof(n.value) = 'number'
        THEN least(greatest(n.value::numeric, 0), 1000000000) END) AS jobs
    FROM alive a CROSS JOIN LATERAL jsonb_each(a.load) AS load
    CROSS JOIN LATERAL (
        VALUES (load.value -> 'busy'), (load.value -> 'waiting')
    ) AS n (value)
    GROUP BY load.key
) AS held ON held.queue = q.name;
COMMENT ON VIEW errand.queue_depth IS
    'For autoscaling: a row for each queue. It is cheap enough to be read every few seconds.';
COMMENT ON COLUMN errand.queue_depth.ready IS
    'Due jobs that are not claimed; 0 while the queue is paused. Counted up to 10,000 for each '
    'kind and priority.';
COMMENT ON COLUMN errand.queue_depth.running IS
    'Jobs claimed by live workers, from their last heartbeats (every few seconds).';
COMMENT ON COLUMN errand.queue_depth.oldest_wait_seconds IS
    'Wait of the longest-waiting ready job, in seconds; 0 if none is ready.';

-- Cancels jobs that no worker has claimed, and keeps them some days without their arguments,
-- errors, keys and tags, which must not be known any more. Returns how many.
CREATE OR REPLACE FUNCTION errand.cancel_unclaimed(ids bigint[], reason text, keep_days int)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    count bigint;
BEGIN
    WITH ended AS (
        DELETE FROM errand.jobs j WHERE j.id = ANY (ids) AND j.claimed_by IS NULL RETURNING j.*
    ), effects AS (
        DELETE FROM errand.once_effects o USING ended e WHERE o.job_id = e.id
    )
    INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until, outcome,
        priority, attempt, max_attempts, args_version, queue, kind, reason, args, options)
    SELECT e.id, e.created_at, e.run_at, now(), (now() AT TIME ZONE 'UTC')::date + keep_days,
        'cancelled', e.priority, e.attempt, e.max_attempts, e.args_version, e.queue, e.kind,
        reason, '{"erased": true}', e.options
    FROM ended e;
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END $$;
