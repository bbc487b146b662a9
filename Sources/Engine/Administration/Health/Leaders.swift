package import Errand
package import ErrandPostgres

/// Who leads in one thing, and who could.
package struct LeadRecord: Sendable {
    package var lead: Lead
    /// The server's process of the session that holds the lock; nil when nobody leads.
    package var backend: Int?
    /// Who signed for the lead: a worker, or another program.
    package var worker: Int64?
    package var host: String?
    package var pid: Int?
    package var takenAt: Instant?
    /// When it was asked to let go.
    package var askedAt: Instant?
    package var lastSeenAt: Instant?
    /// Whether the worker's lease runs; nil when it is not in the list of workers.
    package var isAlive: Bool?
    /// Workers that are alive and wait for the lock.
    package var standbys: [Int64] = []

    init(_ lead: Lead, _ row: Row) throws {
        self.lead = lead
        backend = try row.optionalInt32("backend").map(Int.init)
        worker = try row.optionalInt64("worker")
        host = try row.optionalText("host")
        pid = try row.optionalInt32("pid").map(Int.init)
        takenAt = try row.optionalTimestamp("taken_at")
        askedAt = try row.optionalTimestamp("resign_asked_at")
        lastSeenAt = try row.optionalTimestamp("last_seen_at")
        isAlive = try row.optionalBool("is_alive")
    }

    /// Reads all leads, without the standbys.
    static var statement: Statement {
        let leads = Lead.allCases
        return Statement(
            Statements.leaders,
            [.textArray(leads.map(\.rawValue)), .int64Array(leads.map(\.lock))])
    }

    static func records(_ rows: Rows) throws -> [LeadRecord] {
        var records: [LeadRecord] = []
        for row in rows {
            guard let lead = Lead(rawValue: try row.text("lead")) else { continue }
            records.append(try LeadRecord(lead, row))
        }
        return records
    }
}

extension Inspector {
    /// Who leads in what.
    package func leaders() async throws -> [LeadRecord] {
        var records = try LeadRecord.records(await session.query(LeadRecord.statement))
        for place in records.indices {
            records[place].standbys = try await session.query(
                Statements.standbys, [.text(records[place].lead.sessionName)]
            ).map { try $0.int64("id") }.filter { $0 != records[place].worker }
        }
        return records
    }

    /// Asks the leader to let go; false when it leads no more, or takes no orders.
    package func askToResign(
        _ record: LeadRecord, by operatorName: String, reason: String?
    ) async throws -> Bool {
        guard let backend = record.backend, let worker = record.worker else { return false }
        return try await session.transaction { session in
            let asked = try session.query(
                Statements.askToResign,
                [.text(record.lead.rawValue), .int32(Int32(backend))])
            guard !asked.isEmpty else { return false }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "leader resign",
                    subject: record.lead.rawValue, reason: reason,
                    change: try AuditLine.json(["worker": worker])
                ).statement)
            return true
        }
    }
}
