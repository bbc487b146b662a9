package import Errand
import ErrandPostgres

/// Enqueues jobs for votes that are late, as their jobs may be lost, and for large votes close to
/// their end.
///
/// Destroys the keys of cancelled votes.
package struct SweepVotes: Job {
    package static let kind = "votes.sweep"
    /// Few attempts: the next run repeats the work.
    package static let options = JobOptions(
        queue: "votes", priority: .high, maxAttempts: 5, backoff: Backoff(base: 2, ceiling: 20),
        timeout: .seconds(60), retention: .seconds(3_600))

    package init() {}

    private static let sweep = "SELECT votes.sweep()"
    private static let prepare = "SELECT votes.ask_for_news()"

    static func run(_ context: JobContext) async throws {
        if try await KeyDestruction.run(in: context.database) == .waiting {
            context.log.warning(
                "cannot destroy the keys of votes that are over yet; see 'errand doctor'")
        }
        let found = try await context.database.transaction { transaction in
            let found = try await transaction.query(sweep, []).int64(0, 0)
            _ = try await transaction.query(prepare, [])
            try await context.complete(in: transaction)
            return found
        }
        guard found > 0 else { return }
        context.log.with("votes", Int(found)).warning("enqueued jobs of overdue votes again")
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 15s", run: SweepVotes(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
