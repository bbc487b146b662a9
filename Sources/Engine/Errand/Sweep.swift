package import ErrandPostgres

/// What is due of several things, done in batches until nothing is left of any.
///
/// One batch of each in turn, those named first before the others: a long backlog of one does not
/// hold up another. One that fails is left out of the rest of the run, and does not stop the
/// others.
package struct Sweep: Sendable {
    /// One of the things: a function of the schema that is given the moment and how many rows at
    /// most, and says how many it has done.
    package struct Step: Sendable {
        /// By which it is counted and logged.
        let name: String
        /// Rows of one transaction.
        let batch: Int32

        package init(_ name: String, batch: Int32) {
            self.name = name
            self.batch = batch
        }
    }

    private let schema: String
    private let steps: [Step]

    /// - Parameters:
    ///   - schema: that of all the functions.
    ///   - steps: what matters most first.
    package init(_ schema: String, _ steps: [Step]) {
        self.schema = schema
        self.steps = steps
    }

    /// Does all that was due at `now`; how many of each there were.
    ///
    /// - Parameter limit: after so long no further round begins, and what is left is for the next
    ///   run, which sees what has become due in the meantime; nil: until nothing is left.
    /// - Throws: the error of the first step that failed, after the others are done.
    package func run(
        in database: Pool, now: Instant, for limit: Duration? = nil
    ) async throws -> [String: Int] {
        let clock = ContinuousClock()
        let end = limit.map { clock.now + $0 }
        var counts: [String: Int] = [:]
        var left = steps
        var failure: (any Error)?
        while !left.isEmpty, end.map({ clock.now < $0 }) ?? true {
            var next: [Step] = []
            for step in left {
                try Task.checkCancellation()
                do {
                    let count = try await batch(of: step, in: database, now: now)
                    guard count > 0 else { continue }
                    counts[step.name, default: 0] += count
                    next.append(step)
                } catch {
                    failure = failure ?? error
                    try Task.checkCancellation()
                }
            }
            left = next
        }
        if let failure { throw failure }
        return counts
    }

    private func batch(of step: Step, in database: Pool, now: Instant) async throws -> Int {
        try await database.transaction { transaction in
            let done = try await transaction.query(
                "SELECT \(schema).\(step.name)($1, $2)", [.timestamp(now), .int32(step.batch)])
            return Int(try done.int64(0, 0))
        }
    }

    /// The same as a job, which logs what it has done.
    package func run(
        _ context: JobContext, for limit: Duration, saying message: String
    ) async throws {
        let counts = try await run(
            in: context.database, now: Instant(date: context.now), for: limit)
        guard !counts.isEmpty else { return }
        var log = context.log
        for (step, count) in counts.sorted(by: { $0.key < $1.key }) { log = log.with(step, count) }
        log.info(message)
    }
}
