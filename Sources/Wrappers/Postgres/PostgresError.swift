/// Why a statement failed.
///
/// The text states what to check and contains no password.
public enum PostgresError: Error, Sendable, CustomStringConvertible {
    /// The server could not be reached, the connection was lost, or an answer timed out. It is
    /// unknown whether a concurrent commit took effect.
    case unreachable(String)
    /// The server refused a statement.
    case server(ServerError)
    /// A column is missing, null, or not of the requested type.
    case decoding(String)
    /// The request is invalid.
    case usage(String)

    /// The SQLSTATE of PostgreSQL's error (Appendix A of its manual).
    public var sqlState: String? {
        if case .server(let error) = self { error.sqlState } else { nil }
    }

    /// Whether a retry may succeed.
    public var isTransient: Bool {
        switch self {
        case .unreachable: true
        case .server(let error): error.isTransient
        case .decoding, .usage: false
        }
    }

    /// Whether the server, or a limit of the login or database, allows no further connection.
    package var isOfFullServer: Bool { sqlState == "53300" }

    /// The message for people.
    public var description: String {
        switch self {
        case .unreachable(let text), .decoding(let text), .usage(let text): text
        case .server(let error): error.description
        }
    }
}

/// An error that PostgreSQL reported.
public struct ServerError: Sendable, CustomStringConvertible {
    /// The SQLSTATE.
    public var sqlState: String
    /// `ERROR`, `FATAL` or `PANIC`, never translated.
    public var severity = "ERROR"
    /// The primary message.
    public var message: String
    /// The detail message.
    public var detail: String?
    /// PostgreSQL's hint.
    public var hint: String?
    /// The context: the COPY line, function or statement.
    public var context: String?
    /// The schema that the error concerns.
    public var schema: String?
    /// The table that the error concerns.
    public var table: String?
    /// The column that the error concerns.
    public var column: String?
    /// The violated constraint.
    public var constraint: String?
    /// The position in the statement, in characters from 1.
    public var position: Int?

    /// Creates an error as PostgreSQL reports it.
    package init(
        sqlState: String, severity: String = "ERROR", message: String, detail: String? = nil,
        hint: String? = nil, context: String? = nil, schema: String? = nil, table: String? = nil,
        column: String? = nil, constraint: String? = nil, position: Int? = nil
    ) {
        self.sqlState = sqlState
        self.severity = severity
        self.message = message
        self.detail = detail
        self.hint = hint
        self.context = context
        self.schema = schema
        self.table = table
        self.column = column
        self.constraint = constraint
        self.position = position
    }

    /// Whether the server refuses writes: a standby, or a read-only server.
    public var isOfReadOnlyServer: Bool { sqlState == "25006" }

    /// Whether the server is away: it starts up, shuts down, crashed or ends its connections, or a
    /// pooler has none for this one.
    package var isOfUnavailableServer: Bool {
        sqlState.hasPrefix("08") || sqlState.hasPrefix("57P")
    }

    /// Whether a retry may succeed: after connection problems, a shutdown, a deadlock, a
    /// serialization failure or too many connections, and on another server than a read-only one.
    public var isTransient: Bool {
        sqlState.hasPrefix("08") || sqlState.hasPrefix("57P") || sqlState.hasPrefix("40")
            || sqlState.hasPrefix("53") || sqlState == "55P03" || sqlState == "57014"
            || isOfReadOnlyServer
    }

    /// Whether the server ends the connection with this error.
    var endsConnection: Bool { severity == "FATAL" || severity == "PANIC" }

    /// The message with detail, hint and context, on one line.
    public var description: String {
        var text = "\(message) (SQLSTATE \(sqlState))"
        if let detail { text += "; \(detail)" }
        if let hint { text += "; \(hint)" }
        if let context, context.hasPrefix("COPY") { text += "; \(context)" }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
