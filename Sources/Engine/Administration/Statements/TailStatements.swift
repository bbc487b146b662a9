import Errand
extension Statements {
    /// The partitions of finished jobs, with their sizes in blocks.
    static let historyParts = """
        SELECT c.relname::text AS name,
            pg_relation_size(c.oid) / current_setting('block_size')::bigint AS blocks,
            clock_timestamp() AS now
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'errand.finished_jobs'::regclass
          AND c.relname ~ '^(dead_jobs|finished_jobs_[a-z0-9]+)$'
        ORDER BY c.relname
        """

    /// Jobs finished since $1, of queue $2 and kind $3 unless null, in the last blocks of each
    /// partition: new rows are only appended.
    ///
    /// The partition of dead letters, which also loses rows, has an index on time.
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
