import Errand
extension Statements {
    /// The numbers of each kind that is declared, has waiting jobs, or ran within $2 seconds.
    ///
    /// $1 is one kind, or null for all. Counts up to $3 jobs per lane (null: all); larger numbers
    /// are estimates.
    static let kindNumbers = """
        WITH RECURSIVE \(allLanes), \(sample), recent AS MATERIALIZED (
            SELECT * FROM errand.activity
            WHERE minute > now() - make_interval(secs => $2) - interval '1 min'
              AND ($1::text IS NULL OR kind = $1)
        ), done AS (
            SELECT kind, min(queue) AS queue, sum(completed) AS completed,
                sum(retried + dead) AS failed, sum(dead) AS dead, sum(cancelled) AS cancelled,
                sum(started) AS started
            FROM recent GROUP BY kind
        ), waits AS (
            SELECT kind, array_agg(bucket) AS buckets, array_agg(jobs) AS counts FROM (
                SELECT kind, bucket, sum(jobs)::bigint AS jobs
                FROM (
                    SELECT kind, unnest(wait_buckets) AS bucket, unnest(wait_counts) AS jobs
                    FROM recent
                ) r
                WHERE bucket IS NOT NULL AND jobs > 0
                GROUP BY kind, bucket
            ) w GROUP BY kind
        ), runs AS (
            SELECT kind, array_agg(bucket) AS buckets, array_agg(jobs) AS counts FROM (
                SELECT kind, bucket, sum(jobs)::bigint AS jobs
                FROM (
                    SELECT kind, unnest(run_buckets) AS bucket, unnest(run_counts) AS jobs
                    FROM recent
                ) r
                WHERE bucket IS NOT NULL AND jobs > 0
                GROUP BY kind, bucket
            ) w GROUP BY kind
        ), sampled AS (
            SELECT queue, kind, args_version, sum(jobs) AS jobs FROM sample
            GROUP BY queue, kind, args_version
        ), \(heads(where: "$1::text IS NULL OR kind = $1", free: 25)), held AS (
            SELECT kind, sum(cardinality(held)) AS jobs FROM head GROUP BY kind
        ), counted AS (
            SELECT l.kind, min(l.queue) AS queue, max(l.args_version) AS version,
                bool_or(l.is_estimate) AS is_estimate, sum(l.running) AS running,
                sum(CASE WHEN l.is_estimate THEN greatest(l.sampled, l.jobs) ELSE l.jobs END)
                    AS jobs
            FROM (
                SELECT l.queue, l.kind, l.args_version, s.jobs AS sampled, sum(c.jobs) AS jobs,
                    sum(c.running) AS running,
                    coalesce(s.jobs > 4 * $3::bigint OR sum(c.jobs) > $3, false) AS is_estimate
                FROM lane l
                LEFT JOIN sampled s ON s.queue = l.queue AND s.kind = l.kind
                    AND s.args_version = l.args_version
                CROSS JOIN LATERAL (
                    SELECT count(*) AS jobs, count(j.claimed_by) AS running
                    FROM errand.lane_jobs(l.place,
                        CASE WHEN s.jobs > 4 * $3::bigint THEN 0 ELSE $3::bigint + 1 END) j
                ) c
                WHERE $1::text IS NULL OR l.kind = $1
                GROUP BY l.queue, l.kind, l.args_version, s.jobs
            ) l
            WHERE l.jobs > 0 OR l.sampled > 0
            GROUP BY l.kind
        ), alive AS MATERIALIZED (
            SELECT w.id, split_part(k.kind, '@', 1) AS kind
            FROM errand.workers w CROSS JOIN LATERAL unnest(w.kinds) AS k (kind)
            WHERE w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
        ), name AS (
            SELECT kind FROM errand.kinds UNION SELECT kind FROM counted UNION SELECT kind FROM done
        )
        SELECT n.kind, coalesce(k.args_version, c.version)::int AS version,
            coalesce(k.queue, c.queue, d.queue) AS queue, k.max_attempts::int AS max_attempts,
            k.kind IS NOT NULL AS is_declared, coalesce(k.for_apps, false) AS for_apps,
            (SELECT count(DISTINCT a.id) FROM alive a WHERE a.kind = n.kind) AS workers,
            coalesce(greatest(c.jobs - g.running, 0), 0)::bigint AS waiting,
            coalesce(g.running, 0)::bigint AS running,
            coalesce(c.is_estimate, false) AS is_estimate,
            coalesce(d.completed, 0)::bigint AS completed, coalesce(d.failed, 0)::bigint AS failed,
            coalesce(d.dead, 0)::bigint AS dead, coalesce(d.cancelled, 0)::bigint AS cancelled,
            coalesce(w.buckets, '{}') AS wait_buckets, coalesce(w.counts, '{}') AS wait_counts,
            coalesce(r.buckets, '{}') AS run_buckets, coalesce(r.counts, '{}') AS run_counts
        FROM name n
        LEFT JOIN errand.kinds k ON k.kind = n.kind
        LEFT JOIN counted c ON c.kind = n.kind
        LEFT JOIN held h ON h.kind = n.kind
        CROSS JOIN LATERAL (
            SELECT CASE WHEN c.is_estimate THEN greatest(c.running, h.jobs) ELSE c.running END
                AS running
        ) g
        LEFT JOIN done d ON d.kind = n.kind
        LEFT JOIN waits w ON w.kind = n.kind
        LEFT JOIN runs r ON r.kind = n.kind
        WHERE $1::text IS NULL OR n.kind = $1
        ORDER BY n.kind
        """

    static let kindNames = """
        SELECT kind FROM errand.kinds
        UNION
        SELECT l.kind FROM errand.lanes l
        WHERE EXISTS (SELECT FROM errand.lane_jobs(l, 1))
        """

    /// The schedules that enqueue jobs of kind $1.
    static let schedulesOfKind = """
        SELECT name, recurrence, zone, paused_at IS NOT NULL AS is_paused,
            CASE WHEN paused_at IS NULL AND next_at > '-infinity' THEN next_at END AS next_at
        FROM errand.schedules WHERE kind = $1 ORDER BY name
        """
}
