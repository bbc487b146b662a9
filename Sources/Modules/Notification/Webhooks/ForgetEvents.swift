package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Deletes events that expired 90 days ago, with their deliveries.
package struct ForgetEvents: Job {
    package static let kind = "notification.forget"
    /// Few attempts: the next run deletes the rest.
    package static let options = JobOptions(
        queue: "notices", priority: .low, maxAttempts: 3, backoff: Backoff(base: 60, ceiling: 600),
        timeout: .seconds(3_000))

    /// The number of events per transaction.
    private static let batch = 1_000

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "10 4 * * *", run: ForgetEvents(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }

    private static let statement = """
        WITH old AS (
            SELECT id FROM notification.events WHERE expires_at < $2 - interval '90 days'
            ORDER BY expires_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
        ), deliveries AS (
            DELETE FROM notification.event_deliveries d USING old WHERE d.event_id = old.id
        )
        DELETE FROM notification.events e USING old WHERE e.id = old.id
        """

    /// Deletes the events that expired 90 days before `now`, in batches.
    ///
    /// - Returns: the number of deleted events.
    @discardableResult
    package static func run(in database: Pool, now: Date) async throws -> Int {
        try await database.exhaust(
            Statement(statement, [.int64(Int64(batch)), .timestamp(Instant(date: now))]),
            limit: batch)
    }
}
