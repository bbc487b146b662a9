/// How results are printed.
package enum OutputFormat: String, CaseIterable, Sendable {
    case table
    /// One object a line; times in RFC 3339, UTC.
    case json
}

/// When to colour.
package enum ColorChoice: String, CaseIterable, Sendable {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    case auto
    case always
    case never
}

/// The options that every command has.
package enum GlobalOptions {
    package static let output = Option<OutputFormat>.choice(
        "output", short: "o", default: .table,
        help: "Print a table, or JSON with one object a line")
    package static let databaseURL = Option.text(
        "database-url", placeholder: "URL", environment: "DATABASE_URL",
        help: "PostgreSQL to use, as a libpq URL or key=value text")
    package static let redisURL = Option.text(
        "redis-url", placeholder: "URL", environment: "REDIS_URL", help: "Redis to use")
    package static let color = Option<ColorChoice>.choice(
        "color", default: .auto, help: "Colour the output; NO_COLOR in the environment turns it off"
    )
    package static let quiet = Option.flag(
        "quiet", short: "q", help: "Print results and errors only: no notes, no progress")
    package static let help = Option.flag("help", short: "h", help: "Explain the command")

    static let all: [any DeclaredOption] = [output, databaseURL, redisURL, color, quiet, help]
}
