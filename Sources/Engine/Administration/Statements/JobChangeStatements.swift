import Errand
extension Statements {
    /// Tells the feeder of the lanes of changed jobs; those that are due later, as such.
    private static let notifyLane = """
        pg_notify('errand_ready', queue || E'\\t' || kind || E'\\t' || args_version
            || CASE WHEN run_at > clock_timestamp() THEN E'\\tlater' ELSE '' END)::text
        """

    /// Gives waiting jobs another time; one that has passed means now.
    static let reschedule = """
        WITH changed AS (
            UPDATE errand.jobs SET run_at = greatest($2, clock_timestamp())
            WHERE id = ANY ($1) AND claimed_by IS NULL
            RETURNING id, queue, kind, args_version, run_at
        )
        SELECT id, \(notifyLane) FROM changed
        """

    /// Moves waiting jobs to another queue or priority, behind those of it that are due: what
    /// newly stands in a lane must not be due before the feeder could know of it.
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

    /// Replaces the arguments or tags of waiting jobs; null leaves them.
    static let edit = """
        UPDATE errand.jobs SET args = coalesce($2, args), tags = coalesce($3, tags)
        WHERE id = ANY ($1) AND claimed_by IS NULL RETURNING id
        """

    /// Takes jobs out of the dead letters: from then on they are kept like cancelled ones, a day
    /// at least.
    static let discardDead = """
        UPDATE errand.finished_jobs f
        SET outcome = 'cancelled', reason = concat_ws('; it was dead: ', $2, reason),
            keep_until = (now() AT TIME ZONE 'UTC')::date + greatest(keep.days, 1)
        FROM (
            SELECT d.id, keep.days FROM errand.dead_jobs d
            CROSS JOIN LATERAL (\(keepDays)) AS keep (days) WHERE d.id = ANY ($1)
        ) AS keep
        WHERE f.id = keep.id AND f.outcome = 'dead' AND f.keep_until = 'infinity'
        RETURNING f.id
        """

    /// Where jobs are in their lives.
    static let states = """
        SELECT id, errand.live_state(claimed_by, attempt, run_at, clock_timestamp()) AS state
        FROM errand.jobs WHERE id = ANY ($1)
        UNION ALL
        SELECT id, outcome::text FROM errand.finished_jobs WHERE id = ANY ($1)
        """
}
