package import Errand
import ErrandPostgres

/// Mails a reset link or an invitation that was requested, or reminds of an invitation.
///
/// Which of them it is follows from the link and the time, not from the arguments.
package struct SendLink: Job {
    package static let kind = "accounts.link"
    package static let options = JobOptions(
        queue: "notices", priority: .high, maxAttempts: 20,
        backoff: Backoff(base: 1, ceiling: 300), retention: .seconds(3_600))

    package var linkID: Int64

    package init(linkID: Int64) { self.linkID = linkID }

    enum CodingKeys: String, CodingKey {
        case linkID = "link_id"
    }

    private static let send = "SELECT accounts.send_link($1)"

    static func run(_ job: SendLink, _ context: JobContext) async throws {
        try await context.database.transaction { transaction in
            _ = try await transaction.query(send, [.int64(job.linkID)])
            try await context.complete(in: transaction)
        }
    }
}
