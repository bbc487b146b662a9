import FoundationEssentials
package import Errand
import ErrandNotification
import ErrandPostgres

/// Asks the initiator of a vote to resolve equal names, sends reminders, and finally ends the
/// review so that the vote is counted.
///
/// Each step enqueues the next one, at the times in `votes.rules`.
package struct ReviewVote: Job {
    package static let kind = "votes.review"
    package static let options = JobOptions(
        queue: "votes", priority: .high, maxAttempts: 50, backoff: Backoff(base: 2, ceiling: 300))

    package var voteID: Int64
    /// The number of the notice to the initiator, from 0.
    package var step: Int

    package init(voteID: Int64, step: Int = 0) {
        self.voteID = voteID
        self.step = step
    }

    enum CodingKeys: String, CodingKey {
        case voteID = "vote_id"
        case step
    }

    private static let read = """
        SELECT v.initiator, v.review_until, v.review_until <= $2 AS is_over,
            jsonb_build_object('subject', v.subject, 'until', v.review_until, 'count', (
                SELECT count(*) FROM votes.exceptions e
                WHERE e.vote_id = v.id AND e.state = 'open')) AS data,
            least(v.review_until, (SELECT min(v.closed_at + a) FROM unnest(r.remind_after) AS a
                WHERE v.closed_at + a > $2)) AS next_at
        FROM votes.votes v CROSS JOIN votes.rules r
        WHERE v.id = $1 AND v.state = 'review' FOR NO KEY UPDATE OF v
        """
    private static let isDecided = """
        SELECT NOT EXISTS (SELECT FROM votes.exceptions WHERE vote_id = $1 AND state = 'open')
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
            let row = try await transaction.query(read, [vote, .timestamp(now)]).first
            // All names are resolved, and the count is enqueued.
            let isDecided = try await transaction.query(isDecided, [vote]).bool(0, 0)
            guard let row, !isDecided else {
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
                dedupeKey: "vote.review:\(job.voteID):\(job.step)",
                expiresAt: try row.timestamp("review_until"))
            try await planner.notify([intent], now: context.now, in: transaction)
            try await context.client.enqueue(
                ReviewVote(voteID: job.voteID, step: job.step + 1),
                EnqueueOptions(at: try row.timestamp("next_at").date), in: transaction)
            try await context.complete(in: transaction)
            return false
        }
        guard isOver else { return }
        context.log.with("vote", Int(job.voteID)).warning(
            "the review of a vote has expired: all its unresolved names count")
    }
}
