package import ErrandPostgres

/// Why something cannot be done to a run or a payout.
package enum PayoutError: Error, Equatable, CustomStringConvertible {
    /// There is no such run or payout.
    case notFound(String)
    /// It is not in the state for that.
    case conflict(String)
    /// A rule says no; with what to do about it.
    case refused(String, hint: String?)
    /// A part of the input is wrong.
    case invalid(String)

    package var description: String {
        switch self {
        case .notFound(let words), .conflict(let words), .refused(let words, _),
            .invalid(let words):
            words
        }
    }

    /// What the functions of the schema refuse, by their SQLSTATE; nil for any other error.
    package init?(_ error: PostgresError) {
        guard case .server(let server) = error else { return nil }
        switch server.sqlState {
        case "P0002": self = .notFound(server.message)
        case "55000": self = .conflict(server.message)
        case "23514": self = .refused(server.message, hint: server.hint)
        case "22023": self = .invalid(server.message)
        default: return nil
        }
    }
}

extension Session {
    /// A query of which what the schema refuses is a ``PayoutError``.
    func payoutQuery(_ sql: String, _ parameters: [Parameter]) async throws -> Rows {
        do throws(PostgresError) { return try query(sql, parameters) } catch {
            if let refusal = PayoutError(error) { throw refusal }
            throw error
        }
    }
}
