extension Statements {
    /// All limits.
    ///
    /// There are few.
    package static let knownLimits =
        "SELECT queue, running, rate_per_s, set_at FROM errand.queue_limits"

    /// Locks a limited queue for one claim, without waiting.
    ///
    /// A separate statement, so that the next one sees what the previous claim has committed.
    package static let lockLimit =
        "SELECT queue FROM errand.queue_limits WHERE queue = $1 FOR UPDATE NOWAIT"

    /// The occupied slots: their jobs are still claimed with the slots' tokens.
    ///
    /// `OFFSET 0` forces a lookup of the primary key for each slot. Without statistics on the
    /// slots, the planner might read all jobs.
    private static func held(_ queue: String) -> String {
        """
        SELECT s.job_id FROM errand.slots s CROSS JOIN LATERAL (
            SELECT FROM errand.jobs j WHERE j.id = s.job_id AND j.claim_token = s.token OFFSET 0
        ) j
        WHERE s.queue = \(queue)
        """
    }

    /// Claims those of the popped jobs ($1) of queue $4 that the limit allows, in order.
    ///
    /// It runs under the lock of ``lockLimit``. If the limit was removed meanwhile, it claims
    /// without one. A queue with only a rate limit has no slots. One scan of the slots counts the
    /// occupied ones and deletes the others. A long transaction elsewhere keeps the deleted rows
    /// from being vacuumed, which slows down the claims of this queue with each job that it runs.
    /// Only a claim must survive a crash of the server, so only then is the commit flushed to disk.
    package static let claimLimited = """
        WITH room AS MATERIALIZED (
            SELECT clock_timestamp() AS now, l.running, l.rate_per_s,
                \(tokens("clock_timestamp()")) AS tokens
            FROM errand.queue_limits l WHERE l.queue = $4
        ), slot AS MATERIALIZED (
            SELECT s.ctid AS place, j.holds FROM errand.slots s LEFT JOIN LATERAL (
                SELECT true AS holds FROM errand.jobs j
                WHERE j.id = s.job_id AND j.claim_token = s.token OFFSET 0
            ) j ON true
            WHERE s.queue = $4 AND (SELECT running FROM room) IS NOT NULL
        ), swept AS (
            DELETE FROM errand.slots
            WHERE ctid = ANY (ARRAY(SELECT place FROM slot WHERE holds IS NULL))
        ), chosen AS MATERIALIZED (
            SELECT id FROM errand.jobs
            WHERE id = ANY ($1) AND queue = $4 AND claimed_by IS NULL
              AND run_at <= clock_timestamp()
            ORDER BY priority, run_at, id
            LIMIT (SELECT greatest(0, least(
                    coalesce(running - (SELECT count(*) FROM slot WHERE holds), 1000000),
                    coalesce(floor(tokens), 1000000)))::bigint FROM room)
            FOR UPDATE SKIP LOCKED
        ), claimed AS (
            UPDATE errand.jobs
            SET claimed_by = $2, claim_token = $3, claimed_at = clock_timestamp(),
                attempt = \(nextAttempt)
            WHERE id IN (SELECT id FROM chosen)
              AND EXISTS (SELECT FROM errand.workers WHERE id = $2)
            RETURNING \(claimedColumns)
        ), taken AS (
            INSERT INTO errand.slots (queue, job_id, token)
            SELECT $4, c.id, $3 FROM claimed c
            WHERE EXISTS (SELECT FROM room WHERE running IS NOT NULL)
        ), spent AS (
            UPDATE errand.queue_limits l
            SET tokens = r.tokens - (SELECT count(*) FROM claimed), refilled_at = r.now
            FROM room r
            WHERE l.queue = $4 AND l.rate_per_s IS NOT NULL AND EXISTS (SELECT FROM claimed)
        )
        SELECT c.*, (SELECT set_config('synchronous_commit', 'on', true)) AS synced
        FROM claimed c
        """

    /// The number of jobs that may start now, for a row `l` of `errand.queue_limits`; null without
    /// a rate.
    ///
    /// Up to a tenth of a second of unused starts accumulates, so that late claims keep up the
    /// rate. The row may have any numbers and times: an error would hold up the claims of all
    /// queues. A time in the future counts as long ago: the clock was set back.
    private static func tokens(_ now: String) -> String {
        """
        CASE WHEN l.rate_per_s IS NOT NULL THEN
            least(1 + \(rate) * 0.1, greatest(l.tokens, 0) + \(rate)
                * extract(epoch FROM CASE WHEN l.refilled_at BETWEEN '2000-01-01Z' AND \(now)
                    THEN \(now) - l.refilled_at ELSE interval '1 day' END)::float8)
        END
        """
    }

    /// The rate of a row `l` of `errand.queue_limits`; NaN, which PostgreSQL sorts last, counts as
    /// the highest.
    private static let rate = "least(greatest(l.rate_per_s, 1e-9), 1e6)"

