import ErrandGregorian
package import Errand
package import ErrandPostgres
import ErrandRecurrence
import ErrandRepeatRules

/// Gives chores whose day has begun to whose turn it is, and finds out when they come next.
///
/// Some hundreds in a few statements, and one job notifies the people whose turns they are, for all
/// of them; a full batch is followed by the next at once. The same again takes nothing: each chore
/// carries its next day.
///
/// After an outage a chore comes once, today: what its rule names for a day that is over is
/// missed, and nobody's, when a later day has come as well.
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
        SELECT chore_id, plan, next_on - date '1970-01-01' AS last_on,
            starts_on - date '1970-01-01' AS starts_on, extract(epoch FROM at_time)::int AS at_time,
            rule, CASE mode WHEN 'after_done' THEN 1 END AS after_days, time_zone,
            NULL::timestamptz AS last_ended_at
        FROM household.due_chores($1, $2)
        """
    private static let take = """
        SELECT household.take_many($1, $2::date[], $3, $4::date[], $5, $6, $7)
        """
    private static let fail = "SELECT household.fail_chore($1, $2, $3)"

    /// How many chores were seen to.
    package static func take(
        in database: Pool, now: Instant, log: Log = .silent
    ) async throws -> Int {
        var sum = 0
        var round = Round()
        repeat {
            round = try await database.transaction { transaction in
                try await takeSome(now: now, in: transaction, log: log)
            }
            sum += round.taken.count
        } while round.seen == Int(batch) || round.taken.contains(where: \.isOver)
        return sum
    }

    /// What one transaction does.
    private struct Round: Sendable {
        /// An occurrence that is taken, and what comes after it.
        struct Turn: Sendable {
            var chore: Int64
            var day: CivilDate
            var giving: ChorePlan.Giving
            var next: (day: CivilDate?, at: Instant?)
            var isOver = false
        }

        var seen = 0
        var taken: [Turn] = []
        /// Chores by the numbers of their plans, whose rules cannot be followed, and why.
        var failed: [(chore: Int64, plan: Int32, fault: String)] = []
    }

    private static func takeSome(
        now: Instant, in transaction: Transaction, log: Log
    ) async throws -> Round {
        let rows = try await transaction.query(due, [.timestamp(now), .int32(batch)])
        var round = Round()
        round.seen = rows.count
        for row in rows {
            let (chore, zone) = (try row.int64("chore_id"), try row.text("time_zone"))
            let day = CivilDate(daysSince1970: Int(try row.int32("last_on")))
            do {
                round.taken.append(try turn(of: ChoreRow(row), chore, day, now: now))
            } catch let fault as RecurrenceRuleError {
                // It comes this once, and not again.
                round.taken.append(
                    .init(
                        chore: chore, day: day, giving: .init(due: now, remindFrom: now),
                        next: (nil, nil)))
                round.failed.append((chore, try row.int32("plan"), "\(fault)"))
            } catch let fault as ZoneError {
                // Those of its zone are left out from now on, until it can be read again.
                try await ZoneFaults.note(fault, of: zone, now: now, in: transaction, log: log)
            }
        }
        try await write(round, in: transaction)
        return round
    }

    private static func turn(
        of row: ChoreRow, _ chore: Int64, _ day: CivilDate, now: Instant
    ) throws -> Round.Turn {
        var turn = Round.Turn(
            chore: chore, day: day, giving: row.plan.given(day, at: now), next: (nil, nil))
        // What counts from when it is done waits for that.
        if case .afterDone = row.plan.mode { return turn }
        turn.next = try row.next(now: now)
        if let next = turn.next.day, next <= row.plan.zone.day(of: now) {
            turn.isOver = true
            turn.giving.due = row.plan.due(on: day)
        }
        return turn
    }

    private static func write(_ round: Round, in transaction: Transaction) async throws {
        guard !round.taken.isEmpty else { return }
        _ = try await transaction.query(
            take,
            [
                .int64Array(round.taken.map(\.chore)), .textArray(round.taken.map(\.day.sql)),
                .timestampArray(round.taken.map(\.giving.due)),
                .nullableTextArray(round.taken.map { $0.next.day?.sql }),
                .timestampArray(round.taken.map(\.next.at)),
                .timestampArray(round.taken.map(\.giving.remindFrom)),
                .boolArray(round.taken.map(\.isOver)),
            ])
        for (chore, plan, fault) in round.failed {
            _ = try await transaction.query(fail, [.int64(chore), .int32(plan), .text(fault)])
        }
    }

    static func run(_ context: JobContext) async throws {
        let count = try await take(
            in: context.database, now: Instant(date: context.now), log: context.log)
        if count > 0 { context.log.with("chores", count).info("chores were taken") }
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 15s", run: TakeChores(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
