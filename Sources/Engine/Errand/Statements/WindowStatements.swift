extension Statements {
    /// The lanes of live workers, and whether one of these is the feeder.
    package static let lanesToCheck = """
        SELECT DISTINCT q.name, k.kind
        FROM errand.workers w
        CROSS JOIN LATERAL jsonb_object_keys(w.queues) AS q (name)
        CROSS JOIN LATERAL unnest(w.kinds) AS k (kind)
        WHERE w.last_seen_at >= clock_timestamp() - make_interval(secs => w.lease_seconds)
        ORDER BY 1, 2
        """

    /// Those of these ids that wait.
    ///
    /// A window must not keep others for long.
    package static let stillWaiting = """
        SELECT id FROM errand.jobs WHERE id = ANY ($1) AND claimed_by IS NULL
        """

    /// The first waiting jobs of lanes ($1 queues, $2 kinds, $3 versions) that have been due for $4
    /// seconds, up to $5 of each priority.
    package static let dueLongest = """
        SELECT l.n, j.id, p.priority::smallint AS priority
        FROM unnest($1::text[], $2::text[], $3::smallint[]) WITH ORDINALITY
            AS l (queue, kind, version, n)
        CROSS JOIN generate_series(0, 3) AS p (priority)
        CROSS JOIN LATERAL (
            SELECT j.id FROM errand.jobs j
            WHERE j.queue = l.queue AND j.kind = l.kind AND j.args_version = l.version
              AND j.priority = p.priority::smallint AND j.claimed_by IS NULL
              AND j.run_at <= clock_timestamp() - make_interval(secs => $4)
            ORDER BY j.run_at, j.id LIMIT $5
        ) j
        """
}