    /// The popped jobs ($1) of queue $2 that wait and are due, and the seconds until the rate
    /// allows the next start.
    package static let leftWaiting = """
        SELECT id, queue, kind, args_version, priority, run_at, (
            SELECT greatest(0, (1 - \(tokens("clock_timestamp()"))) / \(rate))
            FROM errand.queue_limits l WHERE l.queue = $2) AS until_start
        FROM errand.jobs
        WHERE id = ANY ($1) AND queue = $2 AND claimed_by IS NULL AND run_at <= clock_timestamp()
        """

    /// The limit of a job's queue, for ``situation``.
    package static let limitOfJob = """
        LEFT JOIN LATERAL (
            SELECT l.running AS limit_running, l.rate AS limit_rate,
                (SELECT count(*) FROM (\(held("l.queue"))) h) AS limit_in_use,
                \(tokens("clock_timestamp()")) < 1 AS is_rate_used
            FROM errand.queue_limits l WHERE l.queue = job.queue
        ) ql ON true
        """

    // MARK: Statements for operators

    /// The limits of all queues, or of $1, and their use.
    package static let limits = """
        SELECT l.queue, l.running, l.rate_per_s, l.rate, l.set_at, l.set_by, l.reason,
            (SELECT count(*) FROM (\(held("l.queue"))) h) AS held,
            \(tokens("clock_timestamp()")) AS tokens
        FROM errand.queue_limits l WHERE $1::text IS NULL OR l.queue = $1 ORDER BY l.queue
        """

    /// Serializes changes, so that the times of limits are in the order of their commits.
    ///
    /// Not an advisory lock, which any login may hold; claims do not wait for this one.
    package static let lockLimits = "LOCK TABLE errand.queue_limits IN SHARE UPDATE EXCLUSIVE MODE"

    /// Limits queue $1 to $2 running jobs and $3 starts per second ($4 as the operator wrote it);
    /// null keeps the current value.
    package static let setLimit = """
        INSERT INTO errand.queue_limits (queue, running, rate_per_s, rate, set_by, reason)
        SELECT name, $2::int, $3::float8, $4::text, $5, $6::text FROM errand.queues WHERE name = $1
        ON CONFLICT (queue) DO UPDATE
        SET running = coalesce(excluded.running, queue_limits.running),
            rate_per_s = coalesce(excluded.rate_per_s, queue_limits.rate_per_s),
            rate = coalesce(excluded.rate, queue_limits.rate),
            set_at = clock_timestamp(), set_by = excluded.set_by, reason = excluded.reason
        RETURNING set_at, pg_notify('errand_control', 'queues')::text
        """

    /// Removes the limit of queue $1.
    package static let removeLimit = """
        WITH gone AS (DELETE FROM errand.queue_limits WHERE queue = $1 RETURNING queue),
        swept AS (DELETE FROM errand.slots WHERE queue IN (SELECT queue FROM gone))
        SELECT queue, pg_notify('errand_control', 'queues')::text FROM gone
        """

    /// The live workers of queue $1 that do not apply the limit set at $2 yet.
    package static let limitUnaware = """
        SELECT id FROM errand.workers
        WHERE errand.serving(queues, $1) IS NOT NULL AND limits_applied_at < $2
          AND last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        ORDER BY id
        """

    /// Adds slots for the jobs that were claimed before all workers knew of the limit.
    ///
    /// Jobs are claimed in the order of their lane, so recent claims are near its head, and workers
    /// have reported long-running jobs. So the query is short even with a large backlog. It takes
    /// no lock: a concurrent claim writes its own slot, and a concurrent result frees it.
    package static let fillSlots = """
        WITH claimed AS (
            SELECT j.id, j.claim_token
            FROM errand.lanes l
            CROSS JOIN LATERAL errand.lane_jobs(l, 20000, clock_timestamp()) c
            CROSS JOIN LATERAL (
                SELECT id, claimed_by, claim_token FROM errand.jobs j WHERE j.id = c.id OFFSET 0
            ) j
            WHERE l.queue = $1 AND c.claimed_by IS NOT NULL AND j.claimed_by IS NOT NULL
            UNION
            SELECT j.id, j.claim_token
            FROM errand.workers w CROSS JOIN LATERAL unnest(w.running) AS r (id)
            CROSS JOIN LATERAL (
                SELECT id, claim_token FROM errand.jobs j
                WHERE j.id = r.id AND j.queue = $1 AND j.claimed_by IS NOT NULL OFFSET 0
            ) j
        )
        INSERT INTO errand.slots (queue, job_id, token)
        SELECT $1, id, claim_token FROM claimed
        WHERE EXISTS (
            SELECT FROM errand.queue_limits l WHERE l.queue = $1 AND l.running IS NOT NULL)
        ON CONFLICT DO NOTHING
        """
}
