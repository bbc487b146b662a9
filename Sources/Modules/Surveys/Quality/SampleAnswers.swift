package import Errand
package import ErrandPostgres

/// Selects answers for review: a sample of all, and all with a flag.
package struct SampleAnswers: Job {
    package static let kind = "surveys.sample"
    /// A failed run needs no more attempts: the next run does its work too.
    package static let options = JobOptions(
        queue: "surveys", priority: .low, maxAttempts: 6, backoff: Backoff(base: 30, ceiling: 600),
        timeout: .seconds(3_600), retention: .seconds(7 * 86_400))

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "40 2 * * *", run: SampleAnswers(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }

    static func run(_ context: JobContext) async throws {
        let count = try await run(in: context.database, now: Instant(date: context.now))
        context.log.with("answers", count).info("answers of surveys were sampled for review")
    }

    /// Answers per transaction.
    package static let batch = 1_000
    private static let statement = "SELECT looked_at, sampled FROM surveys.sample($1, $2)"

    /// Samples the answers completed by `now`, and returns the number of sampled ones.
    @discardableResult
    package static func run(
        in database: Pool, now: Instant, batch: Int = batch
    ) async throws -> Int {
        var total = 0
        while true {
            try Task.checkCancellation()
            let (seen, sampled) = try await database.withSession { session in
                let rows = try await session.query(
                    statement, [.int32(Int32(batch)), .timestamp(now)])
                return (Int(try rows.int64(0, 0)), Int(try rows.int64(0, 1)))
            }
            total += sampled
            if seen < batch { return total }
        }
    }
}
