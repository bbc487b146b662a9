extension Statements {
    // MARK: Workers

    /// What worker $1 was asked to do, and in what it is to let go of the lead: the lead, and
    /// which session signed for it.
    package static let orders = """
        SELECT asked, asked_at, asked_by, asked_reason,
            ARRAY(SELECT lead || ' ' || backend FROM errand.leads l
                WHERE l.worker = w.id AND l.resign_asked_at IS NOT NULL) AS resign
        FROM errand.workers w WHERE id = $1
        """

    /// Asks workers ($1) that are alive for $2; null takes back what was asked.
    ///
    /// One that was asked to stop does not come back from it.
    package static let orderWorkers = """
        UPDATE errand.workers
        SET asked = $2, asked_by = CASE WHEN $2 IS NOT NULL THEN $3 END,
            asked_at = CASE WHEN $2 IS NOT NULL THEN clock_timestamp() END,
            asked_reason = CASE WHEN $2 IS NOT NULL THEN $4 END
        WHERE id = ANY ($1) AND (asked IS DISTINCT FROM 'stop' OR $2 = 'stop')
          AND last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        RETURNING id, pg_notify('errand_control', 'worker ' || id)::text
        """

    /// Asks a worker for a beat now.
    package static let askForBeat =
        "SELECT pg_notify('errand_control', 'beat ' || $1::bigint)::text"

    /// Of the jobs ($1) that worker $2 has reported, those that it still runs.
    package static let runningOf = """
        SELECT id, kind, queue, attempt, claimed_at FROM errand.jobs
        WHERE id = ANY ($1) AND claimed_by = $2 ORDER BY claimed_at, id
        """

    // MARK: Leads

    /// Signs for lead $1 with worker $2 on host $3, process $4.
    package static let signLead = """
        INSERT INTO errand.leads (lead, worker, host, pid, backend)
        VALUES ($1, $2, $3, $4, pg_backend_pid())
        ON CONFLICT (lead) DO UPDATE
        SET worker = excluded.worker, host = excluded.host, pid = excluded.pid,
            backend = excluded.backend, taken_at = clock_timestamp(), resign_asked_at = NULL
        RETURNING lead || ' ' || backend
        """

    /// Who holds the locks ($2) of the leads ($1), as their sessions and signatures say.
    package static let leaders = """
        SELECT n.lead, k.pid AS backend, l.worker, l.host, l.pid, l.taken_at, l.resign_asked_at,
            w.last_seen_at,
            w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
                AS is_alive
        FROM unnest($1::text[], $2::bigint[]) AS n (lead, key)
        LEFT JOIN pg_locks k ON k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
            AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND k.classid::bigint = n.key >> 32 AND k.objid::bigint = n.key & 4294967295
        LEFT JOIN errand.leads l ON l.lead = n.lead AND l.backend = k.pid
        LEFT JOIN errand.workers w ON w.id = l.worker
        ORDER BY n.lead
        """

    /// Workers with a session of that name ($1, and the worker's number) that are alive.
    package static let standbys = """
        SELECT w.id FROM errand.workers w
        WHERE w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
          AND EXISTS (
            SELECT FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.application_name = $1 || ' ' || w.id)
        ORDER BY w.id
        """

    /// Asks the holder of lead $1 to let go, if it is the one that holds the lock ($2).
    package static let askToResign = """
        UPDATE errand.leads SET resign_asked_at = clock_timestamp()
        WHERE lead = $1 AND backend = $2 AND worker IS NOT NULL
        RETURNING pg_notify('errand_control', 'resign ' || lead)::text
        """
}
