import Errand
/// Queries of the engine's numbers, whose cost hardly grows with the number of jobs.
extension Statements {
    /// A sample of a few hundred pages of the live jobs, from which large counts are estimated.
    ///
    /// The pages are the same each time while the table's size is unchanged.
    ///
    /// Unlike the planner's statistics, it needs no ANALYZE and covers the correlation of states,
    /// queues and times.
    static let sample = """
        portion AS MATERIALIZED (
            SELECT least(100, 30000.0 / greatest(pg_relation_size('errand.jobs') / 8192, 1))
                ::float8 AS percent
        ), sample AS MATERIALIZED (
            SELECT queue, kind, args_version,
                errand.live_state(claimed_by, attempt, run_at, now()) AS state,
                count(*) * 100 / (SELECT percent FROM portion) AS jobs
            FROM errand.jobs TABLESAMPLE SYSTEM ((SELECT percent FROM portion)) REPEATABLE (7)
            GROUP BY queue, kind, args_version, state
        )
        """

    /// The same sample of the dead letters, which have their own table.
    private static let deadSample = """
        dead_portion AS MATERIALIZED (
            SELECT least(100, 10000.0 / greatest(pg_relation_size('errand.dead_jobs') / 8192, 1))
                ::float8 AS percent
        ), dead_sample AS MATERIALIZED (
            SELECT queue, count(*) * 100 / (SELECT percent FROM dead_portion) AS jobs
            FROM errand.dead_jobs
                TABLESAMPLE SYSTEM ((SELECT percent FROM dead_portion)) REPEATABLE (7)
            GROUP BY queue
        )
        """

    /// The live workers, what they report of each queue (`loaded`), and how many of them with how
    /// many slots serve each queue (`worked`).
    ///
    /// Workers that declare the same are taken together: they may declare thousands of queues.
    private static let workerLoads = """
        alive AS MATERIALIZED (
            SELECT queues, load, stopping FROM errand.workers
            WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        ), loaded AS (
            SELECT q.key AS queue, sum(\(whole("q.value -> 'busy'"))) AS busy,
                sum(\(whole("q.value -> 'waiting'"))) AS held
            FROM alive CROSS JOIN LATERAL jsonb_each(load) AS q GROUP BY q.key
        ), declared AS MATERIALIZED (
            SELECT d.n, d.workers, d.active, q.key AS name,
                \(whole("q.value -> 'concurrency'")) AS slots
            FROM (
                SELECT row_number() OVER () AS n, queues, count(*) AS workers,
                    count(*) FILTER (WHERE NOT stopping) AS active
                FROM alive GROUP BY queues
            ) d CROSS JOIN LATERAL jsonb_each(d.queues) AS q
        ), named AS MATERIALIZED (
            SELECT q.name AS queue, d.n, d.workers, d.active * d.slots AS slots
            FROM errand.queues q JOIN declared d ON d.name = q.name
            WHERE $1::text IS NULL OR q.name = $1
        ), matched AS (
            -- As errand.serving() decides.
            SELECT DISTINCT ON (q.name, d.n) q.name AS queue, d.n, d.workers,
                d.active * d.slots AS slots
            FROM declared d JOIN errand.queues q ON q.name LIKE errand.like_pattern(d.name)
            WHERE strpos(d.name, '*') > 0 AND ($1::text IS NULL OR q.name = $1)
              AND (q.name, d.n) NOT IN (SELECT queue, n FROM named)
            ORDER BY q.name, d.n, octet_length(d.name) DESC, d.name COLLATE "C"
        ), worked AS (
            SELECT queue, sum(workers) AS workers, sum(slots) AS slots
            FROM (SELECT * FROM named UNION ALL SELECT * FROM matched) s GROUP BY queue
        )
        """

