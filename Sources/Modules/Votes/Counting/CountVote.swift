package import Errand
import ErrandPostgres

/// Counts a closed vote once all equal names are resolved.
///
/// The count is one transaction in the database: see `votes.count_ballots`. The choices never leave
/// it.
package struct CountVote: Job {
    package static let kind = "votes.count"
    package static let options = JobOptions(
        queue: "votes", priority: .high, maxAttempts: 50, backoff: Backoff(base: 1, ceiling: 60),
        timeout: .seconds(900))

    package var voteID: Int64

    package init(voteID: Int64) { self.voteID = voteID }

    enum CodingKeys: String, CodingKey {
        case voteID = "vote_id"
    }

    private static let statement = "SELECT votes.count_ballots($1)"

    static func run(_ job: CountVote, _ context: JobContext) async throws {
        let ballots: Int32?
        do {
            ballots = try await context.database.transaction { transaction in
                let ballots = try await transaction.query(statement, [.int64(job.voteID)])
                    .first?.optionalInt32(0)
                try await context.complete(in: transaction)
                return ballots
            }
        } catch let error as PostgresError where error.sqlState == "RU002" {
            // Its key is not open: after a crash of the server, a worker must open it.
            try await context.client.enqueue(
                PrepareKeys(), EnqueueOptions(unique: Unique("asked")))
            throw error
        }
        guard let ballots else { return }
        context.log.with("vote", Int(job.voteID)).with("ballots", Int(ballots)).info(
            "the vote is counted")
    }
}
