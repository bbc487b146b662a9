import ErrandTerminal

/// One thing that was looked at; where it is amiss, with the command that mends it or looks
/// further.
public struct Finding: Sendable {
    /// How much it matters.
    public enum Grade: String, CaseIterable, Sendable {
        /// Work cannot go on.
        case critical
        /// Somebody should see to it.
        case warning
        /// Worth knowing, and no trouble.
        case note
        /// Nothing is wrong.
        case ok
    }

    /// What it is about.
    public var check: String
    /// How much it matters.
    public var grade: Grade
    /// What was found, in words.
    public var found: String
    /// The command that fixes it or looks further, to be pasted into a shell; none when it is ok.
    public var remedy: String?

    /// A finding; with a remedy unless it is ok.
    public init(check: String, grade: Grade, found: String, remedy: String? = nil) {
        self.check = check
        self.grade = grade
        self.found = found
        self.remedy = remedy
    }

    private var mark: Cell {
        let style: Style =
            switch grade {
            case .ok: .green
            case .note: .cyan
            case .warning: .yellow
            case .critical: .red
            }
        return .marked(grade.rawValue, style)
    }

    var record: Record {
        Record([
            ("check", .text(check)), ("grade", mark), ("found", .text(found)),
            ("remedy", .optional(remedy) { .text($0) }),
        ])
    }
}

extension [Finding] {
    /// The worst first, otherwise as they stand.
    var worstFirst: [Finding] {
        Finding.Grade.allCases.flatMap { grade in filter { $0.grade == grade } }
    }

    /// What a probe is told.
    var exitCode: ExitCode {
        if contains(where: { $0.grade == .critical }) { return .critical }
        return contains { $0.grade == .warning } ? .warning : .done
    }
}
