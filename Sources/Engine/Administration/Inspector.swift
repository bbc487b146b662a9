package import Errand
package import ErrandPostgres

/// What operators see of the queues, and what they may do to them.
package struct Inspector: Sendable {
    /// What became of a job that an operator acted on.
    package enum Effect: String, Sendable {
        /// It waited, and has ended.
        case cancelled
        /// It runs; its worker was told.
        case asked = "cancel requested"
        /// It waits, and is as it was asked to be.
        case changed
        /// It waited or was dead, and has ended for good.
        case discarded
        /// It waits to be run now.
        case retried
        /// It had already ended.
        case finished = "already finished"
        /// It is running: nothing to retry yet.
        case running
        /// There is no such job.
        case unknown
    }

    let session: Session
    /// Whether sensitive values may be seen (``revealing(_:)``).
    let reveals: Bool

    package init(session: Session) {
        self.session = session
        reveals = false
    }

    /// An inspector that shows what is otherwise redacted; who asked for it is in the audit
    /// before anything can be seen.
    package func revealing(_ look: Reveal) async throws -> Inspector {
        let sensitive = try await sensitiveNames()
        let filter = try look.filter.map { try $0.redacted(sensitive).json }
        _ = try await session.query(
            AuditLine(
                operatorName: look.operatorName, action: look.command + " --reveal",
                subject: look.subject, reason: look.reason, change: filter
            ).statement)
        return Inspector(session: session, reveals: true)
    }

    private init(session: Session, reveals: Bool) {
        self.session = session
        self.reveals = reveals
    }

    /// Who wants to see sensitive values, and of which jobs.
    package struct Reveal: Sendable {
        package var operatorName: String
        package var reason: String?
        /// As it is called.
        package var command: String
        package var subject: String
        package var filter: JobFilter?

        package init(
            by operatorName: String, reason: String?, command: String, subject: String,
            filter: JobFilter? = nil
        ) {
            self.operatorName = operatorName
            self.reason = reason
            self.command = command
            self.subject = subject
            self.filter = filter
        }
    }

    /// One job, live or finished.
    package func job(_ id: Int64) async throws -> JobRecord? {
        try await session.query(Statements.job, [.int64(id)]).first.map(record)
    }

    /// One page of the jobs that pass a filter, the newest first unless it says otherwise.
    package func jobs(_ filter: JobFilter) async throws -> [JobRecord] {
        guard let statement = try JobConditions.page(filter) else { return [] }
        return try await session.query(statement, prepare: false).map(record)
    }

    private func record(_ row: Row) throws -> JobRecord { try JobRecord(row, reveals: reveals) }

    /// The names of all queues, ascending; counts nothing.
    package func queueNames() async throws -> [String] {
        try await session.query(Statements.queueNames, []).map { try $0.text(0) }
    }

    /// Stops a queue, for a time or until it is resumed; false when there is none of that name.
    package func pause(
        _ queue: String, by operatorName: String, reason: String?, for length: Duration? = nil
    ) async throws -> Bool {
        try await session.transaction { session in
            let found = try session.query(
                Statements.pause,
                [
                    .text(queue), .text(operatorName), .optional(reason),
                    length.map { .double($0 / .seconds(1)) } ?? .null,
                ])
            guard !found.isEmpty else { return false }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "queue pause", subject: queue,
                    reason: reason
                ).statement)
            return true
        }
    }

    /// Lets a queue go on; false when there is none of that name.
    package func resume(
        _ queue: String, by operatorName: String = "unknown", reason: String? = nil
    ) async throws -> Bool {
        try await session.transaction { session in
            guard try !session.query(Statements.resume, [.text(queue)]).isEmpty else {
                return false
            }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "queue resume", subject: queue,
                    reason: reason
                ).statement)
            return true
        }
    }

    /// All workers in the table, alive or silent.
    package func workers() async throws -> [WorkerRecord] {
        try await session.query(Statements.workers, []).map(WorkerRecord.init)
    }

    /// The names of the kinds that some program has declared.
    package func kinds() async throws -> [String] { try await declaredKinds().keys.sorted() }

    /// What the declared kinds ask for, as far as an enqueue needs to know.
    package func declaredKinds() async throws -> [String: (version: Int, options: JobOptions)] {
        var kinds: [String: (version: Int, options: JobOptions)] = [:]
        for row in try await session.query(Statements.kinds, []) {
            kinds[try row.text("kind")] = (
                Int(try row.int16("args_version")),
                JobOptions(
                    queue: try row.text("queue"),
                    priority: Priority(rawValue: try row.int16("priority")) ?? .normal,
                    maxAttempts: Int(try row.int16("max_attempts")))
            )
        }
        return kinds
    }

    /// What one declared kind asks for.
    package func declaredKind(
        _ kind: String
    ) async throws -> (version: Int, options: JobOptions)? {
        try await declaredKinds()[kind]
    }
}
