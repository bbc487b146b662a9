package import Postgres
import FoundationEssentials

/// One bulk action on dead letters: what it is to do, and how far it has come.
package struct BulkOperation: Sendable {
    package enum Action: String, Sendable {
        case redrive, discard
    }

    package enum State: String, Sendable {
        case running, done, cancelled, failed
        /// It should run, and nobody runs it: `op resume` does.
        case interrupted
    }

    package var id: Int64
    package var action: Action
    package var operatorName: String
    package var reason: String?
    package var startedAt: Instant
    package var endedAt: Instant?
    /// JSON.
    package var filter: [UInt8]
    package var ratePerSecond: Double?
    package var total: Int
    package var done: Int
    package var state: State
    /// Why it was cancelled or failed.
    package var note: String?

    init(_ row: Row) throws {
        id = try row.int64("id")
        action = Action(rawValue: try row.text("action")) ?? .redrive
        operatorName = try row.text("operator")
        reason = try row.optionalText("reason")
        startedAt = try row.timestamp("started_at")
        endedAt = try row.optionalTimestamp("ended_at")
        filter = try row.json("filter")
        ratePerSecond = try row.optionalDouble("rate_per_s")
        total = Int(try row.int64("total"))
        done = Int(try row.int64("done"))
        state = State(rawValue: try row.text("state")) ?? .running
        note = try row.optionalText("note")
    }
}

