extension Statements {
    package static let registerWorker = """
        INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds, roles)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id
        """

    /// The same for a worker that was declared dead ($8); it keeps its leader roles and its
    /// command.
    package static let registerAgain = """
        WITH new AS (
            INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds, roles,
                command, command_at, command_by, command_reason)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $9, $10, $11, $12) RETURNING id
        ), led AS (
            UPDATE errand.leaders SET worker = new.id FROM new WHERE worker = $8
        )
        SELECT id FROM new
        """

    package static let heartbeat = """
        UPDATE errand.workers
        SET last_seen_at = clock_timestamp(), load = $2, stopping = $3, quiet = $4,
            running = $5, limits_applied_at = $6, clock_ahead_seconds = $7
        WHERE id = $1
        RETURNING clock_timestamp()
        """

    package static let leave = "DELETE FROM errand.workers WHERE id = $1"

    /// The running jobs of this worker whose cancellation was requested.
    package static let cancelRequested = """
        SELECT id FROM errand.jobs WHERE id = ANY ($1) AND claimed_by = $2 AND cancel_requested
        """

    /// Whether a row of `errand.queues` is paused now; a pause with an end expires.
    package static let isPaused = """
        (paused_at IS NOT NULL AND coalesce(paused_until > clock_timestamp(), true))
        """

    package static let pausedQueues = "SELECT name FROM errand.queues WHERE \(isPaused)"

    /// The workers whose lease has run out.
    package static let unresponsiveWorkers = """
        SELECT id, host, pid, last_seen_at FROM errand.workers
        WHERE last_seen_at < clock_timestamp() - make_interval(secs => lease_seconds)
        FOR UPDATE SKIP LOCKED
        """

    /// Deletes dead workers, except those that sent a heartbeat meanwhile.
    package static let forgetWorkers = """
        DELETE FROM errand.workers WHERE id = ANY ($1)
          AND last_seen_at < clock_timestamp() - make_interval(secs => lease_seconds)
        """

    /// The jobs claimed by dead workers ($1, last seen at $2).
    ///
    /// `started_together`: how many jobs the worker started in its last second, if this is one of
    /// them. It reads the whole table: no index contains the claim.
    package static let heldBy = """
        SELECT id, CASE WHEN is_early
            THEN count(*) FILTER (WHERE is_early) OVER (PARTITION BY claimed_by) END
                AS started_together
        FROM (
            SELECT j.id, j.claimed_by,
                coalesce(j.claimed_at >= w.seen - interval '1 second', false) AS is_early
            FROM unnest($1::bigint[], $2::timestamptz[]) AS w (id, seen)
            JOIN errand.jobs j ON j.claimed_by = w.id
        ) AS held
        """

    /// Terminates sessions of these names that have open idle transactions: their workers are dead
    /// or hung.
    package static let endTransactions = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = ANY ($1)
          AND state LIKE 'idle in transaction%'
        """

    /// Requeues the jobs ($3, with `started_together` of ``heldBy``) of dead workers ($1, with a
    /// text for each) and counts the attempts.
    ///
    /// Jobs that a worker had just started together when it died, for the second time, are due at
    /// different times, so that the next worker starts them one by one and the one that kills it
    /// is found. It skips jobs that a transaction of the dead worker still locks.
    package static let rescue = """
        UPDATE errand.jobs j
        SET claimed_by = NULL, claim_token = NULL, claimed_at = NULL,
            run_at = CASE WHEN h.started_together > 1 AND errand.early_deaths(j.errors) > 0
                THEN clock_timestamp()
                    + make_interval(secs => random() * least(h.started_together, 60))
                ELSE j.run_at END,
            errors = errand.with_error(j.errors, \(deathRecord))
        FROM unnest($1::bigint[], $2::text[]) AS w (id, reason),
            unnest($3::bigint[], $4::bigint[]) AS h (id, started_together)
        WHERE j.id IN (SELECT id FROM errand.jobs WHERE id = ANY ($3) FOR UPDATE SKIP LOCKED)
          AND j.id = h.id AND j.claimed_by = w.id AND NOT \(endsRescued)
        RETURNING j.id, j.queue, j.kind, j.args_version, j.priority, j.run_at,
            j.run_at > clock_timestamp() AS is_later
        """

    /// The error record of a job `j` whose worker died.
    private static let deathRecord = """
        jsonb_strip_nulls(jsonb_build_object('attempt', j.attempt, 'at', clock_timestamp(),
            'worker', j.claimed_by, 'error', w.reason, 'started_together', h.started_together))
        """

    /// Whether three workers died within a second of the start of a job `j`, and of it alone.
    private static let isPoison =
        "(h.started_together = 1 AND errand.early_deaths(j.errors, 1) >= 2)"

    /// Whether a rescued job `j` does not run again.
    private static let endsRescued = """
        (j.attempt >= j.max_attempts OR j.cancel_requested OR coalesce(\(isPoison), false))
        """

    /// Finishes the jobs of dead workers that have no attempts left, whose cancellation was
    /// requested, or that kill their workers, whatever attempts they have left.
    package static let buryRescued = """
        WITH ended AS (
            DELETE FROM errand.jobs j
            USING unnest($1::bigint[], $2::text[]) AS w (id, reason),
                unnest($3::bigint[], $4::bigint[]) AS h (id, started_together)
            WHERE j.id IN (
                SELECT id FROM errand.jobs WHERE id = ANY ($3) FOR UPDATE SKIP LOCKED)
              AND j.id = h.id AND j.claimed_by = w.id AND \(endsRescued)
            RETURNING j.*, \(deathRecord) AS record, CASE WHEN \(isPoison)
                THEN 'poison: three workers died as they began it and nothing else; ' ELSE '' END
                || w.reason AS reason
        ), kept AS (
            INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at,
                worker, keep_until, long_until, outcome, priority, attempt, max_attempts,
                args_version, queue, kind, reason, args, unique_key, tags, options, errors)
            SELECT ended.id, created_at, run_at, claimed_at, now(), claimed_by,
                CASE WHEN cancel_requested THEN \(keepUntil("keep.days")) ELSE 'infinity' END,
                CASE WHEN cancel_requested THEN \(longUntil("keep.days")) END,
                (CASE WHEN cancel_requested THEN 'cancelled' ELSE 'dead' END)::errand.job_outcome,
                priority, attempt, max_attempts, args_version, queue, kind, reason, args,
                unique_key, tags, options, errand.with_error(errors, record)
            FROM ended CROSS JOIN errand.instance i
            CROSS JOIN LATERAL (\(keepDays(of: "ended"))) AS keep (days)
            WHERE keep.days > 0 OR NOT cancel_requested
        )
        SELECT count(*) FROM ended
        """

    /// The ids of claimed jobs' workers that are not in the table of workers.
    package static let orphanedWorkers = """
        SELECT DISTINCT j.claimed_by AS id FROM errand.jobs j
        WHERE j.claimed_by IS NOT NULL
          AND NOT EXISTS (SELECT FROM errand.workers w WHERE w.id = j.claimed_by)
        """
}
