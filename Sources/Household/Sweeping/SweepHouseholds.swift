package import JobQueue
package import Postgres

/// Deletes notes whose time is over, reminds who is late, lets invitations lapse and forgets
/// sessions of long ago.
package struct SweepHouseholds: Job {
    package static let kind = "household.sweep"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "household", priority: .high, maxAttempts: 5,
        backoff: Backoff(base: 2, ceiling: 20), timeout: .seconds(120),
        retention: .seconds(3_600))

    package init() {}

    /// One thing that is done, again and again until nothing is left of it; notes first, since
    /// people see them go.
    private enum Step: String, CaseIterable {
        case notes = "expire_notes"
        case overdue = "remind_overdue"
        case invitations = "lapse_invitations"
        case sessions = "forget_sessions"

        var statement: String { "SELECT household.\(rawValue)($1, $2)" }
        /// Rows of one transaction.
        var batch: Int32 {
            switch self {
            case .notes, .sessions: 10_000
            case .overdue: 500
            case .invitations: 100
            }
        }
    }

    /// How many of each there were; by the function of the schema.
    package static func sweep(in database: Pool, now: Instant) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for step in Step.allCases {
            var count: Int64 = 1
            while count > 0 {
                count = try await database.transaction { transaction in
                    try await transaction.query(
                        step.statement, [.timestamp(now), .int32(step.batch)]
                    ).int64(0, 0)
                }
                if count > 0 { counts[step.rawValue, default: 0] += Int(count) }
            }
        }
        return counts
    }

    static func run(_ context: JobContext) async throws {
        let counts = try await sweep(in: context.database, now: Instant(date: context.now))
        var log = context.log
        for (step, count) in counts.sorted(by: { $0.key < $1.key }) { log = log.with(step, count) }
        if !counts.isEmpty { log.info("households were swept") }
    }

    /// So often that what is due is gone within five seconds.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 3s", run: SweepHouseholds(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
