import Errand
extension Statements {
    /// The number of due and running jobs of a queue, counted up to $2.
    ///
    /// Reads the index lane by lane, so that scheduled jobs cost nothing.
    static let dueInQueue = """
        SELECT least(coalesce(sum(c.jobs), 0), $2)::bigint FROM errand.lanes l
        CROSS JOIN LATERAL (
            SELECT count(*) AS jobs FROM errand.lane_jobs(l, $2, clock_timestamp())
        ) c
        WHERE l.queue = $1
        """

    // MARK: Removal

    /// Locks a queue, so that no limit is set meanwhile.
    static let lockQueue = "SELECT name FROM errand.queues WHERE name = $1 FOR UPDATE"

    static let removeQueue = "DELETE FROM errand.queues WHERE name = $1"

    /// What uses queue $1.
    ///
    /// A worker that serves it by a pattern does not need its row.
    static let queueUses = """
        SELECT q.name = 'default' AS is_default, \(isPaused) AS is_paused,
            EXISTS (
                SELECT FROM errand.lanes l CROSS JOIN LATERAL errand.lane_jobs(l, 1)
                WHERE l.queue = q.name
            ) AS has_jobs,
            (SELECT min(w.id) FROM errand.workers w WHERE w.queues ? q.name
               AND w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
            ) AS worker,
            (SELECT min(s.name) FROM errand.schedules s WHERE s.queue = q.name) AS schedule,
            (SELECT min(k.kind) FROM errand.kinds k WHERE k.queue = q.name) AS kind,
            EXISTS (SELECT FROM errand.queue_limits l WHERE l.queue = q.name) AS has_limit
        FROM errand.queues q WHERE q.name = $1
        """
}
