/// How results are printed.
package enum OutputFormat: String, CaseIterable, Sendable {
    /// The columns that matter most, cut to the terminal.
    case table
    /// All columns, uncut.
    case wide
    /// One object a line; times in RFC 3339, UTC.
    case json
    /// RFC 4180, with the names and values of JSON.
    case csv
    /// Only what the next command takes: an id or a name a line.
    case name

    /// Whether a person reads it, rather than a program.
    package var isForPeople: Bool { self == .table || self == .wide }
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
        help: "Print a table, all its columns (wide), JSON with one object a line, CSV, or only "
            + "the ids or names")
    package static let columns = Option.texts(
        "columns", placeholder: "NAME,…",
        help: "Only these columns, in this order; named as JSON names them, see 'errand fields'")
    package static let noHeaders = Option.flag(
        "no-headers", help: "Leave out the line of titles of tables and CSV")
    package static let utc = Option.flag(
        "utc", help: "Show times in UTC, also to people; JSON and CSV always have them so")
    package static let watch = Option<Double?>.value(
        "watch", .number("SECONDS", in: 0.5...86_400),
        help: "Look again every so many seconds, until interrupted; not for what changes things")
    package static let context = Option<String?>.text(
        "context", placeholder: "NAME", environment: "ERRAND_CONTEXT",
        help: "Use this context of contexts.json; given here, its URLs win over the environment's")
    package static let databaseURL = Option<String?>.text(
        "database-url", placeholder: "URL", environment: "DATABASE_URL",
        help: "PostgreSQL to use, as a libpq URL or key=value text; DATABASE_URL_FILE may name "
            + "a file that holds it")
    package static let redisURL = Option<String?>.text(
        "redis-url", placeholder: "URL", environment: "REDIS_URL",
        help: "Redis to use; REDIS_URL_FILE may name a file that holds it")
    package static let readOnly = Option.flag(
        "read-only", environment: "ERRAND_READ_ONLY", help: "Refuse whatever changes something")
    package static let commandTimeout = Option<Duration?>.duration(
        "command-timeout", range: .milliseconds(1) ... .seconds(365 * 86_400),
        help: "Give up after this time, with exit code 8 (default: never)")
    package static let color = Option<ColorChoice>.choice(
        "color", default: .auto, environment: "ERRAND_COLOR",
        help: "Colour the output; NO_COLOR in the environment turns it off")
    package static let quiet = Option.flag(
        "quiet", short: "q", help: "Print results and errors only: no notes, no progress")
    package static let yes = Option<Bool>.yes
    package static let help = Option.flag("help", short: "h", help: "Explain the command")

    static let all: [any DeclaredOption] = [
        output, columns, noHeaders, utc, watch, context, databaseURL, redisURL, readOnly,
        commandTimeout, color, quiet, yes, help,
    ]

    /// Those worth showing for a command of that effect; the others mean nothing to it.
    static func shown(for effect: Effect) -> [any DeclaredOption] {
        all.filter { option in
            switch option.spec.name {
            case watch.spec.name: effect == .looks
            case yes.spec.name: effect.isChange
            case commandTimeout.spec.name: effect != .starts
            default: true
            }
        }
    }
}
