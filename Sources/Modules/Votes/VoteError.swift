package import ErrandPostgres

/// An error of an operation on a vote.
package enum VoteError: Error, Equatable, CustomStringConvertible {
    /// The vote, or a name in it, does not exist.
    case notFound(String)
    /// The vote's state does not allow the operation.
    case conflict(String)
    /// An input is invalid.
    case invalid(String)

    package var description: String {
        switch self {
        case .notFound(let words), .conflict(let words), .invalid(let words): words
        }
    }

    /// Creates an error from the SQLSTATE of a refusal by the schema; nil for any other error.
    package init?(_ error: PostgresError) {
        guard case .server(let server) = error else { return nil }
        switch server.sqlState {
        case "P0002": self = .notFound(server.message)
        // A refusal, not ready yet, or a transition that the schema forbids.
        case "RU001", "RU002", "23001": self = .conflict(server.message)
        case "55P03":
            self = .conflict("the vote is locked by other transactions: try again")
        case "22023": self = .invalid(server.message)
        default: return nil
        }
    }
}
