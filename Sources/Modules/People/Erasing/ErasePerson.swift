package import Errand
import ErrandPostgres

/// Erases a person from each module, one after the other.
///
/// Each step is a transaction of its own and counts what it deleted there, so a killed worker loses
/// and repeats nothing. The jobs that name the person are left to ``SweepJobs``.
package struct ErasePerson: Job {
    package static let kind = "people.erase"
    /// A queue of its own: many erasures delay nothing else.
    package static let options = JobOptions(
        queue: "people", priority: .low, maxAttempts: 30,
        backoff: Backoff(base: 15, ceiling: 3_600), timeout: .seconds(600),
        retention: .seconds(7 * 86_400))

    package var erasureID: Int64

    package init(erasureID: Int64) { self.erasureID = erasureID }

    enum CodingKeys: String, CodingKey {
        case erasureID = "erasure_id"
    }

    private static let step = "SELECT people.erase_step($1)"
    private static let note = "SELECT people.note_failure($1, $2)"

    static func run(_ job: ErasePerson, _ context: JobContext) async throws {
        do {
            while try await next(of: job.erasureID, in: context.database) != nil {
                try Task.checkCancellation()
            }
        } catch let error as PostgresError {
            guard let state = error.sqlState else { throw error }
            // Only the code: the text of an error may hold what is being erased.
            _ = try? await context.database.withSession { session in
                try await session.query(Self.note, [.int64(job.erasureID), .text(state)])
            }
            throw ErasureFailure(erasureID: job.erasureID, sqlState: state)
        }
    }

    private static func next(of erasure: Int64, in database: Pool) async throws -> String? {
        try await database.withSession { session in
            try await session.query(step, [.int64(erasure)]).first?.optionalText(0)
        }
    }
}

/// A step of an erasure failed; without the text of the server, which may be personal.
struct ErasureFailure: Error, CustomStringConvertible {
    var erasureID: Int64
    var sqlState: String

    var description: String {
        "a step of erasure \(erasureID) failed with SQLSTATE \(sqlState); "
            + "the log of PostgreSQL has the statement"
    }
}
