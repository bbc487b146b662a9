import Errand
extension Statements {
    /// The data that explains why job $1 does not run, in one snapshot; counts up to $2 jobs ahead.
    ///
    /// Reads only the jobs ahead in each lane of its queue, so that the backlog behind the job does
    /// not matter.
    static let situation = """
        WITH job AS MATERIALIZED (
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
            SELECT w.id, w.stopping, w.quiet, w.kinds,
                CASE WHEN s.key IS NOT NULL
                    THEN coalesce(\(whole("w.queues -> s.key -> 'concurrency'")), 0) END
                    AS slots,
                \(whole("w.load -> job.queue -> 'busy'")) AS busy,
                \(real("w.load -> job.queue -> 'rate'")) AS rate,
                CASE WHEN s.key IS NULL THEN ARRAY(
                    SELECT jsonb_object_keys(w.queues) LIMIT 100) ELSE '{}' END AS others
            FROM errand.workers w CROSS JOIN job
            CROSS JOIN LATERAL (SELECT errand.serving(w.queues, job.queue) AS key) s
            WHERE w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
        ), ahead AS (
            SELECT count(*) AS jobs FROM job
            JOIN errand.lanes l ON l.queue = job.queue AND l.priority <= job.priority
            CROSS JOIN LATERAL errand.lane_jobs(l, $2, CASE WHEN l.priority < job.priority
                THEN clock_timestamp() ELSE job.run_at END, job.id, waiting => true) j
            WHERE job.state IN ('available', 'retrying') AND EXISTS (
                SELECT FROM alive w WHERE w.slots IS NOT NULL
                  AND l.kind || '@' || l.args_version = ANY (w.kinds))
        )
        SELECT job.*, \(sensitive) AS sensitive,
            \(whole("job.options -> 'timeout_ms'", upTo: 1_000_000_000_000)) AS timeout_ms,
            clock_timestamp() AS now, q.paused_at, q.paused_by, q.pause_reason, q.paused_until,
            holder.host AS holder_host, holder.pid AS holder_pid,
            holder.last_seen_at AS holder_seen_at, holder.lease_seconds::float8 AS holder_lease,
            (SELECT least(a.jobs, $2) FROM ahead a) AS ahead,
            (SELECT coalesce(jsonb_agg(to_jsonb(alive)), '[]') FROM alive) AS workers,
            (SELECT i.id::text FROM errand.instance i) AS instance,
            ql.limit_running, ql.limit_rate, ql.limit_in_use, ql.is_rate_used
        FROM job
        LEFT JOIN errand.queues q ON q.name = job.queue AND \(isPaused)
        LEFT JOIN errand.workers holder ON holder.id = job.worker
        \(limitOfJob)
        """
}
