/// Queries for the lanes that have jobs, by stepping through an index.
extension Statements {
    /// The lanes that have jobs; each step reads the next lane from the index.
    ///
    /// $1 is a queue, or null for all queues.
    package static let lane = """
        lane AS (
            SELECT first.* FROM (
                SELECT queue, kind, args_version FROM errand.jobs
                WHERE queue >= coalesce($1::text, '')
                ORDER BY queue, kind, args_version LIMIT 1
            ) first
            WHERE $1::text IS NULL OR first.queue = $1
            UNION ALL
            SELECT next.* FROM lane CROSS JOIN LATERAL (
                SELECT j.queue, j.kind, j.args_version FROM errand.jobs j
                WHERE (j.queue, j.kind, j.args_version) >
                    (lane.queue, lane.kind, lane.args_version)
                ORDER BY j.queue, j.kind, j.args_version LIMIT 1
            ) next
            -- Stop at the first lane of another queue.
            WHERE $1::text IS NULL OR next.queue = $1
        )
        """

    /// The lanes of all queues.
    package static let allLanes = """
        lane AS (
            (SELECT queue, kind, args_version FROM errand.jobs
             ORDER BY queue, kind, args_version LIMIT 1)
            UNION ALL
            SELECT next.* FROM lane CROSS JOIN LATERAL (
                SELECT j.queue, j.kind, j.args_version FROM errand.jobs j
                WHERE (j.queue, j.kind, j.args_version) >
                    (lane.queue, lane.kind, lane.args_version)
                ORDER BY j.queue, j.kind, j.args_version LIMIT 1
            ) next
        )
        """
}
