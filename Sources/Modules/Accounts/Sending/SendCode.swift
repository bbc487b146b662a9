package import Errand
import ErrandPostgres

/// Mails a code that was requested, if there is somebody to mail it to.
///
/// A request does not look for the account itself, so that its answer and the time it takes do not
/// reveal whether an address has one.
package struct SendCode: Job {
    package static let kind = "accounts.code"
    /// First in line: somebody waits for the code.
    package static let options = JobOptions(
        queue: "notices", priority: .critical, maxAttempts: 20,
        backoff: Backoff(base: 1, ceiling: 60), retention: .seconds(3_600))

    package var codeID: Int64

    package init(codeID: Int64) { self.codeID = codeID }

    enum CodingKeys: String, CodingKey {
        case codeID = "code_id"
    }

    private static let send = "SELECT accounts.send_code($1)"

    static func run(_ job: SendCode, _ context: JobContext) async throws {
        try await context.database.transaction { transaction in
            _ = try await transaction.query(send, [.int64(job.codeID)])
            try await context.complete(in: transaction)
        }
    }
}
