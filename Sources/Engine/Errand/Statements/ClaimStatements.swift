extension Statements {
    /// What a worker needs of a job's options: where most came from would only be decoded for
    /// nothing.
    ///
    /// What somebody wrote by hand and is no object asks for nothing.
    private static let overrides = """
        CASE WHEN jsonb_typeof(options) = 'object' THEN nullif(options - 'origin', '{}') END
            AS options
        """

    package static let claimedColumns = """
        id, queue, kind, args_version, attempt, max_attempts, priority, run_at, not_after,
        cancel_requested, args, \(overrides)
        """

    private static let claiming = """
        UPDATE errand.jobs
        SET claimed_by = $2, claim_token = $3, claimed_at = clock_timestamp(),
            attempt = attempt + 1
        """

    /// Takes the popped jobs that nobody holds: one round trip whatever the batch, and no indexed
    /// column changed, so that it is a heap-only update.
    ///
    /// An id that is claimed, finished, or not due (it was staged, then rescheduled) is dropped in
    /// silence: popping decided nothing. A worker that was declared dead claims nothing.
    package static let claim = claim("")

    /// The same, but not of these queues ($4).
    package static let claimOutside = claim("AND queue <> ALL ($4)")

    private static func claim(_ condition: String) -> String {
        """
        \(claiming)
        WHERE id = ANY ($1) AND claimed_by IS NULL AND run_at <= clock_timestamp() \(condition)
          AND EXISTS (SELECT FROM errand.workers WHERE id = $2)
        RETURNING \(claimedColumns)
        """
    }

    /// The same past rows that somebody's transaction has locked.
    ///
    /// Such as one that replaces the arguments of a waiting job: its row comes again with the
    /// feeder's next look. It costs a lock for each row, so it is used only where the plain claim
    /// met one (`lock_timeout`).
    package static let claimUnlocked = claimUnlocked("")

    /// The same, but not of these queues ($4).
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

    /// Gives back what a broken connection may have claimed without our hearing of it.
    package static let unclaim = """
        UPDATE errand.jobs
        SET claimed_by = NULL, claim_token = NULL, claimed_at = NULL, attempt = attempt - 1
        WHERE id = ANY ($1) AND claim_token = $2
        RETURNING id, queue, kind, args_version, priority, run_at
        """
}

/// All SQL of the engine, one statement each.
package enum Statements {
    /// What every session of the engine sets.
    ///
    /// A sequential scan is never right for a queue; on a fresh table without statistics the
    /// planner may think otherwise.
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

    /// For the sessions that handlers and clients use: their own statements are planned as usual.
    package static let poolSetup = ["SET TimeZone = 'UTC'", "SET jit = off"]

    /// Rescuing reads the whole table, because no index names the claim: planned as usual.
    ///
    /// It waits for nobody: whoever waits for a partition to be dropped would hold up all endings.
    package static let maintenanceSetup =
        poolSetup + ["SET statement_timeout = '60s'", "SET lock_timeout = '200ms'"]

    /// A lost claim only frees the job, and the fence turns its old owner away: no fsync.
    package static let claimSessionSetup =
        sessionSetup + ["SET synchronous_commit = off", "SET lock_timeout = '50ms'"]
}
