extension Statements {
    /// What a queue still holds that is due, running jobs too, counted up to $2.
    ///
    /// Through the index, lane by lane: what is due later costs nothing.
    static let dueInQueue = """
        WITH RECURSIVE lane AS (
            (SELECT kind, args_version FROM errand.jobs WHERE queue = $1
             ORDER BY queue, kind, args_version LIMIT 1)
            UNION ALL
            SELECT next.* FROM lane CROSS JOIN LATERAL (
                SELECT j.kind, j.args_version FROM errand.jobs j
                WHERE j.queue = $1 AND (j.kind, j.args_version) > (lane.kind, lane.args_version)
                ORDER BY j.queue, j.kind, j.args_version LIMIT 1
            ) next
        )
        SELECT count(*) FROM (
            SELECT FROM lane CROSS JOIN generate_series(0, 3) AS p (priority)
            CROSS JOIN LATERAL (
                SELECT FROM errand.jobs j
                WHERE j.queue = $1 AND j.kind = lane.kind AND j.args_version = lane.args_version
                  AND j.priority = p.priority::smallint AND j.run_at <= clock_timestamp()
                ORDER BY j.run_at, j.id LIMIT $2
            ) j
            LIMIT $2
        ) AS due
        """

    /// The newest job of all.
    static let lastJob = "SELECT coalesce(max(id), 0) FROM errand.jobs"

    /// The next waiting jobs of queue $1, none newer than $2, behind a place in the index.
    static let purgePage = """
        SELECT id, kind, args_version, priority, run_at FROM errand.jobs
        WHERE queue = $1 AND id <= $2 AND claimed_by IS NULL
          AND (kind, args_version, priority, run_at, id) > ($3, $4::smallint, $5::smallint, $6, $7)
        ORDER BY queue, kind, args_version, priority, run_at, id LIMIT $8
        """
}
