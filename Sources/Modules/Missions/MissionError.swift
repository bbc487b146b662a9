package import ErrandPostgres

/// Why something cannot be done to a mission, an assignment or a shopper.
package enum MissionError: Error, Equatable, CustomStringConvertible {
    /// There is none of that id.
    case notFound(String)
    /// It is not in the state for that.
    case conflict(String)
    /// A rule forbids it.
    case refused(String)
    /// A part of the input is wrong.
    case invalid(String)

    package var description: String {
        switch self {
        case .notFound(let words), .conflict(let words), .refused(let words), .invalid(let words):
            words
        }
    }

    /// What the functions of the schema refuse, by their SQLSTATE; nil for any other error.
    package init?(_ error: PostgresError) {
        guard case .server(let server) = error else { return nil }
        switch server.sqlState {
        case "P0002", "23503": self = .notFound(server.message)
        case "RU001" where ["wrong_state", "flagged"].contains(server.detail):
            self = .conflict(server.message)
        case "RU001", "42501", "23514": self = .refused(server.message)
        case "22023", "22003": self = .invalid(server.message)
        default: return nil
        }
    }
}
