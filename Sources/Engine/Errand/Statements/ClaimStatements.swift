extension Statements {
    /// The options of a job without its origin, which a worker does not need.
    ///
    /// A value that is not an object, written by hand, counts as no options.
    private static let overrides = """
        CASE WHEN jsonb_typeof(options) = 'object' THEN nullif(options - 'origin', '{}') END
            AS options
        """

    /// Arguments that are stored in at most 8 KiB; null for larger ones, which are read when the
    /// job starts (``largeArguments``).
    ///
    /// The stored size is known without reading the arguments, unlike their length as text.
    private static let smallArguments =
        "CASE WHEN pg_column_size(args) <= 8192 THEN args END AS args"

    /// The arguments of jobs ($1) whose claims ($2) still hold.
    package static let largeArguments = """
        SELECT j.id, j.args FROM unnest($1::bigint[], $2::bigint[]) AS e (id, token)
        JOIN errand.jobs j ON j.id = e.id AND j.claim_token = e.token
        """

    package static let claimedColumns = """
        id, queue, kind, args_version, attempt, max_attempts, priority, run_at, not_after,
        cancel_requested, \(smallArguments), \(overrides),
        CASE WHEN not_after IS NOT NULL THEN clock_timestamp() END AS read_at
        """

    /// The number of the attempt that a claim begins; the column has no higher one than the last.
    static let nextAttempt = "least(attempt, 32766) + 1"

    private static let claiming = """
        UPDATE errand.jobs
        SET claimed_by = $2, claim_token = $3, claimed_at = clock_timestamp(),
            attempt = \(nextAttempt)
        """

    /// Claims the popped jobs that are not claimed, in one round trip.
    ///
    /// It changes no indexed column, so it is a heap-only update.
    ///
    /// An id that is claimed, finished, or not due (because it was rescheduled after staging) is
    /// ignored: popping does not give ownership. A worker that was declared dead claims nothing.
    package static let claim = claim("")

    /// The same, except for these queues ($4).
    package static let claimOutside = claim("AND queue <> ALL ($4)")

    private static func claim(_ condition: String) -> String {
        """
        \(claiming)
        WHERE id = ANY ($1) AND claimed_by IS NULL AND run_at <= clock_timestamp() \(condition)
          AND EXISTS (SELECT FROM errand.workers WHERE id = $2)
        RETURNING \(claimedColumns)
        """
    }

    /// The same, but skips rows that another transaction has locked, for example to replace the
    /// arguments of a waiting job.
    ///
    /// The feeder stages skipped jobs again.
    ///
    /// It locks each row, so it is used only after the plain claim met a locked row
    /// (`lock_timeout`).
    package static let claimUnlocked = claimUnlocked("")

    /// The same, except for these queues ($4).
    package static let claimUnlockedOutside = claimUnlocked("AND queue <> ALL ($4)")

    private static func claimUnlocked(_ condition: String) -> String {
        """
        \(claiming)
        WHERE id IN (
            SELECT id FROM errand.jobs
            WHERE id = ANY ($1) AND claimed_by IS NULL AND run_at <= clock_timestamp() \(condition)
            FOR UPDATE SKIP LOCKED)
          AND EXISTS (SELECT FROM errand.workers WHERE id = $2)
        RETURNING \(claimedColumns)
        """
    }

    /// Requeues jobs of a claim whose answer was lost with its connection.
    package static let unclaim = """
        UPDATE errand.jobs
        SET claimed_by = NULL, claim_token = NULL, claimed_at = NULL, attempt = attempt - 1
        WHERE id = ANY ($1) AND claim_token = $2
        RETURNING id, queue, kind, args_version, priority, run_at
        """
}

/// The SQL statements of the engine.
package enum Statements {
    /// The settings of every session of the engine.
    ///
    /// A sequential scan is never right for a queue, but the planner may choose one for a fresh
    /// table without statistics.
    package static let sessionSetup = [
        "SET TimeZone = 'UTC'",
        "SET enable_seqscan = off",
        "SET enable_hashjoin = off",
        "SET enable_mergejoin = off",
        "SET plan_cache_mode = force_generic_plan",
        "SET jit = off",
        "SET statement_timeout = '60s'",
        "SET idle_in_transaction_session_timeout = '60s'",
    ]

    /// The settings of the sessions of handlers and clients, whose statements are planned as usual.
    package static let poolSetup = ["SET TimeZone = 'UTC'", "SET jit = off"]

    /// The settings of maintenance, for one transaction of a session with ``poolSetup``.
    ///
    /// Recovering jobs reads the whole table, because no index contains the claim, so sequential
    /// scans are allowed.
    ///
    /// It does not wait for locks: waiting to drop a partition would block all results.
    package static let maintenanceSettings = """
        SELECT set_config('statement_timeout', '60s', true),
            set_config('lock_timeout', '200ms', true)
        """

    /// The settings of the claimer's session.
    ///
    /// Without fsync a crash may lose a claim, which only requeues the job; the fence refuses the
    /// results of the lost claim.
    package static let claimSessionSetup =
        sessionSetup + ["SET synchronous_commit = off", "SET lock_timeout = '50ms'"]

    /// The same for one transaction of the worker's reserved session.
    package static let claimSettings = """
        SELECT set_config('synchronous_commit', 'off', true),
            set_config('lock_timeout', '50ms', true)
        """

    /// The settings of results for one transaction of the worker's reserved session, which must not
    /// wait long for locks: it sends the heartbeat.
    package static let resultSettings = "SELECT set_config('lock_timeout', '1s', true)"
}
