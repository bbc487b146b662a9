package import Errand
package import ErrandPostgres

/// Alerts operators of questions without an answer, and closes threads without a word.
package struct SweepInquiries: Job {
    package static let kind = "inquiries.sweep"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "missions", priority: .normal, maxAttempts: 3,
        backoff: Backoff(base: 2, ceiling: 20), timeout: .seconds(120), retention: .seconds(3_600))

    package init() {}

    private static let steps = Sweep(
        "inquiries", ["alert", "close_silent"].map { .init($0, batch: 100) })

    /// How many of each there were; by the function of the schema.
    package static func sweep(in database: Pool, now: Instant) async throws -> [String: Int] {
        try await steps.run(in: database, now: now)
    }

    static func run(_ context: JobContext) async throws {
        try await steps.run(context, for: .seconds(60), saying: "inquiries were swept")
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 1m", run: SweepInquiries(), catchUp: .latest(within: .seconds(300)),
            overlap: .skip)
    }
}
