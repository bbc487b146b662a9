import Errand
import ErrandPostgres

extension Inspector {
    /// How much a queue still holds that is due or runs, counted up to `limit`.
    package func dueCount(in queue: String, upTo limit: Int = 100_000) async throws -> Int {
        Int(
            try await session.query(Statements.dueInQueue, [.text(queue), .int64(Int64(limit))])
                .int64(0, 0))
    }
}
