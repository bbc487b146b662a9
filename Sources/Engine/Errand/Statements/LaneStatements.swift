/// Which lanes have jobs, found by steps through an index.
extension Statements {
    /// The lanes that hold jobs, found by walking the index from one to the next.
    ///
    /// $1 names a queue, or null for all of them.
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
            -- The first one of another queue is the end.
            WHERE $1::text IS NULL OR next.queue = $1
        )
        """

    /// The same, of all queues.
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