    /// Depth and age of each queue, or only of queue $1; counts up to $2 jobs per queue (null:
    /// all), larger numbers are estimates.
    ///
    /// A queue whose sample is much larger is not counted at all. The oldest is exact: the first
    /// due and unclaimed job of each lane and priority.
    static let queueDepths = """
        WITH \(lane), \(sample), \(deadSample), \(workerLoads), sampled AS (
            SELECT queue, sum(jobs) AS jobs,
                sum(jobs) FILTER (WHERE state = 'available') AS available,
                sum(jobs) FILTER (WHERE state = 'scheduled') AS scheduled,
                sum(jobs) FILTER (WHERE state = 'retrying') AS retrying
            FROM sample GROUP BY queue
        ), counted AS (
            SELECT l.queue, min(o.run_at) AS oldest, sum(c.jobs) AS jobs,
                sum(c.available) AS available, sum(c.scheduled) AS scheduled,
                sum(c.retrying) AS retrying, sum(c.running) AS running
            FROM lane l LEFT JOIN sampled s ON s.queue = l.queue
            CROSS JOIN LATERAL (
                SELECT min(j.run_at) AS run_at
                FROM errand.lane_jobs(l.place, 1, now(), waiting => true) j
            ) o
            CROSS JOIN LATERAL (
                SELECT count(*) AS jobs,
                    count(*) FILTER (WHERE state = 'available') AS available,
                    count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
                    count(*) FILTER (WHERE state = 'retrying') AS retrying,
                    count(*) FILTER (WHERE state = 'running') AS running
                FROM (
                    SELECT errand.live_state(j.claimed_by, j.attempt, j.run_at, now()) AS state
                    FROM errand.lane_jobs(l.place,
                        CASE WHEN s.jobs > 4 * $2::bigint THEN 0 ELSE $2::bigint + 1 END) j
                ) j
            ) c
            GROUP BY l.queue
        ), shown AS (
            SELECT q.*, s.available AS sampled_available, s.scheduled AS sampled_scheduled,
                s.retrying AS sampled_retrying, c.oldest, coalesce(c.available, 0) AS available,
                coalesce(c.scheduled, 0) AS scheduled, coalesce(c.retrying, 0) AS retrying,
                coalesce(c.running, 0) AS running,
                coalesce(s.jobs > 4 * $2::bigint OR c.jobs > $2, false) AS is_estimate,
                coalesce(w.workers, 0) AS workers, coalesce(w.slots, 0) AS slots,
                coalesce(l.busy, 0) AS busy, coalesce(l.held, 0) AS held, d.jobs AS sampled_dead,
                coalesce(d.jobs > 4 * $2::bigint, false) AS has_many_dead
            FROM errand.queues q
            LEFT JOIN sampled s ON s.queue = q.name
            LEFT JOIN counted c ON c.queue = q.name
            LEFT JOIN worked w ON w.queue = q.name
            LEFT JOIN loaded l ON l.queue = q.name
            LEFT JOIN dead_sample d ON d.queue = q.name
            WHERE $1::text IS NULL OR q.name = $1
        )
        SELECT q.name, p.paused_at, p.paused_by, p.pause_reason, p.paused_until, q.oldest,
            (CASE WHEN q.is_estimate THEN greatest(q.sampled_available, q.available)
                ELSE q.available END)::bigint AS available,
            (CASE WHEN q.is_estimate THEN greatest(q.sampled_scheduled, q.scheduled)
                ELSE q.scheduled END)::bigint AS scheduled,
            (CASE WHEN q.is_estimate THEN greatest(q.sampled_retrying, q.retrying)
                ELSE q.retrying END)::bigint AS retrying,
            -- Running jobs are too few for the sample: uses the reports of the workers.
            (CASE WHEN q.is_estimate THEN greatest(q.busy + q.held, q.running)
                ELSE q.running END)::bigint AS running,
            q.is_estimate, f.dead::bigint AS dead, f.is_estimate AS is_dead_estimate,
            q.workers::bigint AS workers, q.slots::bigint AS slots, q.busy::bigint AS busy
        FROM shown q
        LEFT JOIN LATERAL (
            SELECT q.paused_at, q.paused_by, q.pause_reason, q.paused_until WHERE \(isPaused)
        ) p ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(q.has_many_dead OR count(*) > $2, false) AS is_estimate,
                CASE WHEN q.has_many_dead OR count(*) > $2
                    THEN greatest(q.sampled_dead, count(*)) ELSE count(*) END AS dead
            FROM (
                SELECT FROM errand.dead_jobs f WHERE f.queue = q.name
                LIMIT CASE WHEN q.has_many_dead THEN 0 ELSE $2::bigint + 1 END
            ) c
        ) f
        ORDER BY q.name
        """

