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

    /// The time after which to try again if the key could not be destroyed.
    private static let pause = Duration.seconds(5)

    static func run(
        _ job: PublishVote, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws -> Outcome {
        try await VoteNews(job.voteID, by: catalogue, context).prepare(in: context.database)
        guard try await KeyDestruction.run(of: job.voteID, in: context.database) == .done else {
            context.log.with("vote", Int(job.voteID)).warning(
                "the vote is not published yet: its key is not destroyed; see 'errand doctor'")
            return .snooze(pause)
        }
        let isPublished = try await context.database.transaction { transaction in
            let isPublished = try await transaction.query(publish, [.int64(job.voteID)]).bool(0, 0)
            try await context.complete(in: transaction)
            return isPublished
        }
        if isPublished { context.log.with("vote", Int(job.voteID)).info("the vote is published") }
        return .done
    }
}
