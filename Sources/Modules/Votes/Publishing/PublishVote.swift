package import Errand
import ErrandNotification
import ErrandPostgres

/// Publishes a counted vote to all participants and its initiator at the same moment.
///
/// Prepares and parks all notices first, and destroys the vote's key. The last transaction makes
/// the result visible and releases them. After a crash, it resumes where it stopped.
package struct PublishVote: Job {
    package static let kind = "votes.publish"
    package static let options = JobOptions(
        queue: "votes", priority: .high, maxAttempts: 50, backoff: Backoff(base: 1, ceiling: 60),
        timeout: .seconds(1_800))

    package var voteID: Int64

    package init(voteID: Int64) { self.voteID = voteID }

    enum CodingKeys: String, CodingKey {
        case voteID = "vote_id"
    }

    private static let publish = "SELECT votes.publish($1)"

    static func run(
        _ job: PublishVote, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        try await VoteNews(job.voteID, by: catalogue, context).prepare(in: context.database)
        try await KeyDestruction.run(of: job.voteID, in: context.database)
        let isPublished = try await context.database.transaction { transaction in
            let isPublished = try await transaction.query(publish, [.int64(job.voteID)]).bool(0, 0)
            try await context.complete(in: transaction)
            return isPublished
        }
        guard isPublished else { return }
        context.log.with("vote", Int(job.voteID)).info("the vote is published")
    }
}
