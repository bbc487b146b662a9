import Errand
extension Statements {
    /// The columns of an operation; a running one whose session is gone is interrupted.
    private static let operationColumns = """
        id, action, operator, reason, started_at, ended_at, filter, change, rate_per_s, max_jobs,
        total, is_estimate, done, cancel_requested, skipped, note,
        CASE WHEN state = 'running'
            AND NOT coalesce(errand.session_lives(backend, backend_started), true)
            THEN 'interrupted' ELSE state END AS state
        """

    static let operation = "SELECT \(operationColumns) FROM errand.operations WHERE id = $1"

    static let operations = """
        SELECT \(operationColumns) FROM errand.operations
        WHERE $1::bigint IS NULL OR id < $1 ORDER BY id DESC LIMIT $2
        """

    static let lockOperation = """
        SELECT id, state, action, operator, reason, filter, change, max_jobs, done, cursor, stage,
            last_id
        FROM errand.operations WHERE id = $1 FOR UPDATE
        """

    /// Makes this session the one that runs operation $1; no row if another one does.
    static let holdOperation = """
        UPDATE errand.operations o SET backend = a.pid, backend_started = a.backend_start
        FROM pg_stat_activity a
        WHERE a.pid = pg_backend_pid() AND o.id = $1
          AND (o.backend = a.pid
            OR NOT coalesce(errand.session_lives(o.backend, o.backend_started), true))
        RETURNING o.id
        """

    static let addOperation = """
        INSERT INTO errand.operations (action, operator, reason, filter, rate_per_s, total,
            change, max_jobs, is_estimate, last_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id
        """

    static let advanceOperation = """
        UPDATE errand.operations
        SET done = done + $2, cursor = $3, stage = $4, skipped = skipped + $5,
            cancel_requested = cancel_requested + $6
        WHERE id = $1
        """

    /// Ends an operation; counted jobs that it did not find count as skipped.
    static let endOperation = """
        UPDATE errand.operations
        SET state = $2, note = $3, ended_at = clock_timestamp(),
            skipped = CASE WHEN $2 = 'done' AND NOT is_estimate
                THEN greatest(skipped, total - done) ELSE skipped END
        WHERE id = $1 AND state = 'running' RETURNING id
        """

    static let reopenOperation = """
        UPDATE errand.operations SET state = 'running', note = NULL, ended_at = NULL
        WHERE id = $1 AND state <> 'done' RETURNING id
        """

    /// The highest id that a job has or had; rows inserted by hand may have ids above the sequence.
    static func lastID(_ tables: [JobTable]) -> String {
        let highest = tables.map { "(SELECT max(id) FROM \($0.name))" }
        let all = [lastNumber] + highest + ["0"]
        return "SELECT greatest(\(all.joined(separator: ", ")))"
    }

    /// Locks jobs, skipping those that other sessions have locked: waiting for locks while holding
    /// others could deadlock with workers that write results, and would delay them.
    static func lockJobs(_ table: JobTable) -> String {
        "SELECT id FROM \(table.name) WHERE id = ANY ($1) ORDER BY id FOR UPDATE SKIP LOCKED"
    }

    static let sensitiveNames = """
        SELECT DISTINCT name FROM errand.kinds CROSS JOIN LATERAL unnest(sensitive) AS s (name)
        WHERE name IS NOT NULL
        """

    /// Deletes dead letters and the records of their effects.
    static let discard = """
        WITH gone AS (
            DELETE FROM errand.dead_jobs WHERE id = ANY ($1) RETURNING id
        ), forgotten AS (
            DELETE FROM errand.once_effects WHERE job_id = ANY ($1)
        )
        SELECT id FROM gone
        """

    /// The results of retried jobs: the numbers of failed and unfinished ones, and one that failed.
    static let trial = """
        SELECT count(*) FILTER (WHERE failed) AS failed,
            count(*) FILTER (WHERE died) AS died,
            count(*) FILTER (WHERE waits AND NOT failed) AS waiting,
            count(*) FILTER (WHERE waits) AS live,
            coalesce(max(id) FILTER (WHERE died), max(id) FILTER (WHERE failed)) AS sample
        FROM (
            SELECT t.id, j.id IS NOT NULL AS waits, d.id IS NOT NULL AS died,
                d.id IS NOT NULL
                    OR coalesce(j.attempt > (j.claimed_by IS NOT NULL)::int, false) AS failed
            FROM unnest($1::bigint[]) AS t (id)
            LEFT JOIN errand.jobs j ON j.id = t.id
            LEFT JOIN errand.dead_jobs d ON d.id = t.id
        ) s
        """

    /// The newest entries of the audit log.
    ///
    /// $1: operator; $2: action or its first word; $3: maximum age in seconds; $4: upper bound of
    /// ids; $5: limit. Null means no filter.
    static let audit = """
        SELECT id, at, operator, action, subject, reason, change FROM errand.audit
        WHERE ($1::text IS NULL OR operator = $1)
          AND ($2::text IS NULL OR action = $2 OR split_part(action, ' ', 1) = $2)
          AND ($3::float8 IS NULL OR at > now() - make_interval(secs => $3))
          AND ($4::bigint IS NULL OR id < $4)
        ORDER BY id DESC LIMIT $5
        """
}
