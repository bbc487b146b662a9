import Foundation
import ErrandPostgres

/// The error that `body` throws, if it is one of PostgreSQL's.
func failure(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}

extension PostgresError {
    var isUsage: Bool { if case .usage = self { true } else { false } }
    var isUnreachable: Bool { if case .unreachable = self { true } else { false } }
    var isDecoding: Bool { if case .decoding = self { true } else { false } }
}
