/// Deleting what has expired. Each takes up to 10,000 rows, so that no lock is held for long.
extension Statements {
    /// The days without a partition, among those on which the retention of finished jobs may end.
    ///
    /// $1 is today. A kind's retention of up to 31 days gets daily partitions.
    package static let missingDays = """
        SELECT (d.day)::text AS day
        FROM (SELECT greatest(8, (SELECT max(retention_days) FROM errand.kinds
            WHERE retention_days <= 31))::int AS daily) AS r
        CROSS JOIN LATERAL (
            SELECT $1::text::date + n FROM generate_series(0, r.daily + 3) AS n) AS d (day)
        WHERE to_regclass('errand.' || errand.finished_day_name(d.day)) IS NULL
        ORDER BY d.day
        """

    /// Uses the daily partitions, once all exist.
    package static let raiseDailyDays = """
        SELECT errand.raise_daily_days(greatest(8, max(retention_days))::int)::text
        FROM errand.kinds WHERE retention_days <= 31
        """

    package static let forgetLongKept = """
        DELETE FROM errand.finished_jobs_long WHERE ctid = ANY (ARRAY(
            SELECT f.ctid FROM errand.finished_jobs_long f
            WHERE f.long_until < $1::text::date LIMIT 10000))
        """

    /// Deletes expired unique keys.
    package static let forgetUniqueKeys = """
        DELETE FROM errand.unique_keys WHERE ctid = ANY (ARRAY(
            -- By ctid, not by key: a new job may have taken over the key meanwhile.
            SELECT u.ctid FROM errand.unique_keys u
            WHERE coalesce(u.until < now(), true)
              AND NOT EXISTS (SELECT FROM errand.jobs j WHERE j.id = u.job_id)
            LIMIT 10000 FOR UPDATE SKIP LOCKED))
        """

    /// Deletes recorded effects of jobs that are no longer kept.
    ///
    /// A dead letter or a cancelled job may be retried, so its effects stay recorded.
    package static let forgetOnceEffects = """
        DELETE FROM errand.once_effects WHERE (job_id, key) IN (
            SELECT o.job_id, o.key FROM errand.once_effects o
            WHERE NOT EXISTS (SELECT FROM errand.jobs j WHERE j.id = o.job_id)
              AND NOT EXISTS (SELECT FROM errand.finished_jobs f
                WHERE f.id = o.job_id AND f.outcome <> 'completed')
            LIMIT 10000)
        """

    /// Deletes rows that are older than any query can reach.
    package static let forgetActivity = """
        DELETE FROM errand.activity WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM errand.activity
            WHERE minute < clock_timestamp() - interval '25 hours' LIMIT 10000))
        """

    package static let forgetOperations = """
        DELETE FROM errand.operations WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM errand.operations
            WHERE ended_at < clock_timestamp() - interval '90 days' LIMIT 10000))
        """

    package static let forgetDemoLedger = """
        DELETE FROM errand.demo_ledger WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM errand.demo_ledger
            WHERE at < clock_timestamp() - interval '30 days' LIMIT 10000))
        """

    /// What keeps a queue `q`: a worker that names it, a job, a kind, a schedule, a limit, a pause,
    /// or activity.
    ///
    /// A worker's pattern does not keep it: a job that is enqueued there later creates it again.
    private static let isQueueUsed = """
        q.name = 'default' OR q.paused_at IS NOT NULL
            OR q.name IN (SELECT jsonb_object_keys(w.queues) FROM errand.workers w)
            OR EXISTS (SELECT FROM errand.jobs j WHERE j.queue = q.name)
            OR EXISTS (SELECT FROM errand.kinds k WHERE k.queue = q.name)
            OR EXISTS (SELECT FROM errand.schedules s WHERE s.queue = q.name)
            OR EXISTS (SELECT FROM errand.queue_limits l WHERE l.queue = q.name)
            OR q.name IN (SELECT a.queue FROM errand.activity a)
        """

    /// What keeps a kind `k`: a worker that can run it, a schedule, or activity.
    private static let isKindUsed = """
        EXISTS (SELECT FROM errand.workers w WHERE EXISTS (
                SELECT FROM unnest(w.kinds) AS c (name) WHERE starts_with(c.name, k.kind || '@')))
            OR EXISTS (SELECT FROM errand.schedules s WHERE s.kind = k.kind)
            OR k.kind IN (SELECT a.kind FROM errand.activity a)
        """

    /// Records the day on which queues and kinds are in use.
    package static let seeQueues = """
        UPDATE errand.queues q SET seen_at = clock_timestamp()
        WHERE q.seen_at < clock_timestamp() - interval '1 day' AND (\(isQueueUsed))
        """

    package static let seeKinds = """
        UPDATE errand.kinds k SET seen_at = clock_timestamp()
        WHERE k.seen_at < clock_timestamp() - interval '1 day' AND (\(isKindUsed))
        """

    package static let forgetQueues = """
        DELETE FROM errand.queues q
        WHERE q.seen_at < clock_timestamp() - interval '90 days' AND NOT (\(isQueueUsed))
        """

    package static let forgetKinds = """
        DELETE FROM errand.kinds k
        WHERE k.seen_at < clock_timestamp() - interval '90 days' AND NOT (\(isKindUsed))
        """
}
