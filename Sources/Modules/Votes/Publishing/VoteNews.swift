import FoundationEssentials
package import Errand
import ErrandNotification
import ErrandPostgres

/// The notices of a vote's result: prepared ahead for all participants and the initiator, and
/// released together by `votes.publish`.
///
/// Each has its own dedupe key, so that nobody is notified twice after a crash or by concurrent
/// jobs.
struct VoteNews: Sendable {
    private let vote: Int64
    private let planner: NoticePlanner
    private let now: Date

    /// The number of people per transaction.
    private static let batch = 500

    private static let take = "SELECT initiator, data, expires_at FROM votes.may_notify($1)"
    /// Reads the participants without a notice, ordered by id.
    private static let people = """
        SELECT p.person_id FROM votes.participants p
        WHERE p.vote_id = $1 AND p.person_id > $2 AND NOT p.is_erased AND NOT EXISTS (
            SELECT FROM notification.notices n
            WHERE n.dedupe_key = 'vote.published:' || p.vote_id || ':' || p.person_id)
        ORDER BY p.person_id LIMIT $3
        """

    init(_ vote: Int64, by catalogue: NoticeCatalogue, _ context: JobContext) {
        self.vote = vote
        planner = NoticePlanner(catalogue, context: context, parkedIn: "vote:\(vote)")
        now = context.now
    }

    /// Prepares all missing notices.
    func prepare(in database: Pool) async throws {
        var last: Int64? = 0
        while let after = last {
            last = try await database.transaction { try await prepare(after: after, in: $0) }
        }
    }

    /// Prepares a batch of missing notices after a person; returns the last person, or nil at the
    /// end.
    ///
    /// The vote can be neither published nor cancelled before the transaction ends. If it already
    /// was, prepares nothing.
    private func prepare(after last: Int64, in transaction: Transaction) async throws -> Int64? {
        let vote = Parameter.int64(vote)
        guard let row = try await transaction.query(Self.take, [vote]).first else { return nil }
        let people = try await transaction.query(
            Self.people, [vote, .int64(last), .int64(Int64(Self.batch))]
        ).map { try $0.int64(0) }
        // The first batch includes the initiator, who may also be a participant.
        let recipients = people + (last == 0 ? [try row.int64("initiator")] : [])
        let (data, expires) = (try row.json("data"), try row.timestamp("expires_at"))
        try await planner.notify(
            recipients.map { intent(to: $0, data, until: expires) }, now: now, in: transaction)
        return people.last
    }

    private func intent(to person: Int64, _ data: [UInt8], until expires: Instant) -> Intent {
        Intent(
            NoticeKind.votePublished.name, to: person, of: "vote:\(vote)", data: data,
            dedupeKey: "vote.published:\(vote):\(person)",
            expiresAt: expires)
    }
}

/// Prepares the notices of a large vote while ballots are cast or counted.
///
/// Enqueued by `votes.ask_for_news` and `votes.close`. The publication prepares any notices that
/// are still missing.
package struct PrepareNews: Job {
    package static let kind = "votes.prepare"
    package static let options = JobOptions(
        queue: "votes", priority: .normal, maxAttempts: 10, backoff: Backoff(base: 1, ceiling: 60),
        timeout: .seconds(1_800), retention: .seconds(7 * 86_400))

    package var voteID: Int64

    package init(voteID: Int64) { self.voteID = voteID }

    enum CodingKeys: String, CodingKey {
        case voteID = "vote_id"
    }

    static func run(
        _ job: PrepareNews, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws {
        try await VoteNews(job.voteID, by: catalogue, context).prepare(in: context.database)
    }
}
