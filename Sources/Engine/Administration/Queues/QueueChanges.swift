import Errand
import ErrandPostgres

extension Inspector {
    /// The number of due and running jobs of a queue, counted up to `limit`.
    package func dueCount(in queue: String, upTo limit: Int = 100_000) async throws -> Int {
        Int(
            try await session.query(Statements.dueInQueue, [.text(queue), .int64(Int64(limit))])
                .int64(0, 0))
    }
}
