extension Statements {
    // MARK: Workers

    /// The command for worker $1, and the signatures of the roles from which it must step down.
    package static let receivedCommands = """
        SELECT command, command_at, command_by, command_reason,
            ARRAY(SELECT role || ' ' || backend FROM errand.leaders l
                WHERE l.worker = w.id AND l.resign_requested_at IS NOT NULL) AS resign
        FROM errand.workers w WHERE id = $1
        """

    /// Sends the command $2 to live workers ($1); null withdraws the command.
    ///
    /// A stop cannot be withdrawn.
    package static let orderWorkers = """
        UPDATE errand.workers
        SET command = $2, command_by = CASE WHEN $2 IS NOT NULL THEN $3 END,
            command_at = CASE WHEN $2 IS NOT NULL THEN clock_timestamp() END,
            command_reason = CASE WHEN $2 IS NOT NULL THEN $4 END
        WHERE id = ANY ($1) AND (command IS DISTINCT FROM 'stop' OR $2 = 'stop')
          AND last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        RETURNING id, pg_notify('errand_control', 'worker ' || id)::text
        """

    /// Requests a heartbeat of a worker now.
    package static let requestHeartbeat =
        "SELECT pg_notify('errand_control', 'beat ' || $1::bigint)::text"

    /// Those of the jobs ($1) reported by worker $2 that it still runs.
    package static let runningOf = """
        SELECT id, kind, queue, attempt, claimed_at FROM errand.jobs
        WHERE id = ANY ($1) AND claimed_by = $2 ORDER BY claimed_at, id
        """

    // MARK: Roles

    /// Makes worker $2 on host $3, process $4, the holder of role $1 until this session ends, and
    /// returns its signature; no row if another one holds it.
    package static let takeLeadership = """
        INSERT INTO errand.leaders AS l (role, worker, host, pid, backend, backend_started)
        SELECT $1, $2, $3, $4, a.pid, a.backend_start
        FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()
        ON CONFLICT (role) DO UPDATE
        SET worker = excluded.worker, host = excluded.host, pid = excluded.pid,
            backend = excluded.backend, backend_started = excluded.backend_started,
            taken_at = clock_timestamp(), resign_requested_at = NULL
        WHERE NOT errand.is_led(l)
        RETURNING role || ' ' || backend
        """

    /// Whether somebody holds role $1.
    package static let isLed = """
        SELECT EXISTS (SELECT FROM errand.leaders l WHERE l.role = $1 AND errand.is_led(l))
        """

    /// Terminates the session that holds role $1 and has sent no query for $2 seconds.
    ///
    /// Only sessions of the same login show their state, and may be terminated.
    package static let endUnresponsiveLeader = """
        SELECT pg_terminate_backend(a.pid)
        FROM errand.leaders l
        JOIN pg_stat_activity a ON a.pid = l.backend AND a.backend_start = l.backend_started
        WHERE l.role = $1 AND a.usename = current_user AND a.state LIKE 'idle%'
          AND a.state_change < clock_timestamp() - make_interval(secs => $2)
        """

    /// The holders of the roles $1.
    package static let leaders = """
        SELECT n.role, l.backend, l.worker, l.host, l.pid, l.taken_at, l.resign_requested_at,
            w.last_seen_at,
            w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
                AS is_alive
        FROM unnest($1::text[]) AS n (role)
        LEFT JOIN errand.leaders l ON l.role = n.role AND errand.is_led(l)
        LEFT JOIN errand.workers w ON w.id = l.worker
        ORDER BY n.role
        """

    /// The live workers that are candidates for role $1.
    package static let standbys = """
        SELECT id FROM errand.workers
        WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
          AND $1 = ANY (roles) AND NOT stopping
        ORDER BY id
        """

    /// Asks the holder of role $1 to step down if it still is the session $2.
    package static let askToResign = """
        UPDATE errand.leaders SET resign_requested_at = clock_timestamp()
        WHERE role = $1 AND backend = $2 AND worker IS NOT NULL
        RETURNING pg_notify('errand_control', 'resign ' || role)::text
        """
}
