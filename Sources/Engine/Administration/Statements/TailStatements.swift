import Errand
extension Statements {
    /// The parts of the history, with their sizes in blocks.
    static let historyParts = """
        SELECT c.relname::text AS name,
            pg_relation_size(c.oid) / current_setting('block_size')::bigint AS blocks,
            clock_timestamp() AS now
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'errand.finished_jobs'::regclass
          AND c.relname ~ '^(dead_jobs|finished_jobs_[a-z0-9]+)$'
        ORDER BY c.relname
        """

    /// Jobs that have ended since $1, of queue $2 and kind $3 unless null, in the last blocks of
    /// each part: rows are only ever added at its end.
    ///
    /// The dead letters, from which rows are taken too, have an index by time.
    static func newlyEnded(_ parts: [(name: String, block: Int64)]) -> String {
        parts.map { name, block in
            let place = name == "dead_jobs" ? "true" : "ctid >= '(\(block),0)'::tid"
            return """
                SELECT \(finishedColumns) FROM errand.\(name)
                WHERE \(place) AND finished_at >= $1 AND ($2::text IS NULL OR queue = $2)
                  AND ($3::text IS NULL OR kind = $3)
                """
        }.joined(separator: "\nUNION ALL\n") + "\nORDER BY finished_at, id"
    }
}
