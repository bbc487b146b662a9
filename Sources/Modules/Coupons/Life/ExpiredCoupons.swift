package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Takes note of coupons that have expired, so that what looks for live ones does not meet them.
package struct EndExpired: Job {
    package static let kind = "coupons.expired"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "coupons", priority: .low, maxAttempts: 6, backoff: Backoff(base: 30, ceiling: 600),
        timeout: .seconds(3_000))

    /// Coupons of one transaction.
    private static let batch = 1_000

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "25 * * * *", run: EndExpired(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }

    private static let statement = """
        WITH over AS (
            SELECT id FROM coupons.coupons
            WHERE redeemed_at IS NULL AND voided_at IS NULL AND expired_at IS NULL
              AND expires_at <= $2
            ORDER BY expires_at, id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE coupons.coupons c SET expired_at = $2 FROM over
        WHERE c.id = over.id
        """

    /// What is of no more account: counted guesses of periods that are over, and old alerts.
    private static let forget = [
        "DELETE FROM coupons.guesses WHERE period < $1 - interval '1 hour'",
        "DELETE FROM coupons.alerts WHERE at < $1 - interval '90 days'",
    ]

    /// Notes those that are over by now, batch by batch.
    ///
    /// - Returns: how many they were.
    @discardableResult
    package static func run(in database: Pool, now: Date) async throws -> Int {
        let now = Parameter.timestamp(Instant(date: now))
        _ = try await database.withSession { session in
            try await session.pipeline(Self.forget.map { Statement($0, [now]) })
        }
        return try await database.exhaust(
            Statement(statement, [.int64(Int64(batch)), now]), limit: batch)
    }
}
