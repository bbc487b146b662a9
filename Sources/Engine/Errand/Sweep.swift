package import ErrandPostgres

/// Runs several clean-up functions in turn, in batches, until none has work left.
///
/// Each round runs one batch of each step, in their order, so a backlog of one does not delay
/// another. A step that fails is skipped for the rest of the run.
package struct Sweep: Sendable {
    /// A function of the schema.
    ///
    /// It takes the time and the maximum number of rows, and returns the number of rows it
    /// processed.
    package struct Step: Sendable {
        /// The name of the function, for counts and the log.
        let name: String
        /// The maximum number of rows of one transaction.
        let batch: Int32

        package init(_ name: String, batch: Int32) {
            self.name = name
            self.batch = batch
        }
    }

    private let schema: String
    private let steps: [Step]

    /// - Parameters:
    ///   - schema: the schema of the functions.
    ///   - steps: the steps, the most important first.
    package init(_ schema: String, _ steps: [Step]) {
        self.schema = schema
        self.steps = steps
    }

    /// Processes everything that was due at `now`, and returns the number of rows by step.
    ///
    /// - Parameter limit: the time after which no further round starts; the next run continues with
    ///   the rest. Nil runs until nothing is left.
    /// - Throws: the error of the first step that failed, after the others have finished.
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

    /// Runs the sweep as a job, and logs its counts.
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
