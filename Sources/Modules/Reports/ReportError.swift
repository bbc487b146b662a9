package import ErrandPostgres

/// Why something cannot be done to a report or a payment.
package enum ReportError: Error, Equatable, CustomStringConvertible {
    /// There is none of that id.
    case notFound(String)
    /// It is known with other content.
    case conflict(String)
    /// A rule forbids it; the words and what to do.
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
        case "P0002", "23503": self = .notFound(server.message)
        case "23505": self = .conflict(server.message)
        case "RU001", "42501", "23514": self = .refused(server.message, hint: server.hint)
        case "22023", "22003": self = .invalid(server.message)
        default: return nil
        }
    }

    /// Why a report cannot be made, by the reason of `reports.hold`; nil for ok.
    static func refusal(_ reason: String, of head: ReportHead) -> ReportError? {
        switch reason {
        case "not_kept":
            .refused(
                "\(head.title) of establishment \(head.establishment) cannot be made or checked: "
                    + "the retention has begun to remove the answers of \(head.period)",
                hint: "files of a report that was made are in 'errand report show \(head.id)'; "
                    + "restore missing ones from a backup")
        case "stated":
            .refused(
                "\(head.title) of establishment \(head.establishment) cannot be made: the "
                    + "statement of a later month was made, and has its postings",
                hint: "errand establishment account \(head.establishment)")
        default: nil
        }
    }
}
