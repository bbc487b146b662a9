extension Statements {
    /// Limits the waits of the transaction for locks and the disk, because the next heartbeat waits
    /// for it.
    package static let hurry = """
        SELECT set_config('lock_timeout', '500ms', true),
            set_config('statement_timeout', '2s', true),
            set_config('synchronous_commit', 'off', true)
        """

    /// Inserts rows of worker $1, or replaces their numbers.
    package static let writeActivity = """
        INSERT INTO errand.activity AS a (minute, worker, queue, kind, started, completed, retried,
            dead, cancelled, snoozed, wait_buckets, wait_counts, run_buckets, run_counts)
        SELECT e.minute, $1, e.queue, e.kind, e.started, e.completed, e.retried, e.dead,
            e.cancelled, e.snoozed, e.wait_buckets::smallint[], e.wait_counts::int[],
            e.run_buckets::smallint[], e.run_counts::int[]
        FROM unnest($2::timestamptz[], $3::text[], $4::text[], $5::int[], $6::int[], $7::int[],
                $8::int[], $9::int[], $10::int[], $11::text[], $12::text[], $13::text[],
                $14::text[])
            AS e (minute, queue, kind, started, completed, retried, dead, cancelled, snoozed,
                wait_buckets, wait_counts, run_buckets, run_counts)
        ON CONFLICT (minute, worker, queue, kind) DO UPDATE
        SET started = excluded.started, completed = excluded.completed,
            retried = excluded.retried, dead = excluded.dead, cancelled = excluded.cancelled,
            snoozed = excluded.snoozed, wait_buckets = excluded.wait_buckets,
            wait_counts = excluded.wait_counts, run_buckets = excluded.run_buckets,
            run_counts = excluded.run_counts
        """

    /// Merges the rows of all workers for ten minutes after an hour, so that a day is read from a
    /// few thousand rows.
    ///
    /// Workers do not change rows of that age. Late rows are added nevertheless, so a histogram may
    /// contain a bucket twice.
    package static let gatherActivity = """
        WITH old AS (
            DELETE FROM errand.activity
            WHERE minute < date_bin('10 min', now() - interval '70 min', '2000-01-01')
              AND worker > 0
            RETURNING *, date_bin('10 min', minute, '2000-01-01') AS span
        ), waits AS (
            SELECT span, queue, kind, array_agg(bucket) AS buckets, array_agg(jobs) AS counts
            FROM (
                SELECT o.span, o.queue, o.kind, w.bucket, sum(w.jobs)::int AS jobs
                FROM old o CROSS JOIN LATERAL unnest(o.wait_buckets, o.wait_counts)
                    AS w (bucket, jobs)
                GROUP BY o.span, o.queue, o.kind, w.bucket
            ) w GROUP BY span, queue, kind
        ), runs AS (
            SELECT span, queue, kind, array_agg(bucket) AS buckets, array_agg(jobs) AS counts
            FROM (
                SELECT o.span, o.queue, o.kind, r.bucket, sum(r.jobs)::int AS jobs
                FROM old o CROSS JOIN LATERAL unnest(o.run_buckets, o.run_counts)
                    AS r (bucket, jobs)
                GROUP BY o.span, o.queue, o.kind, r.bucket
            ) r GROUP BY span, queue, kind
        ), done AS (
            SELECT span, queue, kind, sum(started)::int AS started,
                sum(completed)::int AS completed, sum(retried)::int AS retried,
                sum(dead)::int AS dead, sum(cancelled)::int AS cancelled,
                sum(snoozed)::int AS snoozed
            FROM old GROUP BY span, queue, kind
        )
        INSERT INTO errand.activity AS a (minute, worker, started, completed, retried, dead,
            cancelled, snoozed, queue, kind, wait_buckets, wait_counts, run_buckets, run_counts)
        SELECT d.span, 0, d.started, d.completed, d.retried, d.dead, d.cancelled, d.snoozed,
            d.queue, d.kind, coalesce(w.buckets, '{}'), coalesce(w.counts, '{}'),
            coalesce(r.buckets, '{}'), coalesce(r.counts, '{}')
        FROM done d
        LEFT JOIN waits w ON (w.span, w.queue, w.kind) = (d.span, d.queue, d.kind)
        LEFT JOIN runs r ON (r.span, r.queue, r.kind) = (d.span, d.queue, d.kind)
        ON CONFLICT (minute, worker, queue, kind) DO UPDATE
        SET started = a.started + excluded.started, completed = a.completed + excluded.completed,
            retried = a.retried + excluded.retried, dead = a.dead + excluded.dead,
            cancelled = a.cancelled + excluded.cancelled, snoozed = a.snoozed + excluded.snoozed,
            wait_buckets = a.wait_buckets || excluded.wait_buckets,
            wait_counts = a.wait_counts || excluded.wait_counts,
            run_buckets = a.run_buckets || excluded.run_buckets,
            run_counts = a.run_counts || excluded.run_counts
        """
}
