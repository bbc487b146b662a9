package import Errand
package import ErrandPostgres
package import ErrandRedis

extension Inspector {
    /// Cancels waiting jobs, and asks the workers of running jobs to cancel them.
    package func cancel(
        _ ids: [Int64], by operatorName: String, reason: String? = nil
    ) async throws -> [Int64: Effect] {
        let sorted = ids.sorted()
        var effects: [Int64: Effect] = [:]
        // Tries twice: a job may be claimed or requeued between the two statements.
        for _ in 0..<2 {
            let rest = sorted.filter { effects[$0] == nil }
            guard !rest.isEmpty else { break }
            let (ended, asked) = try await session.transaction { session in
                let ended = try session.query(
                    Statements.cancelWaiting,
                    [
                        .int64Array(rest),
                        .text(Self.because("cancelled", by: operatorName, reason)),
                    ]
                ).map { try $0.int64(0) }
                let asked = try session.query(
                    Statements.cancelRunning,
                    [.int64Array(rest.filter { !ended.contains($0) })]
                ).map { try $0.int64(0) }
                try Note("job cancel", operatorName, reason).write(ended + asked, session)
                return (ended, asked)
            }
            for id in ended { effects[id] = .cancelled }
            for id in asked { effects[id] = .cancelRequested }
        }
        for id in sorted where effects[id] == nil {
            effects[id] = try await job(id) == nil ? .unknown : .finished
        }
        return effects
    }

    /// Retries jobs: finished and dead ones with all their attempts; waiting ones are due now.
    package func retry(
        _ ids: [Int64], by operatorName: String = "unknown", reason: String? = nil
    ) async throws -> [Int64: Effect] {
        let sorted = ids.sorted()
        var effects: [Int64: Effect] = [:]
        let retried = try await session.transaction { session in
            let answers = try session.pipeline([
                Statement(Statements.retryFinished, [.int64Array(sorted)]),
                Statement(Statements.retryWaiting, [.int64Array(sorted)]),
            ])
            let retried = try answers.flatMap { rows in try rows.map { try $0.int64(0) } }
            // Both statements return a finished job: for the second one it is live.
            try Note("job retry", operatorName, reason).write(Set(retried).sorted(), session)
            return retried
        }
        for id in retried { effects[id] = .retried }
        for id in sorted where effects[id] == nil {
            effects[id] = try await job(id) == nil ? .unknown : .running
        }
        return effects
    }

    /// Makes waiting jobs due now.
    package func runNow(
        _ ids: [Int64], by operatorName: String, reason: String? = nil
    ) async throws -> [Int64: Effect] {
        try await change(
            ids, Note("job run-now", operatorName, reason),
            Statement(Statements.retryWaiting, [.int64Array(ids.sorted())])
        ).effects
    }

    /// Changes the start time of waiting jobs; a past time means now.
    package func reschedule(
        _ ids: [Int64], at time: Instant, by operatorName: String, reason: String? = nil
    ) async throws -> [Int64: Effect] {
        var change = BulkChange()
        change.runAt = time
        return try await self.change(
            ids, Note("job reschedule", operatorName, reason, change),
            Statement(
                Statements.reschedule, [.int64Array(ids.sorted()), .timestamp(time)])
        ).effects
    }

    /// Moves waiting jobs to another queue, behind its due jobs; creates the queue if necessary.
    ///
    /// Removes the jobs from the windows in Redis where they are staged. Without Redis, a worker of
    /// the old queue may still run them.
    package func move(
        _ ids: [Int64], to queue: String, priority: Priority?, redis: RedisAddress?,
        by operatorName: String, reason: String? = nil
    ) async throws -> [Int64: Effect] {
        var change = BulkChange()
        change.queue = queue
        change.priority = priority?.rawValue
        _ = try await session.query(Statements.addQueue, [.text(queue)])
        let (effects, rows) = try await self.change(
            ids, Note("job move", operatorName, reason, change),
            Statement(
                Statements.move,
                [.int64Array(ids.sorted()), .text(queue), .optional(change.priority)]))
        let lanes = try JobMove.lanes(rows)
        guard let redis, !lanes.isEmpty else { return effects }
        let instance = try await session.query(Statements.instance, []).text(0, 0)
        let window = WindowProbe(redis, instance: instance)
        for (lane, ids) in lanes { try? await window.forget(ids, in: lane) }
        return effects
    }

