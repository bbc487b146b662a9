extension Statements {
    /// All limits; there are few.
    package static let knownLimits =
        "SELECT queue, running, rate_per_s, set_at FROM errand.queue_limits"

    /// One claim of a limited queue at a time; a statement of its own, so that the next one sees
    /// what the claim before it has committed.
    ///
    /// It waits for nobody.
    package static let lockLimit =
        "SELECT queue FROM errand.queue_limits WHERE queue = $1 FOR UPDATE NOWAIT"

    /// Slots that count: their jobs are still claimed with their tokens.
    ///
    /// `OFFSET 0` keeps the order of the look, a probe of the primary key for each slot: a
    /// planner that knows nothing of the slots may think that reading all jobs is better.
    private static func held(_ queue: String) -> String {
        """
        SELECT s.job_id FROM errand.slots s CROSS JOIN LATERAL (
            SELECT FROM errand.jobs j WHERE j.id = s.job_id AND j.claim_token = s.token OFFSET 0
        ) j
        WHERE s.queue = \(queue)
        """
    }

    /// Claims of the popped jobs ($1) of queue $4 as many as may start, the best first.
    ///
    /// Under the lock of ``lockLimit``. A queue whose limit was taken away meanwhile is claimed
    /// without one, and one that is limited by its rate alone has no slots. The slots are walked
    /// once: to count those that hold, and to sweep up the others. While somebody keeps an old
    /// transaction open, what was swept cannot be cleaned away and each walk passes it again:
    /// claims of this queue then get slower with each job that it runs. Only what is claimed needs
    /// to survive a crash of the server, so only then is the commit synced to disk.
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
                attempt = attempt + 1
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

    /// Of a row `l` of `errand.queue_limits`: how many may start at a time; null without a rate.
    ///
    /// Beyond the next one a tenth of a second's worth may gather, so that who comes late for it
    /// keeps up the rate.
    private static func tokens(_ now: String) -> String {
        """
        CASE WHEN l.rate_per_s IS NOT NULL THEN
            least(1 + l.rate_per_s * 0.1, l.tokens + l.rate_per_s
                * greatest(0, extract(epoch FROM \(now) - l.refilled_at)::float8))
        END
        """
    }

    /// Of the popped jobs ($1) of queue $2, those that wait and are due; and in how many seconds
    /// the rate lets the next one start.
    package static let leftWaiting = """
        SELECT id, queue, kind, args_version, priority, run_at, (
            SELECT greatest(0, (1 - \(tokens("clock_timestamp()"))) / l.rate_per_s)
            FROM errand.queue_limits l WHERE l.queue = $2) AS until_start
        FROM errand.jobs
        WHERE id = ANY ($1) AND queue = $2 AND claimed_by IS NULL AND run_at <= clock_timestamp()
        """

    /// Of the limit of a job's queue, for ``situation``.
    package static let limitOfJob = """
        LEFT JOIN LATERAL (
            SELECT l.running AS limit_running, l.rate AS limit_rate,
                (SELECT count(*) FROM (\(held("l.queue"))) h) AS limit_held,
                \(tokens("clock_timestamp()")) < 1 AS is_rate_used
            FROM errand.queue_limits l WHERE l.queue = job.queue
        ) ql ON true
        """

    // MARK: What operators ask

    /// The limits of all queues, or of $1, with what is used of them.
    package static let limits = """
        SELECT l.queue, l.running, l.rate_per_s, l.rate, l.set_at, l.set_by, l.reason,
            (SELECT count(*) FROM (\(held("l.queue"))) h) AS held,
            \(tokens("clock_timestamp()")) AS tokens
        FROM errand.queue_limits l WHERE $1::text IS NULL OR l.queue = $1 ORDER BY l.queue
        """

    /// One at a time, so that the times at which limits were set follow their commits.
    package static let lockLimits = "SELECT pg_advisory_xact_lock(7596553775040557427)"

    /// Limits queue $1 to $2 at once and $3 starts a second ($4 as it was asked); null leaves
    /// what was.
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

    /// Takes the limit of queue $1 away.
    package static let removeLimit = """
        WITH gone AS (DELETE FROM errand.queue_limits WHERE queue = $1 RETURNING queue),
        swept AS (DELETE FROM errand.slots WHERE queue IN (SELECT queue FROM gone))
        SELECT queue, pg_notify('errand_control', 'queues')::text FROM gone
        """

    /// Workers of queue $1 that are alive and have not heard of what was set at $2.
    package static let limitUnheard = """
        SELECT id FROM errand.workers
        WHERE queues ? $1 AND limits_heard < $2
          AND last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        ORDER BY id
        """

    /// Counts what was claimed before all workers knew of the limit.
    ///
    /// Jobs are claimed in the order of their lane, so they stand near its head; what has run for
    /// long, its worker has told of. So the look is short however many wait. It takes no lock: a
    /// claim that comes meanwhile writes its slot itself, and one that ends frees it.
    package static let fillSlots = """
        WITH RECURSIVE \(lane), claimed AS (
            SELECT j.id, j.claim_token
            FROM lane l CROSS JOIN generate_series(0, 3) AS p (priority)
            CROSS JOIN LATERAL (
                SELECT id, claimed_by, claim_token FROM errand.jobs j
                WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.args_version
                  AND j.priority = p.priority::smallint AND j.run_at <= clock_timestamp()
                ORDER BY j.run_at, j.id LIMIT 20000
            ) j
            WHERE j.claimed_by IS NOT NULL
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
