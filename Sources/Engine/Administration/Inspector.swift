package import Errand
package import ErrandPostgres

/// The operations of operators on queues, jobs and workers.
package struct Inspector: Sendable {
    /// The effect of an operator's action on a job.
    package enum Effect: String, Sendable {
        /// The job was waiting and is cancelled.
        case cancelled
        /// The job is running; its worker is notified.
        case cancelRequested = "cancel requested"
        /// The job is waiting and was changed.
        case changed
        /// The job was waiting or dead and is discarded.
        case discarded
        /// The job is due now.
        case retried
        /// The job had already finished.
        case finished = "already finished"
        /// The job is running, so it cannot be retried.
        case running
        /// The job does not exist.
        case unknown
    }

    let session: Session
    /// Whether to show sensitive values (``revealing(_:)``).
    let reveals: Bool

    package init(session: Session) {
        self.session = session
        reveals = false
    }

    /// Returns an inspector that does not redact values; writes an audit entry first.
    package func revealing(_ reveal: Reveal) async throws -> Inspector {
        let sensitive = try await sensitiveNames()
        let filter = try reveal.filter.map { try $0.redacted(sensitive).json }
        _ = try await session.query(
            AuditLine(
                operatorName: reveal.operatorName, action: reveal.command + " --reveal",
                subject: reveal.subject, reason: reveal.reason, change: filter
            ).statement)
        return Inspector(session: session, reveals: true)
    }

    private init(session: Session, reveals: Bool) {
        self.session = session
        self.reveals = reveals
    }

    /// The audit data of showing sensitive values: the operator, the command and the jobs.
    package struct Reveal: Sendable {
        package var operatorName: String
        package var reason: String?
        /// The command, such as `job show`.
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

    /// One page of the jobs that match a filter, the newest first unless it sorts otherwise.
    package func jobs(_ filter: JobFilter) async throws -> [JobRecord] {
        guard let statement = try JobConditions.page(filter) else { return [] }
        return try await session.query(statement, prepare: false).map(record)
    }

    private func record(_ row: Row) throws -> JobRecord { try JobRecord(row, reveals: reveals) }

    /// The names of all queues, ascending.
    package func queueNames() async throws -> [String] {
        try await session.query(Statements.queueNames, []).map { try $0.text(0) }
    }

    /// Pauses a queue, for a time or until it is resumed; false if it does not exist.
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

    /// Resumes a queue; false if it does not exist.
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

    /// All registered workers, alive or unresponsive.
    package func workers() async throws -> [WorkerRecord] {
        try await session.query(Statements.workers, []).map(WorkerRecord.init)
    }

    /// The names of the kinds that some program has declared.
    package func kinds() async throws -> [String] { try await declaredKinds().keys.sorted() }

    /// The options of the declared kinds that enqueuing needs.
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

    /// The options of one declared kind.
    package func declaredKind(
        _ kind: String
    ) async throws -> (version: Int, options: JobOptions)? {
        try await declaredKinds()[kind]
    }
}
