import Errand
package import ErrandPostgres
package import ErrandRedis

/// Bulk actions on jobs and dead letters, and who may run and end them.
package struct Operations: Sendable {
    /// What an operation is to do.
    package struct Request: Sendable {
        package var action: BulkOperation.Action
        /// With the moment up to which jobs are meant (``JobFilter/asOf``).
        package var filter: JobFilter
        package var change = BulkChange()
        package var reason: String?
        package var ratePerSecond: Double?
        /// Not more than so many.
        package var most: Int?
        /// How many there are.
        package var count: JobCount

        package init(action: BulkOperation.Action, filter: JobFilter, count: JobCount) {
            self.action = action
            self.filter = filter
            self.count = count
        }

        /// How many it is to be: exact where the limit is below what was counted.
        package var total: JobCount {
            guard let most, most <= count.count else { return count }
            return JobCount(count: most, isEstimate: false)
        }
    }

    /// How jobs fare that an operation let run again.
    package struct Trial: Sendable {
        /// Those that have failed since, whether they are tried again or not.
        package var failed: Int
        /// Of those, the dead.
        package var died: Int
        /// Those that have not failed, and not ended either.
        package var waiting: Int
        /// Those that have not ended, failed or not.
        package var live: Int
        /// What the last of the failed, or of the dead, failed with.
        package var error: String?
    }

    /// So many jobs are dealt with in one transaction, at most.
    package static let chunk = 1_000

    let session: Session
    let redis: RedisAddress?

    /// The session holds the lock of the operation that it runs, so it is nobody else's.
    ///
    /// - Parameter redis: jobs that leave a queue are taken out of its window there.
    package init(session: Session, redis: RedisAddress? = nil) {
        self.session = session
        self.redis = redis
    }

    /// One operation.
    package func one(_ id: Int64) async throws -> BulkOperation? {
        let sensitive = try await Inspector(session: session).sensitiveNames()
        return try await session.query(Statements.operation, [.int64(id)]).first.map {
            try BulkOperation($0, sensitive: sensitive)
        }
    }

    /// The newest operations, newest first.
    package func list(before: Int64?, limit: Int) async throws -> [BulkOperation] {
        let sensitive = try await Inspector(session: session).sensitiveNames()
        return try await session.query(
            Statements.operations, [.optional(before), .int64(Int64(limit))]
        ).map { try BulkOperation($0, sensitive: sensitive) }
    }

    /// Writes an operation down and takes it in hand; nothing is done yet.
    package func begin(_ request: Request, by operatorName: String) async throws -> Int64 {
        try await session.requireOwnProcess(for: "a bulk operation")
        let sensitive = try await Inspector(session: session).sensitiveNames()
        return try await session.transaction { session in
            var filter = request.filter
            if filter.asOf == nil {
                filter.asOf = try session.query("SELECT clock_timestamp()").timestamp(0, 0)
            }
            let total = request.total
            let change = request.change.isEmpty ? nil : try request.change.json
            if let queue = request.change.queue {
                _ = try session.query(Statements.addQueue, [.text(queue)])
            }
            let last = try session.query(
                Statements.lastID(JobTable.holding(filter)), prepare: false
            ).int64(0, 0)
            let id = try session.query(
                Statements.addOperation,
                [
                    .text(request.action.rawValue), .text(operatorName),
                    .optional(request.reason), .json(try filter.json),
                    .optional(request.ratePerSecond), .int64(Int64(total.count)),
                    .optionalJSON(change), .optional(request.most.map(Int64.init)),
                    .bool(total.isEstimate), .int64(last),
                ]
            ).int64(0, 0)
            _ = try session.query(Statements.holdOperation, [.int64(id)])
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: request.action.rawValue,
                    subject: "op \(id)", reason: request.reason,
                    change: try AuditLine.json(
                        Noted(
                            total: total.count, estimated: total.isEstimate ? true : nil,
                            filter: filter.redacted(sensitive),
                            change: change == nil ? nil : request.change.redacted(sensitive)))
                ).statement)
            return id
        }
    }

    /// What the audit has of an operation.
    private struct Noted: Encodable {
        var total: Int
        var estimated: Bool?
        var filter: JobFilter
        var change: BulkChange?
    }

    /// Takes an operation that has not done all in hand again.
    ///
    /// - Returns: false when somebody runs it; it is then left alone.
    package func resume(
        _ id: Int64, by operatorName: String, reason: String? = nil
    ) async throws -> Bool {
        try await session.requireOwnProcess(for: "a bulk operation")
        guard try await session.query(Statements.holdOperation, [.int64(id)]).bool(0, 0) else {
            return false
        }
        try await session.transaction { session in
            guard try !session.query(Statements.reopenOperation, [.int64(id)]).isEmpty else {
                return
            }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "op resume", subject: "op \(id)",
                    reason: reason
                ).statement)
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

    /// How jobs that were made live again fare.
    package func trial(_ ids: [Int64]) async throws -> Trial {
        let row = try await session.query(Statements.trial, [.int64Array(ids)])[0]
        let failed = try row.optionalInt64("sample")
        var error: String?
        if let failed { error = try await Inspector(session: session).job(failed)?.lastError }
        return Trial(
            failed: Int(try row.int64("failed")), died: Int(try row.int64("died")),
            waiting: Int(try row.int64("waiting")), live: Int(try row.int64("live")), error: error)
    }
}
