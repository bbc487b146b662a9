/// Cancelling waiting jobs, and requesting the cancellation of running ones.
extension Statements {
    /// Cancels waiting jobs; a job that was claimed meanwhile is skipped.
    package static let cancelWaiting = """
        WITH ended AS (
            DELETE FROM errand.jobs WHERE id = ANY ($1) AND claimed_by IS NULL RETURNING *
        ), kept AS (
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, reason,
                args, unique_key, tags, options, errors)
            SELECT id, created_at, run_at, now(), (now() AT TIME ZONE 'UTC')::date + keep.days,
                'cancelled', priority, attempt, max_attempts, args_version, queue, kind, $2,
                args, unique_key, tags, options, errors
            FROM ended CROSS JOIN LATERAL (\(keepDays)) AS keep (days)
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
        SELECT id, pg_notify('errand_control', 'cancel ' || claimed_by || ' ' || id)::text
        FROM asked
        """

    /// The retention in days of a cancelled job outside a worker that has its kind: the job's own,
    /// or a week.
    package static let keepDays = """
        SELECT coalesce(least(((options ->> 'retention_s')::bigint + 86399) / 86400,
            3650), 7)::int
        """
}
