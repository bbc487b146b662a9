package import Errand
import ErrandNotification
package import ErrandPostgres
import ErrandRecurrence

/// At the end of a month, enqueues the jobs that notify the groups with debts; and
/// plans the months of zones ahead.
package struct NotifyBalances: Job {
    package static let kind = "household.balances"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "household", priority: .high, maxAttempts: 5,
        backoff: Backoff(base: 2, ceiling: 20), timeout: .seconds(1_800),
        retention: .seconds(3_600))

    package init() {}

    /// Groups of one transaction.
    private static let batch: Int32 = 5_000
    /// So far ahead the months of every zone are planned.
    private static let ahead = Duration.seconds(40 * 86_400)

    private static let zones = "SELECT time_zone FROM household.zones_to_plan($1)"
    private static let hand = "SELECT household.due_groups($1, $2)"

    /// How many groups were seen to.
    ///
    /// Zones whose rules cannot be read are passed over: their months come as they were planned.
    package static func handOut(
        in database: Pool, now: Instant, log: Log = .silent
    ) async throws -> Int {
        try await database.transaction { transaction in
            let names = try await transaction.query(zones, [.timestamp(now.adding(ahead))])
                .map { try $0.text(0) }
            for name in names {
                let zone: Zone
                do throws(ZoneError) { zone = try PeopleZones.shared.exact(name) } catch {
                    try await ZoneFaults.note(
                        error, of: name, now: now, in: transaction, log: log)
                    continue
                }
                try await MonthEnd.plan(zone, now: now, in: transaction)
            }
        }
        var (sum, count): (Int, Int64) = (0, 1)
        while count > 0 {
            count = try await database.transaction { transaction in
                try await transaction.query(hand, [.timestamp(now), .int32(batch)]).int64(0, 0)
            }
            sum += Int(count)
        }
        return sum
    }

    static func run(_ context: JobContext) async throws {
        let count = try await handOut(
            in: context.database, now: Instant(date: context.now), log: context.log)
        if count > 0 {
            context.log.with("groups", count).info("notices about balances were enqueued")
        }
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 1m", run: NotifyBalances(), catchUp: .latest(within: .seconds(300)),
            overlap: .skip)
    }
}
