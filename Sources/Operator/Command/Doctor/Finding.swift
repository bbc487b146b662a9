import ErrandTerminal

/// The result of one check, with the command that fixes or investigates a problem.
public struct Finding: Sendable {
    /// The severity of a finding.
    public enum Severity: String, CaseIterable, Sendable {
        /// Jobs do not run, or are about to be lost.
        case critical
        /// Someone should act.
        case warning
        /// Information that needs no action.
        case note
        /// No problem.
        case ok
    }

    /// The name of the check.
    public var check: String
    /// The severity.
    public var severity: Severity
    /// The message: what was found.
    public var message: String
    /// The shell command that fixes or investigates the problem; nil if there is none.
    public var remedy: String?

    /// Creates a finding; pass a remedy unless it is ok.
    public init(check: String, severity: Severity, message: String, remedy: String? = nil) {
        self.check = check
        self.severity = severity
        self.message = message
        self.remedy = remedy
    }

    private var mark: Cell {
        let style: Style =
            switch severity {
            case .ok: .green
            case .note: .cyan
            case .warning: .yellow
            case .critical: .red
            }
        return .marked(severity.rawValue, style)
    }

    var record: Record {
        Record([
            ("check", .text(check)), ("severity", mark), ("message", .text(message)),
            ("remedy", .optional(remedy) { .text($0) }),
        ])
    }
}

extension [Finding] {
    /// The findings by severity, the most severe first; otherwise in their order.
    var worstFirst: [Finding] {
        Finding.Severity.allCases.flatMap { severity in filter { $0.severity == severity } }
    }

    /// The exit code for the most severe finding.
    var exitCode: ExitCode {
        if contains(where: { $0.severity == .critical }) { return .critical }
        return contains { $0.severity == .warning } ? .warning : .done
    }
}

extension [Finding] {
    /// Adds a finding about a number of things, such as "votes open after their deadline: 3";
    /// none for 0.
    package mutating func add(
        _ severity: Finding.Severity, of check: String, _ what: String, _ count: Int,
        remedy: String
    ) {
        guard count > 0 else { return }
        append(
            Finding(
                check: check, severity: severity, message: "\(what): \(HumanFormat.count(count))",
                remedy: remedy))
    }
}