/// Bulk actions on dead letters, and who may run and end them.
package struct Operations: Sendable {
    /// What an operation is to do.
    package struct Request: Sendable {
        package var action: BulkOperation.Action
        /// With the moment up to which letters are meant (``JobFilter/asOf``).
        package var filter: JobFilter
        package var reason: String?
        package var ratePerSecond: Double?
        /// Not more than so many.
        package var most: Int?

        package init(action: BulkOperation.Action, filter: JobFilter) {
            self.action = action
            self.filter = filter
        }
    }

    /// How the first letters of a redrive fare.
    package struct Trial: Sendable {
        package var failed: Int
        package var waiting: Int
        package var error: String?
    }

    /// So many letters are dealt with in one transaction, at most.
    package static let chunk = 500

    private let session: Session

    /// The session holds the lock of the operation that it runs, so it is nobody else's.
    package init(session: Session) { self.session = session }

    /// One operation.
    package func one(_ id: Int64) async throws -> BulkOperation? {
        try await session.query(Statements.operation, [.int64(id)]).first.map(BulkOperation.init)
    }

    /// The newest operations, newest first.
    package func list(before: Int64?, limit: Int) async throws -> [BulkOperation] {
        try await session.query(
            Statements.operations, [.optional(before), .int64(Int64(limit))]
        ).map(BulkOperation.init)
    }

    /// Writes an operation down and takes it in hand; nothing is done yet.
    package func begin(_ request: Request, by operatorName: String) async throws -> Int64 {
        try await session.transaction { session in
            var filter = request.filter
            if filter.asOf == nil {
                filter.asOf = try session.query("SELECT clock_timestamp()").timestamp(0, 0)
            }
            let count = try session.query(Inspector.countOfDead(filter), prepare: false).int64(0, 0)
            let total = min(Int(count), request.most ?? Int.max)
            let json = try AuditLine.json(filter)
            let id = try session.query(
                Statements.addOperation,
                [
                    .text(request.action.rawValue), .text(operatorName),
                    .optional(request.reason), .json(json), .optional(request.ratePerSecond),
                    .int64(Int64(total)),
                ]
            ).int64(0, 0)
            _ = try session.query(Statements.holdOperation, [.int64(id)])
            let change = Array("{\"total\":\(total),\"filter\":".utf8) + json + Array("}".utf8)
            let line = AuditLine(
                operatorName: operatorName, action: "dead \(request.action.rawValue)",
                subject: "op \(id)", reason: request.reason, change: change)
            _ = try session.query(line.statement)
            return id
        }
    }

    /// Takes an operation that has not done all in hand again.
    ///
    /// - Returns: false when somebody runs it; it is then left alone.
    package func resume(_ id: Int64, by operatorName: String) async throws -> Bool {
        guard try await session.query(Statements.holdOperation, [.int64(id)]).bool(0, 0) else {
            return false
        }
        try await session.transaction { session in
            guard try !session.query(Statements.reopenOperation, [.int64(id)]).isEmpty else {
                return
            }
            _ = try session.query(
                AuditLine(operatorName: operatorName, action: "op resume", subject: "op \(id)")
                    .statement)
        }
        return true
    }

    /// Ends an operation that is not done; whoever runs it stops after the chunk under way.
    ///
    /// - Returns: false when it had ended.
    package func cancel(
        _ id: Int64, by operatorName: String, reason: String?
    ) async throws -> Bool {
        try await session.transaction { session in
            let note = "cancelled by \(operatorName)" + (reason.map { ": \($0)" } ?? "")
            let ended = try session.query(
                Statements.endOperation, [.int64(id), .text("cancelled"), .text(note)])
            guard !ended.isEmpty else { return false }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "op cancel", subject: "op \(id)",
                    reason: reason
                ).statement)
            return true
        }
    }

    /// Ends an operation because what it did went wrong again.
    package func fail(_ id: Int64, note: String) async throws {
        _ = try await session.query(
            Statements.endOperation, [.int64(id), .text("failed"), .text(note)])
    }

    /// Deals with the next letters in one transaction; ends the operation when there are no more.
    ///
    /// - Returns: the ids of those that it dealt with: none when all is done, or when somebody
    ///   has ended the operation.
    package func step(_ id: Int64, atMost limit: Int) async throws -> [Int64] {
        try await session.transaction { session in
            guard let row = try session.query(Statements.lockOperation, [.int64(id)]).first,
                try row.text("state") == "running"
            else { return [] }
            let (total, done) = (try row.int64("total"), try row.int64("done"))
            let filter = try JSONDecoder().decode(
                JobFilter.self, from: Data(try row.json("filter")))
            let room = min(Int64(min(limit, Self.chunk)), total - done)
            let found =
                room > 0
                ? try session.query(
                    Self.next(filter, after: try row.int64("cursor"), limit: room),
                    prepare: false
                ).map { try $0.int64(0) } : []
            guard let last = found.last else {
                _ = try session.query(
                    Statements.endOperation, [.int64(id), .text("done"), .null])
                return []
            }
            let isDiscard = try row.text("action") == BulkOperation.Action.discard.rawValue
            let dealtWith = try session.query(
                isDiscard ? Statements.discard : Statements.redrive, [.int64Array(found)]
            ).map { try $0.int64(0) }
            _ = try session.query(
                Statements.advanceOperation,
                [.int64(id), .int64(Int64(dealtWith.count)), .int64(last)])
            if done + Int64(dealtWith.count) >= total {
                _ = try session.query(
                    Statements.endOperation, [.int64(id), .text("done"), .null])
            }
            return dealtWith
        }
    }

    /// The next letters in the order of their ids; those that somebody else acts on are left out,
    /// and so are those that died after the operation was asked for.
    private static func next(
        _ filter: JobFilter, after cursor: Int64, limit: Int64
    ) throws -> Statement {
        var conditions = JobConditions()
        var clauses = try conditions.clauses(filter, .dead)
        clauses.append("id > \(conditions.placeholder(.int64(cursor)))")
        let most = conditions.placeholder(.int64(limit))
        return Statement(
            """
            SELECT id FROM errand.dead_jobs WHERE \(JobConditions.joined(clauses))
            ORDER BY id LIMIT \(most) FOR UPDATE SKIP LOCKED
            """, conditions.parameters)
    }

    /// How jobs that were made live again fare.
    package func trial(_ ids: [Int64]) async throws -> Trial {
        let row = try await session.query(Statements.trial, [.int64Array(ids)])[0]
        return Trial(
            failed: Int(try row.int64("failed")), waiting: Int(try row.int64("waiting")),
            error: try row.optionalText("error"))
    }
}
