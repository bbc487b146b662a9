/// Cancelling waiting jobs, and requesting the cancellation of running ones.
extension Statements {
    /// Cancels waiting jobs; a job that was claimed meanwhile is skipped.
    package static let cancelWaiting = """
        WITH ended AS (
            DELETE FROM errand.jobs WHERE id = ANY ($1) AND claimed_by IS NULL RETURNING *
        ), kept AS (
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                long_until, outcome, priority, attempt, max_attempts, args_version, queue, kind,
                reason, args, unique_key, tags, options, errors)
            SELECT ended.id, created_at, run_at, now(), \(keepUntil("keep.days")),
                \(longUntil("keep.days")), 'cancelled', priority, attempt, max_attempts,
                args_version, queue, kind, $2, args, unique_key, tags, options, errors
            FROM ended CROSS JOIN errand.instance i
            CROSS JOIN LATERAL (\(keepDays(of: "ended"))) AS keep (days)
            WHERE keep.days > 0
        )
        SELECT id FROM ended
        """

    /// Asks the workers of running jobs to cancel them.
    package static let cancelRunning = """
        WITH asked AS (
            UPDATE errand.jobs SET cancel_requested = true
            WHERE id = ANY ($1) AND claimed_by IS NOT NULL
            RETURNING id, claimed_by
        )
        SELECT id, pg_notify('errand_control', 'cancel ' || claimed_by)::text
        FROM asked
        """

    /// The retention in days of a job that ends outside a worker that has its kind: the job's own,
    /// or that of its kind, or a week.
    package static func keepDays(of job: String) -> String {
        """
        SELECT least(greatest(coalesce(
            (\(whole("\(job).options -> 'retention_s'")) + 86399) / 86400,
            (SELECT k.retention_days FROM errand.kinds k WHERE k.kind = \(job).kind), 7), 0),
            3650)::int
        """
    }

    /// The day of the partition of a job that is kept for some days; `i` is `errand.instance`.
    ///
    /// A long retention has no partitions by day: see ``longUntil(_:)``.
    package static func keepUntil(_ days: String) -> String {
        """
        CASE WHEN \(days) <= i.daily_days
            THEN (now() AT TIME ZONE 'UTC')::date + \(days)::int ELSE '9998-12-31' END
        """
    }

    /// The day after which a job with a long retention is deleted; null for the others.
    package static func longUntil(_ days: String) -> String {
        """
        CASE WHEN \(days) > i.daily_days THEN (now() AT TIME ZONE 'UTC')::date + \(days)::int END
        """
    }
}
