import Errand
extension Statements {
    /// Notifies the feeder of the lanes of changed jobs, and whether they are due later.
    private static let notifyLane = """
        pg_notify('errand_ready', queue || E'\\t' || kind || E'\\t' || args_version
            || CASE WHEN run_at > clock_timestamp() THEN E'\\tlater' ELSE '' END)::text
        """

    /// Changes the start time of waiting jobs; a past time means now.
    static let reschedule = """
        WITH changed AS (
            UPDATE errand.jobs SET run_at = greatest($2, clock_timestamp())
            WHERE id = ANY ($1) AND claimed_by IS NULL
            RETURNING id, queue, kind, args_version, run_at
        )
        SELECT id, \(notifyLane) FROM changed
        """

    /// Moves waiting jobs to another queue or priority, behind its due jobs: a job that is new in a
    /// lane must not be due earlier than the feeder's position there.
    static let move = """
        WITH before AS (
            SELECT id, queue, kind, args_version FROM errand.jobs
            WHERE id = ANY ($1) AND claimed_by IS NULL FOR UPDATE
        ), changed AS (
            UPDATE errand.jobs j
            SET queue = coalesce($2, j.queue), priority = coalesce($3, j.priority),
                run_at = greatest(j.run_at, clock_timestamp())
            FROM before b WHERE j.id = b.id
            RETURNING j.id, j.queue, j.kind, j.args_version, j.run_at, b.queue AS was
        )
        SELECT id, \(notifyLane), kind, args_version, was FROM changed
        """

    /// Replaces the arguments or tags of waiting jobs; null keeps them.
    static let edit = """
        UPDATE errand.jobs SET args = coalesce($2, args), tags = coalesce($3, tags)
        WHERE id = ANY ($1) AND claimed_by IS NULL RETURNING id
        """

    /// Discards dead letters: they become cancelled jobs, kept for their retention time, at least a
    /// day.
    static let discardDead = """
        UPDATE errand.finished_jobs f
        SET outcome = 'cancelled', reason = concat_ws('; it was dead: ', $2, reason),
            keep_until = keep.until, long_until = keep.long_until
        FROM (
            SELECT d.id, \(keepUntil("greatest(keep.days, 1)")) AS until,
                \(longUntil("greatest(keep.days, 1)")) AS long_until
            FROM errand.dead_jobs d CROSS JOIN errand.instance i
            CROSS JOIN LATERAL (\(keepDays(of: "d"))) AS keep (days) WHERE d.id = ANY ($1)
        ) AS keep
        WHERE f.id = keep.id AND f.outcome = 'dead' AND f.keep_until = 'infinity'
        RETURNING f.id
        """

    /// The states of jobs.
    static let states = """
        SELECT id, errand.live_state(claimed_by, attempt, run_at, clock_timestamp()) AS state
        FROM errand.jobs WHERE id = ANY ($1)
        UNION ALL
        SELECT id, outcome::text FROM errand.finished_jobs WHERE id = ANY ($1)
        """
}
