extension Statements {
    /// Inserts many jobs of one kind with the same options, and returns their ids in order.
    ///
    /// The function explains the parameters; $14 is a number of seconds.
    package static let enqueue = """
        SELECT job_id, due_at, outcome
        FROM errand.enqueue_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
            make_interval(secs => $14), $15, $16)
        """

    /// The bulk insert, with the columns of the COPY stream.
    package static let copy = """
        COPY errand.jobs (queue, kind, args_version, priority, max_attempts, run_at, not_after,
            tags, options, args)
        FROM STDIN (FORMAT binary)
        """

    package static let addQueue = """
        INSERT INTO errand.queues (name) VALUES ($1) ON CONFLICT DO NOTHING
        """

    /// Notifies the feeder at commit that a lane has new jobs, and when the first of them is due.
    package static let wake = "SELECT errand.wake($1, $2)"

    package static let instance = "SELECT id::text FROM errand.instance"

    /// Stores the defaults of a kind for errand.enqueue().
    package static let declareKind = """
        INSERT INTO errand.kinds AS k (kind, args_version, queue, priority, max_attempts,
            sensitive, retention_days, for_apps)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (kind) DO UPDATE
        SET args_version = excluded.args_version, queue = excluded.queue,
            priority = excluded.priority, max_attempts = excluded.max_attempts,
            sensitive = excluded.sensitive, retention_days = excluded.retention_days,
            for_apps = excluded.for_apps, updated_at = clock_timestamp()
        WHERE (k.args_version, k.queue, k.priority, k.max_attempts, k.sensitive, k.retention_days,
                k.for_apps)
            IS DISTINCT FROM (excluded.args_version, excluded.queue, excluded.priority,
                excluded.max_attempts, excluded.sensitive, excluded.retention_days,
                excluded.for_apps)
          AND k.args_version <= excluded.args_version
        """
}
