import FoundationEssentials
package import JobQueue
import Notifications
import Postgres

/// Publishes a vote that was counted, to all who took part and to its initiator at one moment.
///
/// All notices are prepared first, some hundreds in a transaction, and wait. The last transaction
/// makes the result visible and lets all of them go. Wherever it is killed, it goes on from there;
/// nobody is told twice, because each notice has a key of its own.
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

    /// People of one transaction.
    private static let batch = 500
    /// How long the news is worth being told.
    private static let validity = Duration.seconds(14 * 86_400)

    // The row stays locked, so that nothing is prepared behind a release.
    private static let take = """
        SELECT initiator, told_to, jsonb_build_object('subject', subject) AS data
        FROM votes.votes WHERE id = $1 AND state = 'counted' FOR NO KEY UPDATE
        """
    private static let people = """
        SELECT person_id FROM votes.participants
        WHERE vote_id = $1 AND person_id > $2 ORDER BY person_id LIMIT $3
        """
    private static let note = "UPDATE votes.votes SET told_to = $2 WHERE id = $1"
    private static let publish = "SELECT votes.publish($1)"

    /// What one transaction came to.
    private enum Step: Sendable {
        case prepared, published
        /// It was published before, or is not to be.
        case none
    }

    static func run(
        _ job: PublishVote, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        let teller = Teller(catalogue, context: context, parkedIn: "vote:\(job.voteID)")
        let vote = Parameter.int64(job.voteID)
        var step = Step.prepared
        while case .prepared = step {
            step = try await context.database.transaction { transaction in
                guard let row = try await transaction.query(take, [vote]).first else {
                    try await context.complete(in: transaction)
                    return .none
                }
                let people = try await transaction.query(
                    people,
                    [vote, .int64(try row.int64("told_to")), .int64(Int64(batch))]
                ).map { try $0.int64(0) }
                let data = try row.json("data")
                let told = people.isEmpty ? [try row.int64("initiator")] : people
                try await teller.tell(
                    told.map { intent(job.voteID, to: $0, data, context.now) }, now: context.now,
                    in: transaction)
                guard let last = people.last else {
                    _ = try await transaction.query(publish, [vote])
                    try await context.complete(in: transaction)
                    return .published
                }
                _ = try await transaction.query(note, [vote, .int64(last)])
                return .prepared
            }
        }
        guard case .published = step else { return }
        context.log.with("vote", Int(job.voteID)).info("the vote is published")
    }

    private static func intent(
        _ vote: Int64, to person: Int64, _ data: [UInt8], _ now: Date
    ) -> Intent {
        Intent(
            NoticeKind.votePublished.name, to: person, of: "vote:\(vote)", data: data,
            dedupeKey: "vote.published:\(vote):\(person)",
            expiresAt: Instant(date: now).adding(validity))
    }
}
