import Errand
/// The queries of `errand status`, except those of queues.
extension Statements {
    /// The numbers of workers by state, and the ids of the five with the oldest heartbeats.
    static let workerCounts = """
        SELECT count(*) FILTER (WHERE is_alive) AS alive,
            count(*) FILTER (WHERE NOT is_alive) AS unresponsive,
            count(*) FILTER (WHERE is_alive AND stopping) AS stopping,
            coalesce((array_agg(id ORDER BY last_seen_at) FILTER (WHERE NOT is_alive))[1:5], '{}')
                AS unresponsive_ids
        FROM (
            SELECT id, last_seen_at, stopping,
                last_seen_at >= clock_timestamp() - make_interval(secs => lease_seconds)
                    AS is_alive
            FROM errand.workers
        ) w
        """

    /// Dead letters of the last hour, counted up to 10,000.
    static let deadLastHour = """
        SELECT count(*) AS dead FROM (
            SELECT FROM errand.dead_jobs
            WHERE finished_at > now() - interval '1 hour' LIMIT 10000
        ) d
        """

    /// The oldest transaction of a client of this database; hidden sessions have no start time.
    static func oldestTransaction(_ source: SessionSource) -> String {
        """
        SELECT a.pid, coalesce(a.application_name, '') AS application,
            extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds
        FROM \(source.sessions) a
        WHERE a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid()
        ORDER BY a.xact_start LIMIT 1
        """
    }
}
