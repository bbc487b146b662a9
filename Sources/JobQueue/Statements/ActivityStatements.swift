extension Statements {
    /// Writes rows of worker $1; one that is there already gets the new numbers.
    static let writeActivity = """
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

    /// Nobody can ask for what was done so long ago.
    static let forgetActivity = """
        DELETE FROM errand.activity WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM errand.activity
            WHERE minute < clock_timestamp() - interval '25 hours' LIMIT 10000))
        """
}
