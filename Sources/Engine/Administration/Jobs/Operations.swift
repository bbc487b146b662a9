import Errand
package import ErrandPostgres
package import ErrandRedis

/// Creates, runs, resumes and ends bulk operations on jobs and dead letters.
package struct Operations: Sendable {
    /// The parameters of an operation.
    package struct Request: Sendable {
        package var action: BulkOperation.Action
        /// The filter; ``JobFilter/asOf`` excludes jobs that finish later.
        package var filter: JobFilter
        package var change = BulkChange()
        package var reason: String?
        package var ratePerSecond: Double?
        /// The maximum number of jobs.
        package var maxJobs: Int?
        /// The number of matching jobs.
        package var count: JobCount

        package init(action: BulkOperation.Action, filter: JobFilter, count: JobCount) {
            self.action = action
            self.filter = filter
            self.count = count
        }

        /// The expected number of jobs: exact if the maximum is below the count.
        package var total: JobCount {
            guard let maxJobs, maxJobs <= count.count else { return count }
            return JobCount(count: maxJobs, isEstimate: false)
        }
    }

    /// The results of jobs since an operation has retried them.
    package struct Trial: Sendable {
        /// Jobs that have failed since, whether or not they will be retried.
        package var failed: Int
        /// Of those, the dead jobs.
        package var died: Int
        /// Jobs that have neither failed nor finished.
        package var waiting: Int
        /// Jobs that have not finished, whether or not they have failed.
        package var live: Int
        /// The error of the last dead job or, if none died, of the last failed one.
        package var error: String?
    }

    /// The maximum number of jobs per transaction.
    package static let chunk = 1_000

    let session: Session
    let redis: RedisAddress?

    /// Creates the operations of a session, which must not be shared: it holds the operation that
    /// it runs.
    ///
    /// - Parameter redis: where to remove moved jobs from their old windows.
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

    /// The operations, the newest first.
    package func list(before: Int64?, limit: Int) async throws -> [BulkOperation] {
        let sensitive = try await Inspector(session: session).sensitiveNames()
        return try await session.query(
            Statements.operations, [.optional(before), .int64(Int64(limit))]
        ).map { try BulkOperation($0, sensitive: sensitive) }
    }

    /// Stores an operation for this session to run; does not process any job yet.
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
                    .optionalJSON(change), .optional(request.maxJobs.map(Int64.init)),
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

    /// The change in the audit entry of an operation.
    private struct Noted: Encodable {
        var total: Int
        var estimated: Bool?
        var filter: JobFilter
        var change: BulkChange?
    }

    /// Takes an unfinished operation over and reopens it.
    ///
    /// - Returns: false if another process runs it.
    package func resume(
        _ id: Int64, by operatorName: String, reason: String? = nil
    ) async throws -> Bool {
        try await session.requireOwnProcess(for: "a bulk operation")
        guard try await !session.query(Statements.holdOperation, [.int64(id)]).isEmpty else {
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

    /// Cancels an unfinished operation; its process stops after the current chunk.
    ///
    /// - Returns: false if it had already ended.
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

    /// Ends an operation as failed, because its jobs failed again.
    package func fail(_ id: Int64, note: String) async throws {
        _ = try await session.query(
            Statements.endOperation, [.int64(id), .text("failed"), .text(note)])
    }

    /// The results of jobs since they were retried.
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
