package import Postgres

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

    package init(session: Session) { self.session = session }

    /// One job, live or finished.
    package func job(_ id: Int64) async throws -> JobRecord? {
        try await session.query(Statements.job, [.int64(id)]).first.map(JobRecord.init)
    }

    /// The newest jobs that pass a filter, newest first.
    package func jobs(_ filter: JobFilter) async throws -> [JobRecord] {
        guard let statement = try JobConditions.newest(filter) else { return [] }
        return try await session.query(statement, prepare: false).map(JobRecord.init)
    }

    /// Cancels jobs: waiting ones end, running ones are told through their workers.
    package func cancel(_ ids: [Int64], by operatorName: String) async throws -> [Int64: Effect] {
        let sorted = ids.sorted()
        var effects: [Int64: Effect] = [:]
        // A job may be claimed between the two statements, or handed back: so twice.
        for _ in 0..<2 {
            let rest = sorted.filter { effects[$0] == nil }
            guard !rest.isEmpty else { break }
            let (ended, asked) = try await session.transaction { session in
                let ended = try session.query(
                    Statements.cancelWaiting,
                    [.int64Array(rest), .text("cancelled by \(operatorName)")]
                ).map { try $0.int64(0) }
                let asked = try session.query(
                    Statements.cancelRunning,
                    [.int64Array(rest.filter { !ended.contains($0) })]
                ).map { try $0.int64(0) }
                try Self.note("job cancel", ended + asked, operatorName, session)
                return (ended, asked)
            }
            for id in ended { effects[id] = .cancelled }
            for id in asked { effects[id] = .asked }
        }
        for id in sorted where effects[id] == nil {
            effects[id] = try await job(id) == nil ? .unknown : .finished
        }
        return effects
    }

    /// Lets jobs run again, or now: finished and dead ones with all their attempts, waiting ones
    /// without waiting longer.
    package func retry(
        _ ids: [Int64], by operatorName: String = "unknown"
    ) async throws -> [Int64: Effect] {
        let sorted = ids.sorted()
        var effects: [Int64: Effect] = [:]
        let retried = try await session.transaction { session in
            let answers = try session.pipeline([
                Statement(Statements.retryFinished, [.int64Array(sorted)]),
                Statement(Statements.retryWaiting, [.int64Array(sorted)]),
            ])
            let retried = try answers.flatMap { rows in try rows.map { try $0.int64(0) } }
            // One that was finished is live by the second statement, so that both name it.
            try Self.note("job retry", Set(retried).sorted(), operatorName, session)
            return retried
        }
        for id in retried { effects[id] = .retried }
        for id in sorted where effects[id] == nil {
            effects[id] = try await job(id) == nil ? .unknown : .running
        }
        return effects
    }

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
        _ queue: String, by operatorName: String = "unknown"
    ) async throws -> Bool {
        try await session.transaction { session in
            guard try !session.query(Statements.resume, [.text(queue)]).isEmpty else {
                return false
            }
            _ = try session.query(
                AuditLine(operatorName: operatorName, action: "queue resume", subject: queue)
                    .statement)
            return true
        }
    }

    /// Writes a line of the audit for each job.
    private static func note(
        _ action: String, _ ids: [Int64], _ operatorName: String, _ session: isolated Session
    ) throws {
        _ = try session.pipeline(
            ids.map { id in
                AuditLine(operatorName: operatorName, action: action, subject: "job \(id)")
                    .statement
            })
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
