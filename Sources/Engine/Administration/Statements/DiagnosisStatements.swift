import Errand
extension Statements {
    /// The data that explains why job $1 does not run, in one snapshot; counts up to $2 jobs ahead.
    ///
    /// Walks through the lanes of its queue in the index, and reads only the jobs ahead in each, so
    /// that the backlog behind the job does not matter.
    static let situation = """
        WITH RECURSIVE job AS MATERIALIZED (
            SELECT id, kind, queue, args_version,
                errand.live_state(claimed_by, attempt, run_at, clock_timestamp()) AS state,
                priority, attempt, max_attempts, run_at, not_after, claimed_at AS started_at,
                claimed_by AS worker, cancel_requested, NULL::timestamptz AS finished_at,
                NULL::real AS duration_ms, NULL::text AS reason, errors -> -1 AS error, options,
                args
            FROM errand.jobs WHERE id = $1
            UNION ALL
            SELECT id, kind, queue, args_version, outcome::text, priority, attempt, max_attempts,
                run_at, NULL, started_at, worker, false, finished_at, duration_ms, reason,
                errors -> -1, options, args
            FROM errand.finished_jobs WHERE id = $1
            LIMIT 1
        ), alive AS MATERIALIZED (
            SELECT id, stopping, quiet, queues, kinds FROM errand.workers
            WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        ), lane AS (
            SELECT first.* FROM job CROSS JOIN LATERAL (
                SELECT j.kind, j.args_version FROM errand.jobs j WHERE j.queue = job.queue
                ORDER BY j.queue, j.kind, j.args_version LIMIT 1
            ) first
            WHERE job.state IN ('available', 'retrying')
            UNION ALL
            SELECT next.* FROM lane CROSS JOIN job CROSS JOIN LATERAL (
                SELECT j.kind, j.args_version FROM errand.jobs j
                WHERE j.queue = job.queue
                  AND (j.kind, j.args_version) > (lane.kind, lane.args_version)
                ORDER BY j.queue, j.kind, j.args_version LIMIT 1
            ) next
        ), ahead AS (
            SELECT 1 FROM job CROSS JOIN lane CROSS JOIN generate_series(0, 3) AS p (priority)
            CROSS JOIN LATERAL (
                SELECT FROM errand.jobs j
                WHERE j.queue = job.queue AND j.kind = lane.kind
                  AND j.args_version = lane.args_version AND j.priority = p.priority::smallint
                  AND (j.run_at, j.id) < (CASE WHEN p.priority < job.priority
                    THEN clock_timestamp() ELSE job.run_at END, job.id)
                  AND j.claimed_by IS NULL
                ORDER BY j.run_at, j.id LIMIT $2
            ) j
            WHERE p.priority <= job.priority AND EXISTS (
                SELECT FROM alive w WHERE w.queues ? job.queue
                  AND lane.kind || '@' || lane.args_version = ANY (w.kinds))
            LIMIT $2
        )
        SELECT job.*, \(sensitive) AS sensitive,
            (job.options ->> 'timeout_ms')::bigint AS timeout_ms,
            clock_timestamp() AS now, q.paused_at, q.paused_by, q.pause_reason, q.paused_until,
            holder.host AS holder_host, holder.pid AS holder_pid,
            holder.last_seen_at AS holder_seen_at, holder.lease_seconds::float8 AS holder_lease,
            (SELECT count(*) FROM ahead) AS ahead,
            (SELECT coalesce(jsonb_agg(to_jsonb(alive)), '[]') FROM alive) AS workers,
            (SELECT i.id::text FROM errand.instance i) AS instance,
            ql.limit_running, ql.limit_rate, ql.limit_in_use, ql.is_rate_used
        FROM job
        LEFT JOIN errand.queues q ON q.name = job.queue AND \(isPaused)
        LEFT JOIN errand.workers holder ON holder.id = job.worker
        \(limitOfJob)
        """
}
