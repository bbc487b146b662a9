package import Errand
import ErrandPostgres

/// Removes erased people from live and finished jobs and from the operators' log, in one pass for
/// all who wait for it, then ends their erasures with certificates.
///
/// Enqueued at the end of ``ErasePerson``. The hourly run continues what a failure left, and
/// enqueues erasures again that lost their jobs.
package struct SweepJobs: Job {
    package static let kind = "people.sweep"
    package static let options = JobOptions(
        queue: "people", priority: .low, maxAttempts: 10,
        backoff: Backoff(base: 15, ceiling: 600), timeout: .seconds(3_000),
        retention: .seconds(86_400))
    /// The jobs that one transaction reads.
    private static let batch: Int32 = 10_000

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "40 * * * *", run: SweepJobs(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }

    private static let late = "SELECT people.enqueue_late()"
    private static let step = "SELECT people.sweep_jobs($1)"

    static func run(_ context: JobContext) async throws {
        do {
            try await sweep(context)
        } catch let error as PostgresError {
            guard let state = error.sqlState else { throw error }
            throw SweepFailure(sqlState: state)
        }
    }

    private static func sweep(_ context: JobContext) async throws {
        let late = try await context.database.withSession { session in
            try await session.query(Self.late).int64(0, 0)
        }
        if late > 0 {
            context.log.with("erasures", Int(late)).warning("enqueued late erasures again")
        }
        while try await part(in: context.database) { try Task.checkCancellation() }
    }

    private static func part(in database: Pool) async throws -> Bool {
        try await database.withSession { session in
            try await session.query(step, [.int32(batch)]).bool(0, 0)
        }
    }
}

/// A part of the pass over the jobs failed; without the text of the server, which may be personal.
struct SweepFailure: Error, CustomStringConvertible {
    var sqlState: String

    var description: String {
        "a pass over the jobs of erased people failed with SQLSTATE \(sqlState); "
            + "the log of PostgreSQL has the statement"
    }
}
