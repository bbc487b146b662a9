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
}

extension Inspector {
    /// The days without a partition: among the next `days`, and before the last day that has one.
    package func missingPartitions(days: Int) async throws -> [MissingPartition] {
        try await session.query(Statements.missingPartitions, [.int32(Int32(days))]).map { row in
            MissingPartition(name: try row.text("name"), day: try row.text("day"))
        }
    }

    /// Moves finished jobs out of the default partition, to where they belong.
    ///
    /// - Returns: how many were moved.
    package func refileFinishedJobs() async throws -> Int {
        try await Retention(session: session, log: .silent).refile()
    }

    /// Creates the partition of a day.
    ///
    /// Results are blocked for some milliseconds only: it gives up if a lock is not free at once.
    ///
    /// - Returns: nil if another process has created it meanwhile.
    package func prepare(
        _ missing: MissingPartition, by operatorName: String, reason: String?
    ) async throws -> PreparedPartition? {
        let name = "finished_jobs_" + missing.name
        try await Retention(session: session, log: .silent).begin(missing.day)
        let line = AuditLine(
            operatorName: operatorName, action: "db prepare", subject: name, reason: reason)
        return try await session.transaction { session in
            guard try session.query(Retention.createDay, [.text(missing.day)]).bool(0, 0) else {
                return nil
            }
            _ = try session.query(line.statement)
            return PreparedPartition(table: name, day: missing.day)
        }
    }
}
