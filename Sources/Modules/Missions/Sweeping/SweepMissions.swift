package import Errand
package import ErrandPostgres

/// Ends what nobody has answered or done in time, reminds, and closes missions that are over.
package struct SweepMissions: Job {
    package static let kind = "missions.sweep"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "missions", priority: .high, maxAttempts: 5, backoff: Backoff(base: 2, ceiling: 20),
        timeout: .seconds(120), retention: .seconds(3_600))

    package init() {}

    private static let steps = Sweep(
        "missions",
        ["lapse", "recall", "miss", "remind", "end_missions"].map { .init($0, batch: 100) })

    /// How many of each there were; by the function of the schema.
    package static func sweep(in database: Pool, now: Instant) async throws -> [String: Int] {
        try await steps.run(in: database, now: now)
    }

    static func run(_ context: JobContext) async throws {
        try await steps.run(context, for: .seconds(60), saying: "missions were swept")
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 15s", run: SweepMissions(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
