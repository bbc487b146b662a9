package import ErrandPostgres

/// Why an operation on a run or a payout failed.
package enum PayoutError: Error, Equatable, CustomStringConvertible {
    /// The run or payout does not exist.
    case notFound(String)
    /// Its state does not allow the operation.
    case conflict(String)
    /// A rule forbids the operation; the hint is the next step.
    case refused(String, hint: String?)
    /// The input is invalid.
    case invalid(String)

    package var description: String {
        switch self {
        case .notFound(let words), .conflict(let words), .refused(let words, _),
            .invalid(let words):
            words
        }
    }

    /// Converts a refusal of the schema's functions, by SQLSTATE; nil for any other error.
    package init?(_ error: PostgresError) {
        guard case .server(let server) = error else { return nil }
        switch server.sqlState {
        case "P0002": self = .notFound(server.message)
        case "RU001" where server.detail == "wrong_state": self = .conflict(server.message)
        case "RU001", "23514": self = .refused(server.message, hint: server.hint)
        case "22023": self = .invalid(server.message)
        default: return nil
        }
    }
}

extension Session {
    /// Runs a query; throws a ``PayoutError`` for a refusal of the schema.
    func payoutQuery(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        do throws(PostgresError) { return try query(sql, parameters) } catch {
            if let refusal = PayoutError(error) { throw refusal }
            throw error
        }
    }
}
