package import JobQueue
import Postgres

/// Closes a vote if it is to be closed: all who are expected have cast, or its time is over.
///
/// Made for the deadline when the vote is opened, and again by the last ballots; `votes.close`
/// decides, in the database, and lets one of them close it.
package struct CloseVote: Job {
    package static let kind = "votes.close"
    package static let options = JobOptions(
        queue: "votes", priority: .critical, maxAttempts: 50,
        backoff: Backoff(base: 1, ceiling: 60), timeout: .seconds(60),
        retention: .seconds(7 * 86_400))

    package var voteID: Int64

    package init(voteID: Int64) { self.voteID = voteID }

    enum CodingKeys: String, CodingKey {
        case voteID = "vote_id"
    }

    // Behind the one who waits for the lock all others do, who cast: not for long, then, for a
    // transaction that does not end.
    private static let limit = "SET LOCAL lock_timeout = '3s'"
    private static let statement = "SELECT votes.close($1)::text"

    static func run(_ job: CloseVote, _ context: JobContext) async throws {
        let why = try await context.database.transaction { transaction in
            let rows = try await transaction.pipeline([
                Statement(limit), Statement(statement, [.int64(job.voteID)]),
            ])
            try await context.complete(in: transaction)
            return try rows[1].first?.optionalText(0)
        }
        guard let why else { return }
        context.log.with("vote", Int(job.voteID)).with("why", why).info("the vote is closed")
    }
}

/// Looks for votes that should be closed and are not, whatever has become of their jobs.
package struct SweepVotes: Job {
    package static let kind = "votes.sweep"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "votes", priority: .high, maxAttempts: 5, backoff: Backoff(base: 2, ceiling: 20),
        timeout: .seconds(60), retention: .seconds(3_600))

    package init() {}

    private static let statement = "SELECT votes.sweep()"

    static func run(_ context: JobContext) async throws {
        let found = try await context.database.transaction { transaction in
            let found = try await transaction.query(statement, []).int64(0, 0)
            try await context.complete(in: transaction)
            return found
        }
        guard found > 0 else { return }
        context.log.with("votes", Int(found)).warning("votes are closed late")
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 15s", run: SweepVotes(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
