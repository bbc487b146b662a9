extension Statements {
    /// Those of the lanes with jobs and of the given ones ($1 queues, $2 kinds, $3 versions) that
    /// a live worker can run.
    package static let lanesToCheck = """
        WITH alive AS MATERIALIZED (
            SELECT DISTINCT queues, kinds FROM errand.workers
            WHERE last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
        )
        SELECT l.queue, l.kind, l.version FROM (
            SELECT queue, kind, args_version AS version FROM errand.lanes WHERE priority = 0
            UNION
            SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[])
        ) l
        WHERE EXISTS (
            SELECT FROM alive a WHERE l.kind || '@' || l.version = ANY (a.kinds)
              AND errand.serving(a.queues, l.queue) IS NOT NULL)
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
        SELECT l.n, j.id, s.priority
        FROM unnest($1::text[], $2::text[], $3::smallint[]) WITH ORDINALITY
            AS l (queue, kind, version, n)
        JOIN errand.lanes s ON s.queue = l.queue AND s.kind = l.kind AND s.args_version = l.version
        CROSS JOIN LATERAL errand.lane_jobs(
            s, $5, clock_timestamp() - make_interval(secs => $4), waiting => true) j
        """
}
