import Errand
extension Statements {
    /// The number of due and running jobs of a queue, counted up to $2.
    ///
    /// Reads the index lane by lane, so that scheduled jobs cost nothing.
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
}
