package import Errand
package import ErrandPostgres

/// The leader of one role and its standbys.
package struct LeaderRecord: Sendable {
    package var role: Role
    /// The PostgreSQL backend that holds the role; nil without a leader.
    package var backend: Int?
    /// The worker that is the leader; nil if the leader is another program.
    package var worker: Int64?
    package var host: String?
    package var pid: Int?
    package var takenAt: Instant?
    /// When an operator asked it to resign.
    package var resignRequestedAt: Instant?
    package var lastSeenAt: Instant?
    /// Whether the worker's lease is valid; nil if the worker is not registered.
    package var isAlive: Bool?
    /// The live workers that are candidates.
    package var standbys: [Int64] = []

    init(_ role: Role, _ row: Row) throws {
        self.role = role
        backend = try row.optionalInt32("backend").map(Int.init)
        worker = try row.optionalInt64("worker")
        host = try row.optionalText("host")
        pid = try row.optionalInt32("pid").map(Int.init)
        takenAt = try row.optionalTimestamp("taken_at")
        resignRequestedAt = try row.optionalTimestamp("resign_requested_at")
        lastSeenAt = try row.optionalTimestamp("last_seen_at")
        isAlive = try row.optionalBool("is_alive")
    }

    /// Reads all leaders, without their standbys.
    static var statement: Statement {
        Statement(Statements.leaders, [.textArray(Role.allCases.map(\.rawValue))])
    }

    static func records(_ rows: Rows) throws -> [LeaderRecord] {
        var records: [LeaderRecord] = []
        for row in rows {
            guard let role = Role(rawValue: try row.text("role")) else { continue }
            records.append(try LeaderRecord(role, row))
        }
        return records
    }
}

extension Inspector {
    /// The leaders of all roles, with their standbys.
    package func leaders() async throws -> [LeaderRecord] {
        var records = try LeaderRecord.records(await session.query(LeaderRecord.statement))
        for place in records.indices {
            records[place].standbys = try await session.query(
                Statements.standbys, [.text(records[place].role.rawValue)]
            ).map { try $0.int64("id") }.filter { $0 != records[place].worker }
        }
        return records
    }

    /// Asks the leader to resign; false if it is no longer the leader, or is not a worker.
    package func askToResign(
        _ record: LeaderRecord, by operatorName: String, reason: String?
    ) async throws -> Bool {
        guard let backend = record.backend, let worker = record.worker else { return false }
        return try await session.transaction { session in
            let asked = try session.query(
                Statements.askToResign,
                [.text(record.role.rawValue), .int32(Int32(backend))])
            guard !asked.isEmpty else { return false }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "leader resign",
                    subject: record.role.rawValue, reason: reason,
                    change: try AuditLine.json(["worker": worker])
                ).statement)
            return true
        }
    }
}
