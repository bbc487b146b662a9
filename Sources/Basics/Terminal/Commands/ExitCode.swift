/// How a command ended, as the shell, cron and probes see it.
public enum ExitCode: Int32, Sendable, CaseIterable {
    case done = 0
    case failed = 1
    /// The command line itself was wrong; nothing was tried.
    case usage = 2
    case notFound = 3
    /// The state changed meanwhile, or a unique key is taken.
    case conflict = 4
    /// A rule forbids it, the session is read-only, or nobody confirmed it.
    case refused = 5
    /// A server cannot be reached.
    case unreachable = 6
    case partlyDone = 7
    case timedOut = 8
    /// `status --check` found something to look at.
    case warning = 10
    /// `status --check` found something to mend now.
    case critical = 11

    /// A stable name for the JSON form of an error.
    public var name: String {
        switch self {
        case .done: "done"
        case .failed: "failed"
        case .usage: "usage"
        case .notFound: "not_found"
        case .conflict: "conflict"
        case .refused: "refused"
        case .unreachable: "unreachable"
        case .partlyDone: "partly_done"
        case .timedOut: "timed_out"
        case .warning: "warning"
        case .critical: "critical"
        }
    }
}

/// Why a command stops, in words for its user.
///
/// Printed on standard error as `errand: message` and, on a line of its own, the hint.
public struct CommandFailure: Error, Equatable, Sendable {
    /// How the program ends.
    public var exit: ExitCode
    /// What went wrong; no capital letter, no full stop, because `errand: ` stands before it.
    public var message: String
    /// What the reader can do next.
    public var hint: String?

    /// A failure with the code that the process exits with.
    public init(exit: ExitCode, message: String, hint: String? = nil) {
        self.exit = exit
        self.message = message
        self.hint = hint
    }

    static func usage(_ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(exit: .usage, message: message, hint: hint)
    }
}
