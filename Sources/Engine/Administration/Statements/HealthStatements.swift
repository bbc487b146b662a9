import Errand
/// What `errand doctor` asks beside what `errand status` asks; each look is bounded, however much
/// waits.
extension Statements {
    /// Lanes with due jobs that no live worker of their queue knows, with what is known there;
    /// counted up to $1 jobs each.
    ///
    /// A queue that nobody works is told apart from this.
    static let unknownLanes = """
        WITH RECURSIVE \(allLanes), alive AS MATERIALIZED (
            SELECT q.queue, w.kinds
            FROM errand.workers w CROSS JOIN LATERAL jsonb_object_keys(w.queues) AS q (queue)
            WHERE w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
        )
        SELECT l.queue, l.kind, l.args_version, c.jobs, c.oldest,
            ARRAY(
                SELECT DISTINCT split_part(k.kind, '@', 2)::bigint
                FROM alive a CROSS JOIN LATERAL unnest(a.kinds) AS k (kind)
                WHERE a.queue = l.queue AND split_part(k.kind, '@', 1) = l.kind ORDER BY 1
            ) AS versions
        FROM lane l
        CROSS JOIN LATERAL (
            SELECT count(*) AS jobs, min(run_at) AS oldest
            FROM generate_series(0, 3) AS p (priority)
            CROSS JOIN LATERAL (
                SELECT run_at FROM errand.jobs j
                WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.args_version
                  AND j.priority = p.priority::smallint AND j.run_at <= now()
                ORDER BY j.run_at, j.id LIMIT $1
            ) j
        ) c
        WHERE c.jobs > 0 AND EXISTS (SELECT FROM alive a WHERE a.queue = l.queue)
          AND NOT EXISTS (
            SELECT FROM alive a WHERE a.queue = l.queue
              AND l.kind || '@' || l.args_version = ANY (a.kinds))
        ORDER BY c.jobs DESC, l.queue, l.kind LIMIT 20
        """

    /// Silent workers with those of the jobs they reported last that they still hold, the longest
    /// silent first.
    static let silentHolders = """
        SELECT w.id, w.host, w.pid, w.lease_seconds::float8 AS lease,
            extract(epoch FROM clock_timestamp() - w.last_seen_at)::float8 AS silent,
            ARRAY(SELECT j.id FROM errand.jobs j
                WHERE j.id = ANY (w.running) AND j.claimed_by = w.id ORDER BY j.id) AS held
        FROM errand.workers w
        WHERE w.last_seen_at < clock_timestamp() - make_interval(secs => w.lease_seconds)
        ORDER BY w.last_seen_at LIMIT 20
        """

    /// Of the first jobs of each lane ($1 of each priority): claims of workers that are silent or
    /// in the list no more, and jobs in whose errors a worker died ($2, a pattern).
    ///
    /// A claimed job keeps its place in the index, and so does one that was freed: what stays
    /// behind is overtaken and stands first.
    static let stuckJobs = """
        WITH RECURSIVE \(allLanes)
        SELECT j.id, j.kind, j.queue, j.claimed_by, j.claimed_at,
            j.claimed_by IS NOT NULL AND w.id IS NULL AS is_orphan,
            w.last_seen_at < clock_timestamp() - make_interval(secs => w.lease_seconds)
                AS is_silent, k.kills
        FROM (SELECT * FROM lane LIMIT 1000) l
        CROSS JOIN generate_series(0, 3) AS p (priority)
        CROSS JOIN LATERAL (
            SELECT id, kind, queue, claimed_by, claimed_at, errors FROM errand.jobs j
            WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.args_version
              AND j.priority = p.priority::smallint AND j.run_at <= now()
            ORDER BY j.run_at, j.id LIMIT $1
        ) j
        LEFT JOIN errand.workers w ON w.id = j.claimed_by
        CROSS JOIN LATERAL (
            SELECT count(*) AS kills FROM jsonb_array_elements(j.errors) AS e (entry)
            WHERE e.entry ->> 'error' LIKE $2
        ) k
        WHERE k.kills > 0 OR (j.claimed_by IS NOT NULL AND coalesce(
            w.last_seen_at < clock_timestamp() - make_interval(secs => w.lease_seconds), true))
        ORDER BY k.kills DESC, j.id LIMIT 100
        """

    /// Dead letters of the last day that died with their worker ($1, a pattern), among the newest
    /// thousand.
    static let deadWithWorkers = """
        SELECT d.id, d.kind, d.queue, k.kills
        FROM (
            SELECT id, kind, queue, errors FROM errand.dead_jobs
            WHERE finished_at > now() - interval '1 day'
            ORDER BY finished_at DESC LIMIT 1000
        ) d
        CROSS JOIN LATERAL (
            SELECT count(*) AS kills FROM jsonb_array_elements(d.errors) AS e (entry)
            WHERE e.entry ->> 'error' LIKE $1
        ) k
        WHERE d.errors -> -1 ->> 'error' LIKE $1
        ORDER BY k.kills DESC, d.id LIMIT 100
        """

    /// The most frequent group of the last hour's dead letters, of 10,000 at most.
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

    /// Bulk operations of the last thousand that were interrupted.
    static let interruptedOperations = """
        SELECT * FROM (\(operations)) o WHERE o.state = 'interrupted' ORDER BY o.id LIMIT 10
        """

    /// How many live workers there are of each version.
    static let workerVersions = """
        SELECT version, count(*) AS workers FROM errand.workers
        WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        GROUP BY version ORDER BY version
        """

    // MARK: Partitions

    /// The days that finished jobs are kept until which have no partition: those of the next $1,
    /// and those before the last one that has.
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

    /// Finished jobs of these days ($1) in the partition for all others, counted up to 10,000.
    static let strayFinishedJobs = """
        SELECT count(*) FROM (
            SELECT FROM errand.finished_jobs_other WHERE keep_until = ANY ($1::text[]::date[])
            LIMIT 10000
        ) o
        """
}
