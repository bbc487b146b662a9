package import JobQueue
import Notifications
package import Postgres

/// At the end of a month, hands out the groups where somebody owes to the jobs that tell it; and
/// plans the months of zones ahead.
package struct TellDues: Job {
    package static let kind = "household.dues"
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
    package static func handOut(in database: Pool, now: Instant) async throws -> Int {
        try await database.transaction { transaction in
            let names = try await transaction.query(zones, [.timestamp(now.adding(ahead))])
                .map { try $0.text(0) }
            for name in names {
                guard let zone = try PeopleZones.shared.known(name) else { continue }
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
        let count = try await handOut(in: context.database, now: Instant(date: context.now))
        if count > 0 { context.log.with("groups", count).info("debts of the month are told") }
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 1m", run: TellDues(), catchUp: .latest(within: .seconds(300)),
            overlap: .skip)
    }
}
