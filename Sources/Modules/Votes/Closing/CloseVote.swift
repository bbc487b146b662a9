package import Errand
import ErrandPostgres

/// Closes a vote if all expected ballots were cast or its deadline has passed.
///
/// Enqueued for the deadline when the vote is opened, and again by the last ballots. `votes.close`
/// decides in the database; a second run has no effect.
package struct CloseVote: Job {
    package static let kind = "votes.close"
    package static let options = JobOptions(
        queue: "votes", priority: .critical, maxAttempts: 50,
        backoff: Backoff(base: 1, ceiling: 60), timeout: .seconds(60),
        retention: .seconds(7 * 86_400))
    /// The maximum number of votes per transaction, if many end in the same second.
    static let batch = 64

    package var voteID: Int64

    package init(voteID: Int64) { self.voteID = voteID }

    enum CodingKeys: String, CodingKey {
        case voteID = "vote_id"
    }

    private static let many = "SELECT vote, reason::text FROM votes.close_free($1)"
    // While this waits for the lock, later ballots queue behind it: limits their wait for an open
    // transaction.
    static let limit = Statement("SET LOCAL lock_timeout = '3s'")
    private static let one = "SELECT votes.close($1)::text"

    static func run(_ batch: JobBatch<CloseVote>) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let votes = Set(batch.items.map(\.job.voteID)).sorted()
        // The reason why each was closed; an inner nil if it was not.
        var reasons: [Int64: String?] = [:]
        if votes.count > 1 {
            do {
                let rows = try await context.database.transaction {
                    try await $0.pipeline([limit, Statement(many, [.int64Array(votes)])])
                }
                for row in rows[1] { reasons[try row.int64(0)] = .some(try row.optionalText(1)) }
            } catch let error as PostgresError {
                context.log.warning("cannot close a batch of votes; closing each alone: \(error)")
            }
        }
        var failures: [Int64: String] = [:]
        for vote in votes where reasons[vote] == nil {
            do {
                let rows = try await context.database.transaction {
                    try await $0.pipeline([limit, Statement(one, [.int64(vote)])])
                }
                reasons[vote] = .some(try rows[1].first?.optionalText(0))
            } catch let error as PostgresError {
                failures[vote] = "\(error)"
            }
        }
        for case (let vote, let why?) in reasons {
            context.log.with("vote", Int(vote)).with("why", why).info("the vote is closed")
        }
        return batch.items.map { item in
            failures[item.job.voteID].map { .retry(after: nil, reason: $0) } ?? .done
        }
    }
}
