package import JobQueue
package import Postgres

/// Ends what nobody has answered or done in time, reminds, and closes missions that are over.
package struct SweepMissions: Job {
    package static let kind = "missions.sweep"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "missions", priority: .high, maxAttempts: 5, backoff: Backoff(base: 2, ceiling: 20),
        timeout: .seconds(120), retention: .seconds(3_600))

    package init() {}

    /// Rows of one transaction.
    private static let batch: Int32 = 100

    /// One thing that is done, again and again until nothing is left of it.
    private enum Step: String, CaseIterable {
        case lapse, recall, miss, remind
        case end = "end_missions"

        var statement: String { "SELECT missions.\(rawValue)($1, $2)" }
    }

    /// How many of each there were; by the function of the schema.
    package static func sweep(in database: Pool, now: Instant) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for step in Step.allCases {
            var count: Int64 = 1
            while count > 0 {
                count = try await database.transaction { transaction in
                    try await transaction.query(
                        step.statement, [.timestamp(now), .int32(batch)]
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
        if !counts.isEmpty { log.info("missions were swept") }
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 15s", run: SweepMissions(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
