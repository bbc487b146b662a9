package import ErrandPostgres

/// Why something cannot be done to a vote.
package enum VoteError: Error, Equatable, CustomStringConvertible {
    /// There is no such vote, or name in it.
    case notFound(String)
    /// It is not in the state for that.
    case conflict(String)
    /// A part of the input is wrong.
    case invalid(String)

    package var description: String {
        switch self {
        case .notFound(let words), .conflict(let words), .invalid(let words): words
        }
    }

    /// What the functions of the schema refuse, by their SQLSTATE; nil for any other error.
    package init?(_ error: PostgresError) {
        guard case .server(let server) = error else { return nil }
        switch server.sqlState {
        case "P0002": self = .notFound(server.message)
        case "55000": self = .conflict(server.message)
        case "55P03":
            self = .conflict("others have been busy with the vote for seconds: try again")
        case "22023": self = .invalid(server.message)
        default: return nil
        }
    }
}
