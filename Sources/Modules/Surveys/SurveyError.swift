package import ErrandPostgres

/// Why the schema refuses to change a survey.
package enum SurveyError: Error, Equatable, CustomStringConvertible {
    /// Nothing has this id.
    case notFound(String)
    /// It is known with other content, or it is not in the state for that.
    case conflict(String)
    /// A rule forbids it; the hint is the next step.
    case refused(String, hint: String?)
    /// An argument is invalid.
    case invalid(String, hint: String?)
    /// It cannot be done yet.
    case notReady(String, hint: String?)

    package var description: String {
        switch self {
        case .notFound(let words), .conflict(let words), .refused(let words, _),
            .invalid(let words, _), .notReady(let words, _):
            words
        }
    }

    /// The refusal of a function of the schema, by its SQLSTATE; nil for any other error.
    package init?(_ error: PostgresError) {
        guard case .server(let server) = error else { return nil }
        switch server.sqlState {
        case "23503", "P0002": self = .notFound(server.message)
        case "23505": self = .conflict(server.message)
        case "RU001", "42501": self = .refused(server.message, hint: server.hint)
        case "RU002": self = .notReady(server.message, hint: server.hint)
        case "22023", "22003", "23514": self = .invalid(server.message, hint: server.hint)
        default: return nil
        }
    }
}
