import Errand
import ErrandPostgres

/// A missing partition of finished jobs: those that retention deletes on one day.
package struct MissingPartition: Sendable {
    /// The suffix of the partition's name, such as 20261124.
    package var name: String
    /// The day, such as 2026-11-24.
    package var day: String
}

/// A partition of finished jobs that was created.
package struct PreparedPartition: Sendable {
    package var table: String
    package var day: String
    /// The number of finished jobs moved there from the default partition.
    package var moved: Int
}

extension Inspector {
    /// The days without a partition: among the next `days`, and before the last day that has one.
    package func missingPartitions(days: Int) async throws -> [MissingPartition] {
        try await session.query(Statements.missingPartitions, [.int32(Int32(days))]).map { row in
            MissingPartition(name: try row.text("name"), day: try row.text("day"))
        }
    }

    private struct Change: Encodable {
        var moved: Int
    }

    /// Creates the partition of a day, and moves its jobs there from the default partition.
    ///
    /// The feeder does not create partitions for days with jobs in the default partition.
    /// Meanwhile workers block that finish jobs of the default partition; its own wait for locks
    /// is short.
    ///
    /// - Returns: nil if another process has created it meanwhile.
    package func prepare(
        _ missing: MissingPartition, by operatorName: String, reason: String?
    ) async throws -> PreparedPartition? {
        // Only digits, formatted by PostgreSQL.
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
