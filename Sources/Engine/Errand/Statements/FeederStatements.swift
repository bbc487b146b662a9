/// The statements of the feeder.
extension Statements {
    /// The workers whose lease has not run out.
    package static let liveWorkers = """
        SELECT id FROM errand.workers
        WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        """

    /// The queues and kinds of workers ($1).
    package static let abilities = """
        SELECT id, ARRAY(SELECT jsonb_object_keys(queues)) AS queues, kinds
        FROM errand.workers WHERE id = ANY ($1)
        """

    // MARK: Notices

    /// Empties the list of polled lanes.
    package static let pollNothing = "DELETE FROM errand.polled_lanes RETURNING lane"

    package static let pollLanes = """
        INSERT INTO errand.polled_lanes (lane) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING
        """

    package static let notifyOfLanes = "DELETE FROM errand.polled_lanes WHERE lane = ANY ($1)"

    // MARK: Due jobs

    /// Reads the next due, unclaimed jobs of each lane, in order, after a position.
    ///
    /// It starts at a position of the index, so that it does not read dead rows again that an open
    /// transaction of another session keeps from being vacuumed (rule 10).
    ///
    /// The first row has the time and the snapshot of the statement.
    package static let advance = """
        SELECT NULL::int AS n, NULL::bigint AS id, now() AS run_at,
            pg_current_snapshot()::text AS snapshot
        UNION ALL
        SELECT l.n, j.id, j.run_at, NULL
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

    /// Reads parts of lanes again, to find jobs whose wake-up was lost or that were committed
    /// behind the last position.
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
        FROM pg_locks l LEFT JOIN errand.sessions() a ON a.pid = l.pid
        WHERE l.locktype = 'relation' AND l.relation = 'errand.jobs'::regclass
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND l.mode = 'RowExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
        """

    // MARK: Lanes

    /// The lanes that have jobs, between pairs of lanes ($1 to $3 and $4 to $6: queues, kinds and
    /// versions).
    package static let lanesBetween = """
        SELECT queue, kind, args_version FROM errand.lanes_between($1, $2, $3, $4, $5, $6)
        """

    /// Those of some lanes ($1 queues, $2 kinds, $3 versions) that have jobs.
    package static let lanesThatHaveJobs = """
        SELECT l.queue, l.kind, l.version
        FROM unnest($1::text[], $2::text[], $3::smallint[]) AS l (queue, kind, version)
        CROSS JOIN LATERAL (
            SELECT FROM errand.jobs j
            WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.version
            LIMIT 1
        ) j
        """

    /// Those of these jobs ($1) that are due and not claimed.
    package static let dueJobs = """
        SELECT id, queue, kind, args_version, priority, run_at FROM errand.jobs
        WHERE id = ANY ($1) AND claimed_by IS NULL AND run_at <= clock_timestamp()
        """

    /// Those of some lanes that have jobs at or after a position of a priority.
    package static let lanesWithJobs = """
        SELECT DISTINCT l.n
        FROM unnest($1::int[], $2::text[], $3::text[], $4::smallint[], $5::smallint[],
                $6::timestamptz[], $7::bigint[])
            AS l (n, queue, kind, version, priority, from_at, from_id)
        WHERE EXISTS (
            SELECT FROM errand.jobs j
            WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.version
              AND j.priority = l.priority AND (j.run_at, j.id) >= (l.from_at, l.from_id))
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
}
