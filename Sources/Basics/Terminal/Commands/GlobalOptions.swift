/// The format of results.
package enum OutputFormat: String, CaseIterable, Sendable {
    /// The most important columns, truncated to the terminal's width.
    case table
    /// All columns, not truncated.
    case wide
    /// One object per line; times in RFC 3339, UTC.
    case json
    /// RFC 4180, with the names and values of JSON.
    case csv
    /// One id or name per line, for use in other commands.
    case name

    /// Whether the format is for people, not for programs.
    package var isForPeople: Bool { self == .table || self == .wide }
}

/// When to use color.
package enum ColorChoice: String, CaseIterable, Sendable {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    case auto
    case always
    case never
}

/// The options of every command.
package enum GlobalOptions {
    package static let output = Option<OutputFormat>.choice(
        "output", short: "o", default: .table,
        help: "Print a table, all its columns (wide), JSON with one object per line, CSV, or "
            + "only ids or names")
    package static let columns = Option.texts(
        "columns", placeholder: "NAME,…",
        help: "Show only these columns, in this order; 'errand fields' lists the names")
    package static let noHeaders = Option.flag(
        "no-headers", help: "Omit the header line of tables and CSV")
    package static let utc = Option.flag(
        "utc", help: "Show times in UTC; JSON and CSV always use UTC")
    package static let watch = Option<Double?>.value(
        "watch", .number("SECONDS", in: 0.5...86_400),
        help: "Refresh every N seconds until interrupted (read-only commands)")
    package static let context = Option<String?>.text(
        "context", placeholder: "NAME", environment: "ERRAND_CONTEXT",
        help: "Use this context of contexts.json; its URLs then override the environment's")
    package static let databaseURL = Option<String?>.text(
        "database-url", placeholder: "URL", environment: "DATABASE_URL",
        help: "The PostgreSQL server, as a libpq URL or key=value text; DATABASE_URL_FILE names "
            + "a file that contains it")
    package static let redisURL = Option<String?>.text(
        "redis-url", placeholder: "URL", environment: "REDIS_URL",
        help: "The Redis server; REDIS_URL_FILE names a file that contains the URL")
    package static let readOnly = Option.flag(
        "read-only", environment: "ERRAND_READ_ONLY",
        help: "Refuse every command that makes changes")
    package static let commandTimeout = Option<Duration?>.duration(
        "command-timeout", range: .milliseconds(1) ... .seconds(365 * 86_400),
        help: "Stop the command after this duration, with exit code 8 (default: no limit)")
    package static let color = Option<ColorChoice>.choice(
        "color", default: .auto, environment: "ERRAND_COLOR",
        help: "Color the output; NO_COLOR in the environment disables color")
    package static let quiet = Option.flag(
        "quiet", short: "q", help: "Print only results and errors: no notes, no progress")
    package static let yes = Option<Bool>.yes
    package static let help = Option.flag("help", short: "h", help: "Show this help")

    static let all: [any DeclaredOption] = [
        output, columns, noHeaders, utc, watch, context, databaseURL, redisURL, readOnly,
        commandTimeout, color, quiet, yes, help,
    ]

    /// The options that apply to a command of that effect.
    static func shown(for effect: Effect) -> [any DeclaredOption] {
        all.filter { option in
            switch option.spec.name {
            case watch.spec.name: effect == .read
            case yes.spec.name: effect.isChange
            case commandTimeout.spec.name: effect != .run
            default: true
            }
        }
    }
}
