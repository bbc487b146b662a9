import FoundationEssentials
import ErrandTerminal

/// `errand completion`, `errand manual` and `errand fields`: output generated from declarations.
enum ShellCommands {
    static let all = [completion, manual, fields]

    private static let shell = Argument.required(
        ValueFormat.choice(of: Shell.self, "SHELL"), help: "bash, zsh or fish")

    private static let completion = Command(
        "completion", effect: .read,
        summary: "Print the completion script of a shell",
        discussion: """
            The script contains the verbs, options and choices. It queries names, such as those \
            of queues and schedules, when they are needed, for two seconds at most.
            """,
        examples: [
            .init("errand completion bash > /etc/bash_completion.d/errand", "for all users"),
            .init("errand completion zsh > ~/.zfunc/_errand", "in a folder of fpath"),
            .init("errand completion fish | source", "for this session"),
        ],
        arguments: [shell]
    ) { invocation in
        let script = invocation.program.completion(for: invocation[shell])
        try invocation.output.screen.write(script.utf8)
        return .done
    }

    private static let folder = Argument.required(
        ValueFormat.text("FOLDER"), help: "The folder to write to; created if missing")

    private static let markdown = Option.flag(
        "markdown", help: "Write the reference in Markdown instead: cli.md and settings.md")

    private static let manual = Command(
        "manual", effect: .configure, summary: "Write the manual pages to a folder",
        discussion: "One page for the program, and one for each noun, such as errand-job(1).",
        examples: [
            .init("errand manual /usr/local/share/man/man1", "then 'man errand-job'"),
            .init("errand manual --markdown docs", "the reference, for a repository or a wiki"),
        ],
        options: [markdown], arguments: [folder]
    ) { invocation in
        let flaws = invocation.program.flaws
        guard flaws.isEmpty else {
            throw CommandFailure(
                exit: .failed, message: "the declarations of commands have errors",
                hint: flaws.joined(separator: "\n"))
        }
        let folder = invocation[folder]
        let manualNotes = notes(invocation.modules)
        let pages =
            invocation[markdown]
            ? MarkdownReference(of: invocation.program, notes: manualNotes).pages
            : Manual(of: invocation.program, notes: manualNotes).pages
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                exit: .failed, message: "cannot create the folder \(folder)",
                hint: "give a folder that you may write to")
        }
        for page in pages { try TextFile.replace(folder + "/" + page.file, with: page.text) }
        try invocation.output.list(
            pages.map { Record([("file", .text(folder + "/" + $0.file))]) })
        return .done
    }

    private static let field = Argument<String?>.optional(
        .text("NAME"), help: "The name of a field (default: all)")

    private static let fields = Command(
        "fields", effect: .read,
        summary: "Explain the field names of JSON, CSV and --columns",
        discussion: """
            A name has the same meaning in every command and does not change. Times are RFC 3339 \
            in UTC, durations are seconds, and sizes are bytes.

            In CSV, an apostrophe precedes a text that a spreadsheet would run as a formula, such \
            as one that begins with =, and symbols replace control characters. JSON has the values \
            as they are.
            """,
        examples: [
            .init("errand fields", "all fields"), .init("errand fields p95_wait", "one field"),
        ],
        arguments: [field]
    ) { invocation in
        let asked = invocation[field]
        let found = FieldNames.all(invocation.modules).filter { asked == nil || $0.name == asked }
        guard !found.isEmpty else {
            let near = nearest(
                to: asked ?? "", among: FieldNames.all(invocation.modules).map(\.name))
            throw CommandFailure(
                exit: .notFound, message: "no record has a field '\(asked ?? "")'",
                hint: near.map { "did you mean \($0)?" } ?? "'errand fields' lists them")
        }
        try invocation.output.list(
            found.map { Record([("field", .text($0.name)), ("meaning", .text($0.meaning))]) },
            columns: [Column("field"), Column("meaning", isFlexible: true)])
        return .done
    }

    private static func notes(_ modules: Modules) -> ManualNotes {
        var notes = ManualNotes()
        notes.environment = [
            (
                "DATABASE_URL, REDIS_URL",
                "The URLs of the servers; --database-url and --redis-url override them."
            ),
            (
                "DATABASE_URL_FILE, REDIS_URL_FILE",
                "Files whose only line is the value of the variable without _FILE; refused if all "
                    + "users of the machine can access them."
            ),
            (
                "ERRAND_POOLER",
                "The pooler in front of PostgreSQL: session, transaction, or detected (default)."
            ),
            (
                "ERRAND_MODULES",
                "The modules that 'migrate' installs: names separated by commas, or all."
            ),
            ("ERRAND_CONTEXT", "The context to use, from contexts.json."),
            ("ERRAND_OPERATOR", "The operator's name in the audit log (default: USER)."),
            ("ERRAND_READ_ONLY", "1 refuses every command that makes changes."),
            ("ERRAND_LOG", "The minimum level of log lines: debug, info, warning or error."),
            (
                "ERRAND_LOG_FORMAT",
                "text or json (default: text on a terminal, otherwise json)."
            ),
            ("ERRAND_COLOR, NO_COLOR", "auto, always or never; NO_COLOR disables color."),
            ("TZ", "The time zone of times in tables (default: the system's)."),
            ("TZDIR", "The folder of the time zone files."),
            ("COLUMNS", "The width of the terminal, if the terminal does not report it."),
            (
                "XDG_CONFIG_HOME",
                "The folder that contains errand/contexts.json (default: ~/.config)."
            ),
        ]
        notes.modules = modules.all.map { ($0.name, $0.variables) }
        notes.files = [
            ("~/.config/errand/contexts.json", "The named contexts; see errand-context(1).")
        ]
        notes.exitCodes = [
            (.done, "Done."), (.failed, "It failed."),
            (.usage, "The command line is invalid; nothing was tried."),
            (.notFound, "The object does not exist."),
            (.conflict, "The state changed meanwhile, or a unique key is taken."),
            (.refused, "Refused: not allowed, read-only, or not confirmed."),
            (.unreachable, "A server cannot be reached."), (.partlyDone, "Partly done."),
            (.timedOut, "Timed out."),
            (.warning, "A check found a warning."),
            (.critical, "A check found a critical problem."),
        ]
        return notes
    }
}
