extension Statements {
    private static let claimedColumns = """
        id, queue, kind, args_version, attempt, max_attempts, priority, run_at, not_after,
        cancel_requested, args, options
        """

    /// All limits; there are few.
    static let knownLimits = "SELECT queue, running, rate_per_s, set_at FROM errand.queue_limits"

    /// As ``claim``, past rows that are locked, and not of these queues ($4).
    static let claimOutside = """
        UPDATE errand.jobs
        SET claimed_by = $2, claim_token = $3, claimed_at = clock_timestamp(),
            attempt = attempt + 1
        WHERE id IN (
            SELECT id FROM errand.jobs
            WHERE id = ANY ($1) AND queue <> ALL ($4) AND claimed_by IS NULL
              AND run_at <= clock_timestamp()
            FOR UPDATE SKIP LOCKED)
          AND EXISTS (SELECT FROM errand.workers WHERE id = $2)
        RETURNING \(claimedColumns)
        """

    static let syncThisCommit = "SELECT set_config('synchronous_commit', 'on', true)"

    /// One claim of a limited queue at a time; a statement of its own, so that the next one sees
    /// what the claim before it has committed.
    static let lockLimit = "SELECT queue FROM errand.queue_limits WHERE queue = $1 FOR UPDATE"

    /// Slots that count: their jobs are still claimed with their tokens.
    private static func held(_ queue: String) -> String {
        """
        SELECT s.job_id, s.token FROM errand.slots s
        JOIN errand.jobs j ON j.id = s.job_id AND j.claim_token = s.token
        WHERE s.queue = \(queue)
        """
    }

    /// Claims of the popped jobs ($1) of queue $4 as many as may start, the best first.
    ///
    /// Under the lock of ``lockLimit``. A queue whose limit was taken away meanwhile is claimed
    /// without one.
    static let claimLimited = """
        WITH held AS MATERIALIZED (
            \(held("$4"))
        ), swept AS (
            DELETE FROM errand.slots s WHERE s.queue = $4
              AND NOT EXISTS (
                SELECT FROM held h WHERE h.job_id = s.job_id AND h.token = s.token)
        ), room AS MATERIALIZED (
            SELECT clock_timestamp() AS now, l.running, l.rate_per_s,
                \(tokens("clock_timestamp()")) AS tokens
            FROM errand.queue_limits l WHERE l.queue = $4
        ), chosen AS MATERIALIZED (
            SELECT id FROM errand.jobs
            WHERE id = ANY ($1) AND queue = $4 AND claimed_by IS NULL
              AND run_at <= clock_timestamp()
            ORDER BY priority, run_at, id
            LIMIT (SELECT greatest(0, least(
                    coalesce(running - (SELECT count(*) FROM held), 1000000),
                    coalesce(floor(tokens), 1000000)))::bigint FROM room)
            FOR UPDATE SKIP LOCKED
        ), claimed AS (
            UPDATE errand.jobs
            SET claimed_by = $2, claim_token = $3, claimed_at = clock_timestamp(),
                attempt = attempt + 1
            WHERE id IN (SELECT id FROM chosen)
              AND EXISTS (SELECT FROM errand.workers WHERE id = $2)
            RETURNING \(claimedColumns)
        ), taken AS (
            INSERT INTO errand.slots (queue, job_id, token)
            SELECT $4, c.id, $3 FROM claimed c WHERE EXISTS (SELECT FROM room)
        ), spent AS (
            UPDATE errand.queue_limits l
            SET tokens = r.tokens - (SELECT count(*) FROM claimed), refilled_at = r.now
            FROM room r
            WHERE l.queue = $4 AND l.rate_per_s IS NOT NULL AND EXISTS (SELECT FROM claimed)
        )
        SELECT \(claimedColumns) FROM claimed
        """

    /// Of a row `l` of `errand.queue_limits`: how many may start at a time; null without a rate.
    private static func tokens(_ now: String) -> String {
        """
        CASE WHEN l.rate_per_s IS NOT NULL THEN
            least(greatest(1, l.rate_per_s * 0.1), l.tokens + l.rate_per_s
                * greatest(0, extract(epoch FROM \(now) - l.refilled_at)::float8))
        END
        """
    }

    /// Of the popped jobs ($1) of queue $2, those that wait and are due.
    static let leftWaiting = """
        SELECT id, queue, kind, args_version, priority, run_at FROM errand.jobs
        WHERE id = ANY ($1) AND queue = $2 AND claimed_by IS NULL AND run_at <= clock_timestamp()
        """

    /// Of the limit of a job's queue, for ``situation``.
    static let limitOfJob = """
        LEFT JOIN LATERAL (
            SELECT l.running AS limit_running, l.rate AS limit_rate,
                (SELECT count(*) FROM (\(held("l.queue"))) h) AS limit_held,
                \(tokens("clock_timestamp()")) < 1 AS is_rate_used
            FROM errand.queue_limits l WHERE l.queue = job.queue
        ) ql ON true
        """

    // MARK: What operators ask

    /// The limits of all queues, or of $1, with what is used of them.
    static let limits = """
        SELECT l.queue, l.running, l.rate_per_s, l.rate, l.set_at, l.set_by, l.reason,
            (SELECT count(*) FROM (\(held("l.queue"))) h) AS held,
            \(tokens("clock_timestamp()")) AS tokens
        FROM errand.queue_limits l WHERE $1::text IS NULL OR l.queue = $1 ORDER BY l.queue
        """

    /// One at a time, so that the times at which limits were set follow their commits.
    static let lockLimits = "SELECT pg_advisory_xact_lock(7596553775040557427)"

    /// Limits queue $1 to $2 at once and $3 starts a second ($4 as it was asked); null leaves
    /// what was.
    static let setLimit = """
        INSERT INTO errand.queue_limits (queue, running, rate_per_s, rate, set_by, reason)
        SELECT name, $2::int, $3::float8, $4::text, $5, $6::text FROM errand.queues WHERE name = $1
        ON CONFLICT (queue) DO UPDATE
        SET running = coalesce(excluded.running, queue_limits.running),
            rate_per_s = coalesce(excluded.rate_per_s, queue_limits.rate_per_s),
            rate = coalesce(excluded.rate, queue_limits.rate),
            set_at = clock_timestamp(), set_by = excluded.set_by, reason = excluded.reason
        RETURNING set_at, pg_notify('errand_control', 'queues')::text
        """

    /// Takes the limit of queue $1 away.
    static let removeLimit = """
        WITH gone AS (DELETE FROM errand.queue_limits WHERE queue = $1 RETURNING queue),
        swept AS (DELETE FROM errand.slots WHERE queue IN (SELECT queue FROM gone))
        SELECT queue, pg_notify('errand_control', 'queues')::text FROM gone
        """

    /// Workers of queue $1 that are alive and have not heard of what was set at $2.
    static let limitUnheard = """
        SELECT id FROM errand.workers
        WHERE queues ? $1 AND limits_heard < $2
          AND last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        ORDER BY id
        """

    /// Counts what was claimed before all workers knew of the limit; reads the jobs of the queue.
    static let fillSlots = """
        INSERT INTO errand.slots (queue, job_id, token)
        SELECT queue, id, claim_token FROM errand.jobs
        WHERE queue = $1 AND claimed_by IS NOT NULL
          AND EXISTS (SELECT FROM errand.queue_limits l WHERE l.queue = $1)
        ON CONFLICT DO NOTHING
        """
}
