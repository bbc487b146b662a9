import ErrandTerminal

/// One thing that was looked at; where it is amiss, with the command that mends it or looks
/// further.
struct Finding {
    enum Grade: String, CaseIterable {
        case critical, warning
        /// Worth knowing, and no trouble.
        case note
        case ok
    }

    /// What it is about.
    var check: String
    var grade: Grade
    var found: String
    var remedy: String?

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
