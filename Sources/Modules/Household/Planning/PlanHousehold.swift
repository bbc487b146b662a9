import ErrandGregorian
package import Errand
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import ErrandRepeatRules

/// Finds out what needs local time: when a chore comes next, or when months end in a zone.
///
/// Enqueued by the schema, where a chore is added, changed, or done and counts from then.
package struct PlanHousehold: Job {
    package static let kind = "household.plan"
    package static let options = JobOptions(
        queue: "household", priority: .high, maxAttempts: 20,
        backoff: Backoff(base: 1, ceiling: 600), retention: .seconds(86_400))

    package var choreID: Int64?
    /// Which of the chore's changes asks: a later one asks for itself.
    package var plan: Int32?
    package var timeZone: String?

    enum CodingKeys: String, CodingKey {
        case choreID = "chore_id"
        case plan
        case timeZone = "time_zone"
    }

    static func run(_ job: PlanHousehold, _ context: JobContext) async throws {
        let now = Instant(date: context.now)
        try await context.database.transaction { transaction in
            if let chore = job.choreID, let plan = job.plan {
                try await planChore(chore, plan, now: now, in: transaction, log: context.log)
            } else if let name = job.timeZone {
                do {
                    let zone = try PeopleZones.shared.exact(name)
                    try await MonthEnd.plan(zone, now: now, in: transaction)
                } catch let fault as ZoneError {
                    try await ZoneFaults.note(
                        fault, of: name, now: now, in: transaction, log: context.log)
                }
            } else {
                throw JobError.invalid("household.plan needs chore_id and plan, or time_zone")
            }
            try await context.complete(in: transaction)
        }
    }

    private static let read = """
        SELECT starts_on - date '1970-01-01' AS starts_on,
            extract(epoch FROM at_time)::int AS at_time, rule,
            after_days::int, time_zone,
            last_on - date '1970-01-01' AS last_on, last_ended_at
        FROM household.chore_to_plan($1, $2)
        """
    private static let write = "SELECT household.plan_chore($1, $2, $3::date, $4)"
    private static let fail = "SELECT household.fail_chore($1, $2, $3)"

    private static func planChore(
        _ chore: Int64, _ plan: Int32, now: Instant, in transaction: Transaction, log: Log
    ) async throws {
        let (chore, plan) = (Parameter.int64(chore), Parameter.int32(plan))
        guard let row = try await transaction.query(read, [chore, plan]).first else {
            // Gone, changed since, or it waits until it is done.
            _ = try await transaction.query(write, [chore, plan, .null, .null])
            return
        }
        let found: (day: CivilDate?, at: Instant?)
        do {
            found = try ChoreRow(row).next(now: now)
        } catch let fault as RecurrenceRuleError {
            _ = try await transaction.query(fail, [chore, plan, .text("\(fault)")])
            return
        } catch let fault as ZoneError {
            // It is asked for again once the zone can be read.
            try await ZoneFaults.note(
                fault, of: try row.text("time_zone"), now: now, in: transaction, log: log)
            return
        }
        _ = try await transaction.query(
            write, [chore, plan, .optional(found.day?.sql), .optional(found.at)])
    }
}

/// A chore as the schema gives it to those who find out when it comes.
struct ChoreRow {
    var plan: ChorePlan
    /// The day on which it came last, or is taken now.
    var last: CivilDate?
    var ended: Instant?

    /// - Throws: `RecurrenceRuleError` when its rule is none, `ZoneError` for its zone.
    init(_ row: Row) throws {
        let mode: ChorePlan.Mode =
            if let days = try row.optionalInt32("after_days") {
                .afterDone(days: Int(days))
            } else if let rule = try row.optionalText("rule") {
                .rule(try RecurrenceRule(rule))
            } else {
                .once
            }
        plan = ChorePlan(
            mode, startsOn: CivilDate(daysSince1970: Int(try row.int32("starts_on"))),
            atTime: try row.optionalInt32("at_time").map(Int.init),
            zone: try PeopleZones.shared.exact(try row.text("time_zone")))
        last = try row.optionalInt32("last_on").map { CivilDate(daysSince1970: Int($0)) }
        ended = try row.optionalTimestamp("last_ended_at")
    }

    /// The next day, and when its occurrence is taken; both nil when there is none any more.
    func next(now: Instant) throws -> (day: CivilDate?, at: Instant?) {
        let day = try plan.next(after: last, ended: ended, now: now)
        return (day, day.map(plan.begin(of:)))
    }
}
