import Errand
/// The queries of `errand doctor` beyond those of `errand status`; each is bounded, however large
/// the backlog.
extension Statements {
    /// How full the server's queue of notifications is, from 0 to 1.
    static let notificationQueue = "SELECT pg_notification_queue_usage()::float8 AS usage"

    /// Lanes with due jobs that no live worker of their queue knows, with the versions that workers
    /// know; counts up to $1 jobs per lane and priority.
    ///
    /// Queues without workers are left out: another check reports them.
    static let unknownLanes = """
        WITH \(allLanes), alive AS MATERIALIZED (
            SELECT DISTINCT queues, kinds FROM errand.workers
            WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        ), due AS (
            SELECT l.queue, l.kind, l.args_version, sum(c.jobs) AS jobs, min(c.oldest) AS oldest
            FROM lane l CROSS JOIN LATERAL (
                SELECT count(*) AS jobs, min(j.run_at) AS oldest
                FROM errand.lane_jobs(l.place, $1, now()) j
            ) c
            WHERE NOT EXISTS (
                SELECT FROM alive a
                WHERE l.kind || '@' || l.args_version = ANY (a.kinds)
                  AND errand.serving(a.queues, l.queue) IS NOT NULL)
            GROUP BY l.queue, l.kind, l.args_version
        )
        SELECT l.queue, l.kind, l.args_version, l.jobs::bigint AS jobs, l.oldest,
            ARRAY(
                SELECT DISTINCT v.number
                FROM alive a CROSS JOIN LATERAL unnest(a.kinds) AS k (kind)
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN split_part(k.kind, '@', 2) ~ '^-?[0-9]{1,5}$'
                        THEN split_part(k.kind, '@', 2)::bigint END AS number
                ) v
                WHERE split_part(k.kind, '@', 1) = l.kind AND v.number IS NOT NULL
                  AND errand.serving(a.queues, l.queue) IS NOT NULL
                ORDER BY 1
            ) AS versions
        FROM due l
        WHERE l.jobs > 0
          AND EXISTS (SELECT FROM alive a WHERE errand.serving(a.queues, l.queue) IS NOT NULL)
        ORDER BY l.jobs DESC, l.queue, l.kind LIMIT 20
        """

    /// Unresponsive workers with the jobs of their last report that they still hold, the oldest
    /// heartbeat first.
    static let unresponsiveHolders = """
        SELECT w.id, w.host, w.pid, w.lease_seconds::float8 AS lease,
            extract(epoch FROM clock_timestamp() - greatest(w.last_seen_at, '1970-01-01Z'))::float8
                AS silence,
            ARRAY(SELECT j.id FROM errand.jobs j
                WHERE j.id = ANY (w.running) AND j.claimed_by = w.id ORDER BY j.id) AS held
        FROM errand.workers w
        WHERE w.last_seen_at < clock_timestamp() - make_interval(secs => w.lease_seconds)
        ORDER BY w.last_seen_at LIMIT 20
        """

    /// Among the first jobs of each lane ($1 per priority): claims of workers that are unresponsive
    /// or no longer registered, and jobs whose errors match the death of a worker ($2, a pattern).
    ///
    /// Claimed and recovered jobs keep their positions in the index, so that stuck jobs are at the
    /// head of their lane.
    static let stuckJobs = """
        SELECT j.id, j.kind, j.queue, j.claimed_by, j.claimed_at,
            j.claimed_by IS NOT NULL AND w.id IS NULL AS is_orphan,
            w.last_seen_at < clock_timestamp() - make_interval(secs => w.lease_seconds)
                AS is_unresponsive, k.kills
        FROM (SELECT l AS place FROM errand.lanes l LIMIT 4000) l
        CROSS JOIN LATERAL errand.lane_jobs(l.place, $1, now()) f
        CROSS JOIN LATERAL (SELECT * FROM errand.jobs j WHERE j.id = f.id OFFSET 0) j
        LEFT JOIN errand.workers w ON w.id = j.claimed_by
        CROSS JOIN LATERAL (
            SELECT count(*) AS kills FROM jsonb_path_query(j.errors, '$[*]') AS e (entry)
            WHERE e.entry ->> 'error' LIKE $2
        ) k
        WHERE k.kills > 0 OR (j.claimed_by IS NOT NULL AND coalesce(
            w.last_seen_at < clock_timestamp() - make_interval(secs => w.lease_seconds), true))
        ORDER BY k.kills DESC, j.id LIMIT 100
        """

