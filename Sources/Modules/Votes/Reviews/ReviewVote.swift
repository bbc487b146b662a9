import FoundationEssentials
package import Errand
import ErrandNotification
import ErrandPostgres

/// Asks the initiator of a vote to resolve equal names, sends reminders, and finally ends the
/// review so that the vote is counted.
///
/// Each step enqueues the next one, at the times in `votes.rules`. Which step it is follows from
/// the time, not from the arguments.
package struct ReviewVote: Job {
    package static let kind = "votes.review"
    package static let options = JobOptions(
        queue: "votes", priority: .high, maxAttempts: 50, backoff: Backoff(base: 2, ceiling: 300))

    package var voteID: Int64

    package init(voteID: Int64) { self.voteID = voteID }

    enum CodingKeys: String, CodingKey {
        case voteID = "vote_id"
    }

    private static let step = """
        SELECT initiator, review_until, is_over, data, step, next_at FROM votes.review_step($1, $2)
        """
    private static let end = "SELECT votes.end_review($1, $2)"

    static func run(
        _ job: ReviewVote, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        let planner = NoticePlanner(catalogue, context: context)
        // If this clock is behind the server's, the step's time would still be in the future.
        let now = Instant(date: max(context.now, context.dueAt))
        let vote = Parameter.int64(job.voteID)
        let isOver = try await context.database.transaction { transaction in
            let rows = try await transaction.query(step, [vote, .timestamp(now)])
            // All names are resolved, and the count is enqueued.
            guard let row = rows.first else {
                try await context.complete(in: transaction)
                return false
            }
            if try row.bool("is_over") {
                _ = try await transaction.query(end, [vote, .timestamp(now)])
                try await context.complete(in: transaction)
                return true
            }
            let intent = Intent(
                NoticeKind.voteReview.name, to: try row.int64("initiator"),
                of: "vote:\(job.voteID)", data: try row.json("data"),
                dedupeKey: "vote.review:\(job.voteID):\(try row.int64("step"))",
                expiresAt: try row.timestamp("review_until"))
            try await planner.notify([intent], now: context.now, in: transaction)
            try await context.client.enqueue(
                ReviewVote(voteID: job.voteID),
                EnqueueOptions(
                    at: try row.timestamp("next_at").date, unique: Unique("vote:\(job.voteID)")),
                in: transaction)
            try await context.complete(in: transaction)
            return false
        }
        guard isOver else { return }
        context.log.with("vote", Int(job.voteID)).warning(
            "the review of a vote has expired: all its unresolved names count")
    }
}
