/// Why a statement could not be carried out; the text says what to check and holds no password.
public enum PostgresError: Error, Sendable, CustomStringConvertible {
    /// Not connected, lost in the middle, or silent for too long. Whether a commit that was under
    /// way took effect is not known.
    case unreachable(String)
    /// The server refused a statement.
    case server(ServerError)
    /// A column is missing, null, or of another type than was asked for.
    case decoding(String)
    /// The request itself is wrong.
    case usage(String)

    /// The five characters by which PostgreSQL names an error (Appendix A of its manual).
    public var sqlState: String? {
        if case .server(let error) = self { error.sqlState } else { nil }
    }

    /// Whether the same may work later.
    public var isTransient: Bool {
        switch self {
        case .unreachable: true
        case .server(let error): error.isTransient
        case .decoding, .usage: false
        }
    }

    /// The text for a person.
    public var description: String {
        switch self {
        case .unreachable(let text), .decoding(let text), .usage(let text): text
        case .server(let error): error.description
        }
    }
}

/// An error as PostgreSQL tells it.
public struct ServerError: Sendable, CustomStringConvertible {
    /// Its five characters.
    public var sqlState: String
    /// `ERROR`, `FATAL` or `PANIC`, never translated.
    public var severity = "ERROR"
    /// What went wrong.
    public var message: String
    /// More about it.
    public var detail: String?
    /// What PostgreSQL advises.
    public var hint: String?
    /// Where it happened: in which COPY line, function or statement.
    public var context: String?
    /// The schema of what it is about.
    public var schema: String?
    /// The table that it is about.
    public var table: String?
    /// The column that it is about.
    public var column: String?
    /// The constraint that was violated.
    public var constraint: String?
    /// Where in the statement, in characters from 1.
    public var position: Int?

    /// Whether the server takes no writes: a standby, or one that was made read-only.
    public var isOfReadOnlyServer: Bool { sqlState == "25006" }

    /// Connection trouble, shutdown, deadlock, serialization, and too many connections pass; a
    /// server that only reads is left for one that writes.
    public var isTransient: Bool {
        sqlState.hasPrefix("08") || sqlState.hasPrefix("57P") || sqlState.hasPrefix("40")
            || sqlState.hasPrefix("53") || sqlState == "55P03" || sqlState == "57014"
            || isOfReadOnlyServer
    }

    /// Whether the server ends the connection with this error.
    var endsConnection: Bool { severity == "FATAL" || severity == "PANIC" }

    /// All that a person needs, on one line.
    public var description: String {
        var text = "\(message) (SQLSTATE \(sqlState))"
        if let detail { text += "; \(detail)" }
        if let hint { text += "; \(hint)" }
        if let context, context.hasPrefix("COPY") { text += "; \(context)" }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