    /// Dead letters of the last day whose last attempt ended with the death of a worker ($1, a
    /// pattern), among the newest thousand.
    static let deadWithWorkers = """
        SELECT d.id, d.kind, d.queue, k.kills
        FROM (
            SELECT id, kind, queue, errors FROM errand.dead_jobs
            WHERE finished_at > now() - interval '1 day'
            ORDER BY finished_at DESC LIMIT 1000
        ) d
        CROSS JOIN LATERAL (
            SELECT count(*) AS kills FROM jsonb_path_query(d.errors, '$[*]') AS e (entry)
            WHERE e.entry ->> 'error' LIKE $1
        ) k
        WHERE d.errors -> -1 ->> 'error' LIKE $1
        ORDER BY k.kills DESC, d.id LIMIT 100
        """

    /// The most frequent group among at most 10,000 dead letters of the last hour.
    static let deadGroupLastHour = """
        WITH recent AS (
            SELECT fingerprint, kind, finished_at, id FROM errand.dead_jobs
            WHERE finished_at > now() - interval '1 hour' LIMIT 10000
        ), grouped AS (
            SELECT fingerprint, kind, count(*) AS count, min(finished_at) AS first_seen,
                max(finished_at) AS last_seen, max(id) AS sample
            FROM recent GROUP BY fingerprint, kind ORDER BY count(*) DESC, kind LIMIT 1
        )
        \(describedGroups)
        """

    /// The interrupted bulk operations among the last thousand.
    static let interruptedOperations = """
        SELECT * FROM (\(operations)) o WHERE o.state = 'interrupted' ORDER BY o.id LIMIT 10
        """

    /// The number of live workers per version.
    static let workerVersions = """
        SELECT version, count(*) AS workers FROM errand.workers
        WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        GROUP BY version ORDER BY version
        """

    /// Live workers whose clocks differ from the database's by $1 seconds or more.
    static let wrongClocks = """
        SELECT id, host, clock_ahead_seconds AS ahead FROM errand.workers
        WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
          AND abs(clock_ahead_seconds) >= $1
        ORDER BY abs(clock_ahead_seconds) DESC LIMIT 20
        """

    // MARK: Partitions

    /// The days without a partition of finished jobs: among the next $1, and before the last day
    /// that has one.
    static let missingPartitions = """
        WITH today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day), prepared AS (
            SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = to_regclass('errand.finished_jobs')
              AND c.relname ~ '^finished_jobs_[0-9]{8}$'
        )
        SELECT to_char(d.day, 'YYYYMMDD') AS name, d.day::text AS day
        FROM today CROSS JOIN LATERAL (
            SELECT today.day + n AS day
            FROM generate_series(0, greatest($1 - 1,
                (SELECT max(p.day) - today.day FROM prepared p))) AS n
        ) d
        WHERE to_regclass('errand.finished_jobs') IS NOT NULL
          AND NOT EXISTS (SELECT FROM prepared p WHERE p.day = d.day)
        ORDER BY d.day
        """

    /// Finished jobs of these days ($1) in the default partition, counted up to 10,000.
    static let strayFinishedJobs = """
        SELECT count(*) FROM (
            SELECT FROM errand.finished_jobs_other WHERE keep_until = ANY ($1::text[]::date[])
            LIMIT 10000
        ) o
        """
}
