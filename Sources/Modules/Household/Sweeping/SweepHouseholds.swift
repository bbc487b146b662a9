package import Errand
package import ErrandPostgres

/// Deletes notes whose time is over, reminds who is late, finds chores that nobody plans any more,
/// and lets invitations lapse.
package struct SweepHouseholds: Job {
    package static let kind = "household.sweep"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "household", priority: .high, maxAttempts: 5,
        backoff: Backoff(base: 2, ceiling: 20), timeout: .seconds(120),
        retention: .seconds(3_600))

    package init() {}

    /// Notes first, since people see them go.
    private static let steps = Sweep(
        "household",
        [
            .init("expire_notes", batch: 10_000), .init("remind_overdue", batch: 500),
            .init("fail_unplanned", batch: 100), .init("lapse_invitations", batch: 100),
        ])

    /// How many of each there were; by the function of the schema.
    package static func sweep(in database: Pool, now: Instant) async throws -> [String: Int] {
        try await steps.run(in: database, now: now)
    }

    /// Ends after two seconds, whatever is left: notes that are due since are with the next run.
    static func run(_ context: JobContext) async throws {
        try await steps.run(context, for: .seconds(2), saying: "households were swept")
    }

    /// So often that what is due is gone within five seconds.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 3s", run: SweepHouseholds(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