    /// Replaces the arguments or the tags of waiting jobs; nil keeps them.
    package func edit(
        _ ids: [Int64], args: [UInt8]?, tags: [String]?, by operatorName: String,
        reason: String? = nil
    ) async throws -> [Int64: Effect] {
        var change = BulkChange()
        change.args = args.map { String(decoding: $0, as: UTF8.self) }
        change.tags = tags
        change = change.redacted(try await sensitiveNames())
        return try await self.change(
            ids, Note("job edit", operatorName, reason, change),
            Statement(
                Statements.edit,
                [
                    .int64Array(ids.sorted()), args.map(Parameter.json) ?? .null,
                    tags.map(Parameter.textArray) ?? .null,
                ])
        ).effects
    }

    /// Discards waiting jobs and dead letters.
    package func discard(
        _ ids: [Int64], by operatorName: String, reason: String? = nil
    ) async throws -> [Int64: Effect] {
        let parameters: [Parameter] = [
            .int64Array(ids.sorted()),
            .text(Self.because("discarded", by: operatorName, reason)),
        ]
        let answers = try await session.transaction { session in
            let answers = try session.pipeline([
                Statement(Statements.cancelWaiting, parameters),
                Statement(Statements.discardDead, parameters),
            ])
            let gone = try answers.flatMap { rows in try rows.map { try $0.int64(0) } }
            try Note("job discard", operatorName, reason).write(gone.sorted(), session)
            return answers
        }
        var effects = try await effects(ids, changed: answers[0], as: .discarded)
        for row in answers[1] { effects[try row.int64(0)] = .discarded }
        return effects
    }

    /// The reason stored with a job that an operator ends.
    static func because(_ verb: String, by operatorName: String, _ reason: String?) -> String {
        "\(verb) by \(operatorName)" + (reason.map { ": \($0)" } ?? "")
    }

    /// The audit entry of a change to jobs.
    private struct Note {
        var action: String
        var operatorName: String
        var reason: String?
        var change: BulkChange?

        init(
            _ action: String, _ operatorName: String, _ reason: String?,
            _ change: BulkChange? = nil
        ) {
            self.action = action
            self.operatorName = operatorName
            self.reason = reason
            self.change = change
        }

        /// Writes one entry per job.
        func write(_ ids: [Int64], _ session: isolated Session) throws {
            let change = try change?.json
            _ = try session.pipeline(
                ids.map { id in
                    AuditLine(
                        operatorName: operatorName, action: action, subject: "job \(id)",
                        reason: reason, change: change
                    ).statement
                })
        }
    }

    /// Changes waiting jobs with a statement that returns the changed ones.
    private func change(
        _ ids: [Int64], _ note: Note, _ statement: Statement
    ) async throws -> (effects: [Int64: Effect], rows: Rows) {
        let rows = try await session.transaction { session in
            let rows = try session.query(statement)
            try note.write(try rows.map { try $0.int64(0) }.sorted(), session)
            return rows
        }
        return (try await effects(ids, changed: rows), rows)
    }

    /// The states of jobs; jobs that do not exist are left out.
    package func states(_ ids: [Int64]) async throws -> [Int64: JobState] {
        var states: [Int64: JobState] = [:]
        for row in try await session.query(Statements.states, [.int64Array(ids.sorted())]) {
            states[try row.int64(0)] = JobState(rawValue: try row.text(1))
        }
        return states
    }

    /// The effect on each job, where the rows are the changed ones.
    private func effects(
        _ ids: [Int64], changed rows: Rows, as done: Effect = .changed
    ) async throws -> [Int64: Effect] {
        var effects: [Int64: Effect] = [:]
        for row in rows { effects[try row.int64(0)] = done }
        let rest = ids.filter { effects[$0] == nil }
        guard !rest.isEmpty else { return effects }
        let states = try await states(rest)
        for id in rest {
            switch states[id] {
            case nil: effects[id] = .unknown
            case .completed, .cancelled, .dead: effects[id] = .finished
            case .running: effects[id] = .running
            // It was running when the statement ran, and has been requeued since.
            case .scheduled, .available, .retrying: effects[id] = .running
            }
        }
        return effects
    }
}
