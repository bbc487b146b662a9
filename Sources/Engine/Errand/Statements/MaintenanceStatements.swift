extension Statements {
    /// The lanes that live workers can run: those worth staging.
    package static let liveLanes = """
        SELECT DISTINCT q.name, k.kind
        FROM errand.workers w
        CROSS JOIN LATERAL jsonb_object_keys(w.queues) AS q (name)
        CROSS JOIN LATERAL unnest(w.kinds) AS k (kind)
        WHERE w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
        """

    /// Acquires the locks by which errand.wake() knows that the feeder wants notices of lanes.
    package static let wantNotices = """
        SELECT l.n, pg_try_advisory_lock(\(laneLock), hashtext(l.name))
        FROM unnest($1::text[]) WITH ORDINALITY AS l (name, n)
        """

    package static let refuseNotices = """
        SELECT pg_advisory_unlock(\(laneLock), hashtext(l.name)) FROM unnest($1::text[]) AS l (name)
        """

    /// The first key of these locks: "lane" as a number.
    package static let laneLock = 1_818_324_581

    /// Reads the next due, unclaimed jobs of each lane, in order, after the last position.
    ///
    /// It starts at a position of the index, so that it does not read dead rows again that an open
    /// transaction of another session keeps from being vacuumed (rule 10).
    package static let advance = """
        SELECT l.n, j.id, j.run_at
        FROM unnest($1::int[], $2::text[], $3::text[], $4::smallint[], $5::smallint[],
                $6::timestamptz[], $7::bigint[], $8::int[])
            AS l (n, queue, kind, version, priority, after_at, after_id, room)
        CROSS JOIN LATERAL (
            SELECT j.id, j.run_at FROM errand.jobs j
            WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.version
              AND j.priority = l.priority AND (j.run_at, j.id) > (l.after_at, l.after_id)
              AND j.run_at <= now() AND j.claimed_by IS NULL
            ORDER BY j.run_at, j.id
            LIMIT l.room
        ) j
        """

    /// The jobs that become due within the next $6 seconds, to stage them on time.
    package static let lookAhead = """
        SELECT l.n, p.priority::smallint, j.id, j.run_at, clock_timestamp() AS at
        FROM unnest($1::int[], $2::text[], $3::text[], $4::smallint[])
            AS l (n, queue, kind, version)
        CROSS JOIN generate_series(0, 3) AS p (priority)
        CROSS JOIN LATERAL (
            SELECT j.id, j.run_at FROM errand.jobs j
            WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.version
              AND j.priority = p.priority::smallint AND j.run_at > now()
              AND j.run_at <= now() + make_interval(secs => $6) AND j.claimed_by IS NULL
            ORDER BY j.run_at, j.id
            LIMIT $5
        ) j
        """

    /// Reads each lane again from its first live row to the last position, to find jobs whose
    /// wake-up was lost or that were committed behind that position.
    package static let sweep = """
        SELECT l.n, j.id, j.run_at
        FROM unnest($1::int[], $2::text[], $3::text[], $4::smallint[], $5::smallint[],
                $6::timestamptz[], $7::bigint[], $8::timestamptz[], $9::bigint[], $10::int[])
            AS l (n, queue, kind, version, priority, from_at, from_id, to_at, to_id, room)
        CROSS JOIN LATERAL (
            SELECT j.id, j.run_at FROM errand.jobs j
            WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.version
              AND j.priority = l.priority AND (j.run_at, j.id) >= (l.from_at, l.from_id)
              AND (j.run_at, j.id) <= (l.to_at, l.to_id)
              AND j.run_at <= now() AND j.claimed_by IS NULL
            ORDER BY j.run_at, j.id
            LIMIT l.room
        ) j
        """

    /// The time before which no new row can appear.
    ///
    /// A row's run_at is not earlier than the clock of its statement, which is read under its lock
    /// on the table.
    ///
    /// So if no transaction is writing, no earlier row can appear; otherwise the start of the
    /// oldest writer is the bound. The start of a writer of another role is hidden: it is assumed
    /// to be within the last minute. Rows of longer ones are found by the complete reading.
    package static let horizon = """
        SELECT coalesce(
                min(coalesce(a.xact_start, clock_timestamp() - interval '60 s')),
                clock_timestamp()) AS at,
            clock_timestamp() AS now
        FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'relation' AND l.relation = 'errand.jobs'::regclass
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND l.mode = 'RowExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
        """

    /// The lanes that have jobs; each step reads the next lane from the index.
    package static let lanesInUse = """
        WITH RECURSIVE \(allLanes)
        SELECT queue, kind, args_version FROM lane LIMIT 10000
        """

    /// Whether a job of these lanes ($1 queues, $2 kinds, $3 versions) is due.
    package static let anyDue = """
        SELECT EXISTS (
            SELECT FROM unnest($1::text[], $2::text[], $3::smallint[]) AS l (queue, kind, version)
            CROSS JOIN generate_series(0, 3) AS p (priority)
            CROSS JOIN LATERAL (
                SELECT FROM errand.jobs j
                WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.version
                  AND j.priority = p.priority::smallint AND j.run_at <= clock_timestamp()
                  AND j.claimed_by IS NULL
                LIMIT 1
            ) j
            WHERE NOT EXISTS (
                SELECT FROM errand.queues q WHERE q.name = l.queue AND \(isPaused))
        ) AS due
        """

    package static let registerWorker = """
        INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds)
        VALUES ($1, $2, $3, $4, $5, $6) RETURNING id
        """

    /// The same for a worker that was declared dead ($7); it keeps its leader roles and its
    /// command.
    package static let registerAgain = """
        WITH new AS (
            INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds, command,
                command_at, command_by, command_reason)
            VALUES ($1, $2, $3, $4, $5, $6, $8, $9, $10, $11) RETURNING id
        ), led AS (
            UPDATE errand.leaders SET worker = new.id FROM new WHERE worker = $7
        )
        SELECT id FROM new
        """

    package static let heartbeat = """
        UPDATE errand.workers
        SET last_seen_at = clock_timestamp(), queues = $2, stopping = $3, quiet = $4,
            running = $5, limits_applied_at = $6, clock_ahead_seconds = $7
        WHERE id = $1
        RETURNING clock_timestamp()
        """

    package static let leave = "DELETE FROM errand.workers WHERE id = $1"

    /// The running jobs of this worker whose cancellation was requested.
    package static let cancelRequested = """
        SELECT id FROM errand.jobs WHERE id = ANY ($1) AND claimed_by = $2 AND cancel_requested
        """

    /// Terminates the session that holds the advisory lock $1 and has sent no query for $2 seconds.
    package static let endUnresponsiveLeader = """
        SELECT pg_terminate_backend(a.pid)
        FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND l.classid::bigint = $1 >> 32 AND l.objid::bigint = $1 & 4294967295
          AND a.state LIKE 'idle%'
          AND a.state_change < clock_timestamp() - make_interval(secs => $2)
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

    /// The jobs claimed by dead workers.
    ///
    /// It reads the whole table: no index contains the claim.
    package static let heldBy = "SELECT id FROM errand.jobs WHERE claimed_by = ANY ($1)"

    /// Terminates sessions of these names that have open idle transactions: their workers are dead
    /// or hung.
    package static let endTransactions = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = ANY ($1)
          AND state LIKE 'idle in transaction%'
        """

    /// Requeues the jobs ($3) of dead workers ($1, with a text for each) and counts the attempts.
    ///
    /// It skips jobs that a transaction of the dead worker still locks.
    package static let rescue = """
        UPDATE errand.jobs j
        SET claimed_by = NULL, claim_token = NULL, claimed_at = NULL,
            errors = errand.with_error(j.errors, jsonb_build_object('attempt', j.attempt,
                'at', clock_timestamp(), 'worker', j.claimed_by, 'error', w.reason))
        FROM unnest($1::bigint[], $2::text[]) AS w (id, reason)
        WHERE j.id IN (SELECT id FROM errand.jobs WHERE id = ANY ($3) FOR UPDATE SKIP LOCKED)
          AND j.claimed_by = w.id AND j.attempt < j.max_attempts AND NOT j.cancel_requested
        RETURNING j.id, j.queue, j.kind, j.args_version, j.priority, j.run_at
        """

    /// Finishes the jobs of dead workers that have no attempts left or whose cancellation was
    /// requested.
    package static let buryRescued = """
        WITH ended AS (
            DELETE FROM errand.jobs j
            USING unnest($1::bigint[], $2::text[]) AS w (id, reason)
            WHERE j.id IN (
                SELECT id FROM errand.jobs WHERE id = ANY ($3) FOR UPDATE SKIP LOCKED)
              AND j.claimed_by = w.id AND (j.attempt >= j.max_attempts OR j.cancel_requested)
            RETURNING j.*, w.reason
        ), kept AS (
            INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at,
                worker, keep_until, outcome, priority, attempt, max_attempts, args_version,
                queue, kind, reason, args, unique_key, tags, options, errors)
            SELECT id, created_at, run_at, claimed_at, now(), claimed_by,
                CASE WHEN cancel_requested THEN (now() AT TIME ZONE 'UTC')::date + keep.days
                    ELSE 'infinity' END,
                (CASE WHEN cancel_requested THEN 'cancelled' ELSE 'dead' END)::errand.job_outcome,
                priority, attempt, max_attempts, args_version, queue, kind, reason, args,
                unique_key, tags, options,
                errand.with_error(errors, jsonb_build_object('attempt', attempt,
                    'at', clock_timestamp(), 'worker', claimed_by, 'error', reason))
            FROM ended CROSS JOIN LATERAL (\(keepDays)) AS keep (days)
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

    /// Deletes expired unique keys, in slices, so that no lock is held for long.
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
}