    /// The last id that the sequence of jobs has generated; null without the privilege to read it.
    static let lastNumber = """
        CASE WHEN has_sequence_privilege('errand.jobs_id_seq', 'USAGE, SELECT')
            THEN coalesce(pg_sequence_last_value('errand.jobs_id_seq'), 0) END
        """

    /// The number of new jobs per queue within the last minute, from the newest 10,000 ids.
    ///
    /// Uses the sequence instead of `ORDER BY id`, so that deleted jobs cost nothing. `seconds` is
    /// the age of the sample, at most a minute. The row without a queue covers all queues. It is
    /// an estimate if ids of that minute are missing, because kinds without retention leave no
    /// trace. Without this row, the rates are unknown.
    static let arrivals = """
        WITH newest AS MATERIALIZED (
            SELECT n - 10000 AS first, n AS last FROM (SELECT \(lastNumber) AS n) l
        ), come AS MATERIALIZED (
            SELECT id, queue, created_at FROM errand.jobs
            WHERE id > (SELECT first FROM newest) AND id <= (SELECT last FROM newest)
            UNION ALL
            SELECT id, queue, created_at FROM errand.finished_jobs
            WHERE id > (SELECT first FROM newest) AND id <= (SELECT last FROM newest)
        ), reach AS (
            SELECT (SELECT first FROM newest) <= 0
                OR coalesce(min(created_at) <= now() - interval '1 min', false) AS is_whole,
                -- Infinite times cannot be subtracted.
                extract(epoch FROM now() - greatest(least(min(created_at), now()), '1970-01-01Z'))
                    ::float8 AS seconds,
                coalesce(max(id) FILTER (WHERE created_at <= now() - interval '1 min'),
                    greatest((SELECT first FROM newest), 0)) AS before,
                count(*) FILTER (WHERE created_at > now() - interval '1 min') AS jobs
            FROM come
        )
        SELECT c.queue, count(*) AS jobs, NOT r.is_whole AS is_estimate,
            CASE WHEN r.is_whole THEN 60 ELSE greatest(least(r.seconds, 60), 0.001) END AS seconds
        FROM come c CROSS JOIN reach r
        WHERE c.created_at > now() - interval '1 min'
        GROUP BY c.queue, r.is_whole, r.seconds
        UNION ALL
        SELECT NULL, r.jobs, n.last - r.before > r.jobs, 60
        FROM reach r CROSS JOIN newest n WHERE n.last IS NOT NULL
        """

    /// The activity of each queue: histograms of the last $1 seconds, and the jobs finished in this
    /// minute and the one before.
    ///
    /// $2 is one queue, or null for all.
    static let queueActivity = """
        WITH recent AS MATERIALIZED (
            SELECT * FROM errand.activity
            WHERE minute >= date_trunc('minute', now()) - make_interval(secs => $1)
              AND ($2::text IS NULL OR queue = $2)
        ), waits AS (
            SELECT queue, array_agg(bucket) AS buckets, array_agg(jobs) AS counts FROM (
                SELECT r.queue, w.bucket, sum(w.jobs)::bigint AS jobs
                FROM recent r CROSS JOIN LATERAL unnest(r.wait_buckets, r.wait_counts)
                    AS w (bucket, jobs)
                WHERE w.bucket IS NOT NULL AND w.jobs > 0
                GROUP BY r.queue, w.bucket
            ) w GROUP BY queue
        ), ends AS (
            SELECT queue, sum(completed + dead + cancelled) FILTER (
                WHERE minute >= date_trunc('minute', now()) - interval '1 min') AS ended
            FROM recent GROUP BY queue
        )
        SELECT e.queue, coalesce(e.ended, 0)::bigint AS ended,
            extract(epoch FROM now() - date_trunc('minute', now()) + interval '1 min')::float8
                AS seconds,
            coalesce(w.buckets, '{}') AS wait_buckets, coalesce(w.counts, '{}') AS wait_counts
        FROM ends e LEFT JOIN waits w ON w.queue = e.queue
        """
}
