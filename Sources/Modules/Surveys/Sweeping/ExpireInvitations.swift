package import Errand
package import ErrandPostgres

/// Marks the invitations that have expired, so that listings and reports count them.
///
/// Late answers are refused by the clock, whether or not this has run.
package struct ExpireInvitations: Job {
    package static let kind = "surveys.expire"
    /// A failed run needs no more attempts: the next run does its work too.
    package static let options = JobOptions(
        queue: "surveys", priority: .low, maxAttempts: 6, backoff: Backoff(base: 30, ceiling: 600),
        timeout: .seconds(3_000))

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "20 * * * *", run: ExpireInvitations(),
            catchUp: .latest(within: .seconds(86_400)), overlap: .skip)
    }

    static func run(_ context: JobContext) async throws {
        let count = try await run(in: context.database, now: Instant(date: context.now))
        context.log.with("invitations", count).info("ended the invitations that have expired")
    }

    /// Invitations per transaction.
    package static let batch = 1_000
    private static let statement = "SELECT surveys.expire($1, $2)"

    /// Marks the invitations that have expired by `now`, in batches.
    ///
    /// - Returns: the number of invitations that the sweep has passed, completed ones too.
    @discardableResult
    package static func run(
        in database: Pool, now: Instant, batch: Int = batch
    ) async throws -> Int {
        var total = 0
        while true {
            try Task.checkCancellation()
            let count = try await database.withSession { session in
                Int(
                    try await session.query(
                        statement, [.int32(Int32(batch)), .timestamp(now)]
                    ).int64(0, 0))
            }
            total += count
            if count < batch { return total }
        }
    }
}
