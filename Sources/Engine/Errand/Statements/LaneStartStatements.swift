/// The statements that write `errand.lane_starts`.
extension Statements {
    /// Moves the starts of lanes and priorities ($1 to $5) forward, up to the time before which no
    /// row can appear ($6), and returns them; with $7 it looks from the first entry on.
    ///
    /// A start is the first waiting job. It passes running ones, so that a long job does not keep
    /// it back, but at most 100: they are read by their ids.
    package static let moveStarts = """
        WITH place AS (
            SELECT l.n, l.queue, l.kind, l.version, l.priority,
                coalesce(s.run_at, '-infinity') AS run_at, coalesce(s.id, 0) AS id,
                ARRAY(
                    SELECT j.id FROM unnest(s.earlier) AS e (id)
                    CROSS JOIN LATERAL (
                        SELECT * FROM errand.jobs j WHERE j.id = e.id OFFSET 0
                    ) j
                    WHERE (j.queue, j.kind, j.args_version, j.priority)
                        = (l.queue, l.kind, l.version, l.priority)
                      AND (j.run_at, j.id) < (s.run_at, s.id)
                ) AS earlier
            FROM unnest($1::int[], $2::text[], $3::text[], $4::smallint[], $5::smallint[])
                AS l (n, queue, kind, version, priority)
            LEFT JOIN errand.lane_starts s ON NOT $7::boolean AND s.queue = l.queue
                AND s.kind = l.kind AND s.args_version = l.version AND s.priority = l.priority
        ), moved AS MATERIALIZED (
            SELECT p.n, p.queue, p.kind, p.version, p.priority, e.run_at, e.id,
                p.earlier || coalesce(f.passed, '{}') AS earlier
            FROM place p
            CROSS JOIN LATERAL (
                SELECT greatest(101 - cardinality(p.earlier), 1) AS rows
            ) room
            CROSS JOIN LATERAL (
                SELECT min(w.run_at) FILTER (WHERE w.stays) AS run_at,
                    (array_agg(w.id ORDER BY w.run_at, w.id) FILTER (WHERE w.stays))[1] AS id,
                    array_agg(w.id) FILTER (WHERE NOT w.stays) AS passed
                FROM (
                    SELECT j.run_at, j.id, bool_or(j.claimed_by IS NULL) OVER place
                        OR row_number() OVER place >= room.rows AS stays
                    FROM (
                        SELECT j.run_at, j.id, j.claimed_by FROM errand.jobs j
                        WHERE j.queue = p.queue AND j.kind = p.kind AND j.args_version = p.version
                          AND j.priority = p.priority AND (j.run_at, j.id) >= (p.run_at, p.id)
                          AND j.run_at < $6
                        ORDER BY j.run_at, j.id LIMIT room.rows
                    ) j
                    WINDOW place AS (ORDER BY j.run_at, j.id)
                ) w
            ) f
            CROSS JOIN LATERAL (
                SELECT run_at, id FROM (
                    VALUES (f.run_at, f.id), ($6, 0), (p.run_at, p.id)
                ) AS e (run_at, id)
                WHERE run_at IS NOT NULL
                -- The first one that stays, else the later of the two bounds.
                ORDER BY (run_at, id) IS DISTINCT FROM (f.run_at, f.id), run_at DESC, id DESC
                LIMIT 1
            ) e
        ), written AS (
            INSERT INTO errand.lane_starts AS s
            SELECT queue, kind, version, priority, run_at, id, earlier FROM moved
            ON CONFLICT (queue, kind, args_version, priority) DO UPDATE
            SET run_at = excluded.run_at, id = excluded.id, earlier = excluded.earlier
            WHERE (s.run_at, s.id, s.earlier)
                IS DISTINCT FROM (excluded.run_at, excluded.id, excluded.earlier)
        ), present AS (
            -- An operator may have removed a queue at the moment in which a job was enqueued there.
            INSERT INTO errand.queues (name)
            SELECT DISTINCT p.queue FROM place p
            WHERE NOT EXISTS (SELECT FROM errand.queues q WHERE q.name = p.queue)
            ON CONFLICT DO NOTHING
        )
        SELECT n, run_at, id FROM moved
        """

    /// Whether many entries of finished jobs are left, for example because a transaction holds a
    /// snapshot.
    private static let manyDeadJobs =
        "(pg_stat_get_dead_tuples('errand.jobs'::regclass) >= 50000)"
    static let hasManyDeadJobs = "SELECT \(manyDeadJobs)"

    /// Deletes the starts of all but some lanes ($1 to $3), unless many entries of finished jobs
    /// are left: then the starts of lanes without jobs save much.
    ///
    /// It also deletes those in the future: the clock was set back.
    package static let forgetStarts = """
        DELETE FROM errand.lane_starts s
        WHERE s.run_at > clock_timestamp()
           OR NOT \(manyDeadJobs)
              AND (s.queue, s.kind, s.args_version) NOT IN (
                SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[]))
        """
}
