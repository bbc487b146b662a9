import Errand
import ErrandPostgres

/// A day that finished jobs are kept until, which has no partition.
package struct MissingPartition: Sendable {
    /// As its partition's name ends, such as 20261124.
    package var name: String
    /// Such as 2026-11-24.
    package var day: String
}

/// A day's partition that was made now.
package struct PreparedPartition: Sendable {
    package var table: String
    package var day: String
    /// Finished jobs of that day that lay in the partition for all others.
    package var moved: Int
}

extension Inspector {
    /// The days that have no partition: of the next `days`, and those before the last that has.
    package func missingPartitions(days: Int) async throws -> [MissingPartition] {
        try await session.query(Statements.missingPartitions, [.int32(Int32(days))]).map { row in
            MissingPartition(name: try row.text("name"), day: try row.text("day"))
        }
    }

    private struct Change: Encodable {
        var moved: Int
    }

    /// Makes the partition of a day, with the jobs of that day that lie where all others do.
    ///
    /// The leader's own preparing leaves such a day out. For as long as it takes, workers that end
    /// jobs which go to no other partition wait; it waits for locks only shortly itself.
    ///
    /// - Returns: nil when somebody else has made it meanwhile.
    package func prepare(
        _ missing: MissingPartition, by operatorName: String, reason: String?
    ) async throws -> PreparedPartition? {
        // Digits of PostgreSQL's own making.
        let name = "finished_jobs_" + missing.name.filter(\.isNumber)
        let day = missing.name.filter(\.isNumber)
        return try await session.transaction { session in
            for statement in [
                "SET LOCAL lock_timeout = '3s'",
                "LOCK TABLE errand.finished_jobs IN SHARE UPDATE EXCLUSIVE MODE",
            ] {
                _ = try session.query(statement, prepare: false)
            }
            let isThere = try session.query(
                "SELECT to_regclass('errand.\(name)') IS NOT NULL", prepare: false
            ).bool(0, 0)
            guard !isThere else { return nil }
            for statement in [
                "LOCK TABLE errand.finished_jobs_other IN ACCESS EXCLUSIVE MODE",
                "CREATE TABLE errand.\(name) (LIKE errand.finished_jobs INCLUDING ALL)",
            ] {
                _ = try session.query(statement, prepare: false)
            }
            let moved = try session.query(
                """
                WITH gone AS (
                    DELETE FROM errand.finished_jobs_other
                    WHERE keep_until = '\(day)'::date RETURNING *
                ), kept AS (INSERT INTO errand.\(name) SELECT * FROM gone)
                SELECT count(*) FROM gone
                """, prepare: false
            ).int64(0, 0)
            _ = try session.query(
                """
                ALTER TABLE errand.finished_jobs ATTACH PARTITION errand.\(name)
                FOR VALUES FROM ('\(day)') TO ('\(day)'::date + 1)
                """, prepare: false)
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "db prepare", subject: name,
                    reason: reason, change: try AuditLine.json(Change(moved: Int(moved)))
                ).statement)
            return PreparedPartition(table: name, day: missing.day, moved: Int(moved))
        }
    }
}
