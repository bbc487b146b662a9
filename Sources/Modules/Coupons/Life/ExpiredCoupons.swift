package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Marks expired coupons, so that searches for live coupons skip them.
package struct EndExpired: Job {
    package static let kind = "coupons.expired"
    /// A failed run needs no more attempts: the next run does its work too.
    package static let options = JobOptions(
        queue: "coupons", priority: .low, maxAttempts: 6, backoff: Backoff(base: 30, ceiling: 600),
        timeout: .seconds(3_000))

    /// Coupons per transaction.
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

    /// Deletes guesses of past periods, old alerts, and terminals without a recent redemption.
    private static let forget = [
        "DELETE FROM coupons.guesses WHERE at < $1 - interval '1 hour'",
        "DELETE FROM coupons.alerts WHERE at < $1 - interval '90 days'",
        "DELETE FROM coupons.terminals WHERE redeemed_at < $1 - interval '31 days'",
    ]

    /// Marks coupons that have expired by `now`, in batches.
    ///
    /// - Returns: the number of marked coupons.
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
