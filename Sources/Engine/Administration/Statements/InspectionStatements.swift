import Errand
extension Statements {
    /// The fields that the kind of a row's job declares as sensitive.
    static let sensitive = """
        (SELECT k.sensitive FROM (SELECT kind AS sought) s
        JOIN errand.kinds k ON k.kind = s.sought)
        """

    /// The columns of a job, the same for live and finished ones.
    static let liveColumns = """
        id, kind, queue, errand.live_state(claimed_by, attempt, run_at, now()) AS state,
        priority, attempt, max_attempts, run_at, created_at, claimed_at AS started_at,
        NULL::timestamptz AS finished_at, claimed_by AS worker, not_after, unique_key,
        NULL::real AS duration_ms, NULL::text AS reason, args, coalesce(errors, '[]') AS errors,
        coalesce(tags, '{}') AS tags, args_version, options -> 'occurrence' AS occurrence,
        options -> 'origin' AS origin, \(sensitive) AS sensitive,
        \(JobTable.live.error) AS last_error, NULL::text AS fingerprint
        """

    static let finishedColumns = """
        id, kind, queue, outcome::text AS state, priority, attempt, max_attempts, run_at,
        created_at, started_at, finished_at, worker, NULL::timestamptz AS not_after, unique_key,
        duration_ms, reason, args, coalesce(errors, '[]') AS errors,
        coalesce(tags, '{}') AS tags, args_version, options -> 'occurrence' AS occurrence,
        options -> 'origin' AS origin, \(sensitive) AS sensitive,
        \(JobTable.finished.error) AS last_error, fingerprint
        """

    static let job = """
        SELECT \(liveColumns) FROM errand.jobs WHERE id = $1
        UNION ALL
        SELECT \(finishedColumns) FROM errand.finished_jobs WHERE id = $1
        """

    /// Makes finished jobs live again with all their attempts.
    static let retryFinished = revived(from: .finished)

    /// Makes dead letters live again with all their attempts.
    static let redrive = revived(from: .dead)

    private static func revived(from table: JobTable) -> String {
        """
        WITH back AS (
            DELETE FROM \(table.name) WHERE id = ANY ($1) RETURNING *
        ), made AS (
            INSERT INTO errand.jobs (id, created_at, priority, max_attempts, args_version, queue,
                kind, args, unique_key, tags, options, errors)
            SELECT id, created_at, priority, max_attempts, args_version, queue, kind, args,
                unique_key, tags, options, errors
            FROM back
            RETURNING id, queue, kind, args_version
        ), present AS (
            INSERT INTO errand.queues (name) SELECT DISTINCT queue FROM back ON CONFLICT DO NOTHING
        ), reopened AS (
            -- Reopens the job's occurrence of a schedule.
            UPDATE errand.schedule_occurrences o
            SET outcome = 'enqueued', ended_at = NULL, reason = NULL
            FROM back b JOIN errand.schedules s
                ON s.name = b.options -> 'occurrence' ->> 'schedule'
            WHERE o.schedule_id = s.id AND o.job_id = b.id
              AND o.due_at = \(instant("b.options -> 'occurrence' ->> 'due'"))
        )
        SELECT id, pg_notify('errand_ready',
            queue || E'\\t' || kind || E'\\t' || args_version)::text
        FROM made
        """
    }

    static let retryWaiting = """
        WITH hurried AS (
            UPDATE errand.jobs SET run_at = clock_timestamp()
            WHERE id = ANY ($1) AND claimed_by IS NULL
            RETURNING id, queue, kind, args_version
        )
        SELECT id, pg_notify('errand_ready',
            queue || E'\\t' || kind || E'\\t' || args_version)::text
        FROM hurried
        """

    static let queueNames = "SELECT name FROM errand.queues ORDER BY name"

    static let pause = """
        UPDATE errand.queues
        SET paused_at = clock_timestamp(), paused_by = $2, pause_reason = $3,
            paused_until = clock_timestamp() + make_interval(secs => $4)
        WHERE name = $1 RETURNING pg_notify('errand_control', 'queues')::text
        """

    static let resume = """
        UPDATE errand.queues
        SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, paused_until = NULL
        WHERE name = $1 RETURNING pg_notify('errand_control', 'queues')::text
        """

    static let workers = """
        SELECT id, host, pid, version, started_at, last_seen_at, stopping, queues, load, kinds,
            quiet, lease_seconds::float8 AS lease, command, command_at, command_by, command_reason,
            running, clock_ahead_seconds,
            last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds) AS is_alive
        FROM errand.workers ORDER BY id
        """

    static let kinds = """
        SELECT kind, args_version, queue, priority, max_attempts FROM errand.kinds ORDER BY kind
        """
}
