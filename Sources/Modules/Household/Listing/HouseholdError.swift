package import ErrandPostgres

/// Why something cannot be done to a group of room-mates.
package enum HouseholdError: Error, Equatable, CustomStringConvertible {
    /// Nobody, and nothing, has that id.
    case notFound(String)
    /// It is not in the state for that.
    case conflict(String)

    package var description: String {
        switch self {
        case .notFound(let words), .conflict(let words): words
        }
    }

    /// What the functions of the schema refuse, by their SQLSTATE; nil for any other error.
    package init?(_ error: PostgresError) {
        guard case .server(let server) = error else { return nil }
        switch server.sqlState {
        case "P0002", "23503": self = .notFound(server.message)
        case "RU001": self = .conflict(server.message)
        default: return nil
        }
    }
}
