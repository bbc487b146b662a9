extension Statements {
    /// Inserts many jobs of one kind with the same options, and returns their ids in order.
    package static let enqueue = """
        INSERT INTO errand.jobs (queue, kind, args_version, priority, max_attempts, not_after,
            tags, options, args, run_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, a.args,
            greatest(a.run_at, clock_timestamp())
        FROM unnest($9::jsonb[], $10::timestamptz[]) AS a (args, run_at)
        RETURNING id, run_at
        """

    /// The same, with all jobs due now.
    package static let enqueueNow = """
        INSERT INTO errand.jobs (queue, kind, args_version, priority, max_attempts, not_after,
            tags, options, args, run_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, a.args, clock_timestamp()
        FROM unnest($9::jsonb[]) AS a (args)
        RETURNING id, run_at
        """

    /// The same with a parent for each job; null for a job that no handler enqueued.
    package static let enqueueChildren = """
        INSERT INTO errand.jobs (queue, kind, args_version, priority, max_attempts, not_after,
            tags, options, args, run_at)
        SELECT $1, $2, $3, $4, $5, $6, $7,
            CASE WHEN a.parent IS NULL THEN $8::jsonb
                ELSE coalesce($8::jsonb, '{}') || jsonb_build_object(
                    'origin', jsonb_build_object('parent', a.parent)) END,
            a.args, greatest(a.run_at, clock_timestamp())
        FROM unnest($9::jsonb[], $10::timestamptz[], $11::bigint[]) AS a (args, run_at, parent)
        RETURNING id, run_at
        """

    /// Inserts jobs with unique keys, each decided separately.
    package static let enqueueUnique = """
        SELECT made.job_id, made.due_at, made.outcome
        FROM unnest($9::jsonb[], $10::timestamptz[], $11::text[]) AS a (args, run_at, key)
        CROSS JOIN LATERAL errand.enqueue_job($2, a.args, $1, a.run_at, $4, $5, $6, a.key, $12,
            make_interval(secs => $13), $14, $15, $7, $3, $8) AS made
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
            sensitive, retention_days)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (kind) DO UPDATE
        SET args_version = excluded.args_version, queue = excluded.queue,
            priority = excluded.priority, max_attempts = excluded.max_attempts,
            sensitive = excluded.sensitive, retention_days = excluded.retention_days,
            updated_at = clock_timestamp()
        WHERE (k.args_version, k.queue, k.priority, k.max_attempts, k.sensitive, k.retention_days)
            IS DISTINCT FROM (excluded.args_version, excluded.queue, excluded.priority,
                excluded.max_attempts, excluded.sensitive, excluded.retention_days)
          AND k.args_version <= excluded.args_version
        """
}
