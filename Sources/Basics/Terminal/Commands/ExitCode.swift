/// The exit code of a command.
public enum ExitCode: Int32, Sendable, CaseIterable {
    case done = 0
    case failed = 1
    /// The command line is invalid; nothing was tried.
    case usage = 2
    case notFound = 3
    /// The state changed meanwhile, or a unique key is taken.
    case conflict = 4
    /// The command is not allowed, read-only mode refuses it, or it was not confirmed.
    case refused = 5
    /// A server cannot be reached.
    case unreachable = 6
    case partlyDone = 7
    case timedOut = 8
    /// `status --check` found a warning.
    case warning = 10
    /// `status --check` found a critical problem.
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

/// The failure of a command, with a message for its user.
///
/// Printed on standard error as `errand: message` and, on a separate line, the hint.
public struct CommandFailure: Error, Equatable, Sendable {
    /// The exit code of the process.
    public var exit: ExitCode
    /// What happened; without capital letter and period, because it follows `errand: `.
    public var message: String
    /// The next step for the user.
    public var hint: String?

    /// A failure with the exit code of the process.
    public init(exit: ExitCode, message: String, hint: String? = nil) {
        self.exit = exit
        self.message = message
        self.hint = hint
    }

    static func usage(_ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(exit: .usage, message: message, hint: hint)
    }
}
