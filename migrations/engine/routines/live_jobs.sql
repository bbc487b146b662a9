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

-- Adds one failed attempt to a job's history and keeps the last 25.
CREATE OR REPLACE FUNCTION errand.with_error(errors jsonb, entry jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN errors IS NULL THEN jsonb_build_array(entry)
        WHEN jsonb_array_length(errors) >= 25 THEN (errors - 0) || jsonb_build_array(entry)
        ELSE errors || jsonb_build_array(entry)
    END
$$;

-- The depth of each queue, for autoscalers (such as KEDA). A queue costs a few index lookups per
-- lane, and counting ends at 10,000 jobs of a kind and priority, which is enough for autoscaling.
CREATE OR REPLACE VIEW errand.queue_depth AS
SELECT q.name::text AS queue, coalesce(waiting.jobs, 0)::bigint AS ready,
    coalesce(held.jobs, 0)::bigint AS running,
    coalesce(greatest(extract(epoch FROM clock_timestamp() - waiting.oldest), 0), 0)::float8
        AS oldest_wait_seconds
FROM errand.queues q
LEFT JOIN LATERAL (
    WITH RECURSIVE lane AS (
        (SELECT j.kind, j.args_version FROM errand.jobs j
         WHERE j.queue = q.name ORDER BY j.kind, j.args_version LIMIT 1)
        UNION ALL
        SELECT next.kind, next.args_version FROM lane CROSS JOIN LATERAL (
            SELECT j.kind, j.args_version FROM errand.jobs j
            WHERE j.queue = q.name AND (j.kind, j.args_version) > (lane.kind, lane.args_version)
            ORDER BY j.kind, j.args_version LIMIT 1) AS next
    )
    SELECT sum(due.jobs) AS jobs, min(due.oldest) AS oldest
    FROM lane CROSS JOIN generate_series(0, 3) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, min(first.run_at) AS oldest FROM (
            SELECT j.run_at FROM errand.jobs j
            WHERE j.queue = q.name AND j.kind = lane.kind AND j.args_version = lane.args_version
              AND j.priority = p.priority::smallint AND j.run_at <= now()
              AND j.claimed_by IS NULL
            ORDER BY j.run_at, j.id LIMIT 10000) AS first
    ) AS due
) AS waiting ON q.paused_at IS NULL OR q.paused_until <= now()
CROSS JOIN LATERAL (
    SELECT sum((w.queues -> q.name ->> 'busy')::bigint
        + coalesce((w.queues -> q.name ->> 'waiting')::bigint, 0)) AS jobs
    FROM errand.workers w
    WHERE w.queues ? q.name
      AND w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
) AS held;
COMMENT ON VIEW errand.queue_depth IS
    'For autoscaling: a row for each queue. It is cheap enough to be read every few seconds.';
COMMENT ON COLUMN errand.queue_depth.ready IS
    'Due jobs that are not claimed; 0 while the queue is paused. Counted up to 10,000 for each '
    'kind and priority.';
COMMENT ON COLUMN errand.queue_depth.running IS
    'Jobs claimed by live workers, from their last heartbeats (every few seconds).';
COMMENT ON COLUMN errand.queue_depth.oldest_wait_seconds IS
    'Wait of the longest-waiting ready job, in seconds; 0 if none is ready.';
