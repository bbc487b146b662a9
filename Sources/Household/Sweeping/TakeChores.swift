import Gregorian
package import JobQueue
package import Postgres
import RepeatRules

/// Gives chores whose day has begun to whose turn it is, and finds out when they come next.
///
/// Some hundreds in a few statements, and those who have the turns are told by one job for all of
/// them; a full batch is followed by the next at once. The same again takes nothing: each chore
/// carries its next day.
package struct TakeChores: Job {
    package static let kind = "household.chores"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "household", priority: .high, maxAttempts: 5,
        backoff: Backoff(base: 2, ceiling: 20), timeout: .seconds(600),
        retention: .seconds(3_600))

    package init() {}

    /// Chores of one transaction.
    private static let batch: Int32 = 500

    private static let due = """
        SELECT chore_id, next_on - date '1970-01-01' AS last_on,
            starts_on - date '1970-01-01' AS starts_on, extract(epoch FROM at_time)::int AS at_time,
            rule, CASE mode WHEN 'after_done' THEN 1 END AS after_days, time_zone,
            NULL::timestamptz AS last_ended_at
        FROM household.due_chores($1, $2)
        """
    private static let take = """
        SELECT household.take_many($1, $2::date[], $3, $4::date[], $5)
        """

    /// How many chores were seen to.
    package static func take(in database: Pool, now: Instant) async throws -> Int {
        var (sum, count) = (0, Int(batch))
        while count == Int(batch) {
            count = try await database.transaction { try await takeSome(now: now, in: $0) }
            sum += count
        }
        return sum
    }

    private static func takeSome(
        now: Instant, in transaction: Transaction
    ) async throws -> Int {
        let rows = try await transaction.query(due, [.timestamp(now), .int32(batch)])
        guard !rows.isEmpty else { return 0 }
        var chores: [Int64] = []
        var days: (due: [String], next: [String?]) = ([], [])
        var times: (due: [Instant?], next: [Instant?]) = ([], [])
        for row in rows {
            chores.append(try row.int64("chore_id"))
            let day = CivilDate(daysSince1970: Int(try row.int32("last_on")))
            days.due.append(day.sql)
            do {
                let chore = try ChoreRow(row)
                // What counts from when it is done waits for that.
                let waits = if case .afterDone = chore.plan.mode { true } else { false }
                let next = waits ? (day: nil, at: nil) : try chore.next(now: now)
                days.next.append(next.day?.sql)
                times.next.append(next.at)
                times.due.append(chore.plan.due(on: day))
            } catch is RecurrenceRuleError {
                // Its planning refuses such a rule; it comes this once, and not again.
                days.next.append(nil)
                times.next.append(nil)
                times.due.append(now)
            }
        }
        _ = try await transaction.query(
            take,
            [
                .int64Array(chores), .textArray(days.due), .timestampArray(times.due),
                .nullableTextArray(days.next), .timestampArray(times.next),
            ])
        return chores.count
    }

    static func run(_ context: JobContext) async throws {
        let count = try await take(in: context.database, now: Instant(date: context.now))
        if count > 0 { context.log.with("chores", count).info("chores were taken") }
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 15s", run: TakeChores(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
