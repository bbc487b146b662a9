import FoundationEssentials
import ErrandTerminal

/// `errand completion`, `errand manual` and `errand fields`: what is made from declarations.
enum ShellCommands {
    static let all = [completion, manual, fields]

    private static let shell = Argument.required(
        ValueFormat.choice(of: Shell.self, "SHELL"), help: "bash, zsh or fish")

    private static let completion = Command(
        "completion", effect: .looks,
        summary: "Print what teaches a shell to complete the commands",
        discussion: """
            Verbs, options and choices are known to the script; the names of queues, schedules \
            and so on are asked for when they are needed, for two seconds at most.
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
        ValueFormat.text("FOLDER"), help: "Where to write them; it is made if need be")

    private static let manual = Command(
        "manual", effect: .configures, summary: "Write the manual pages into a folder",
        discussion: "One for the program, and one for each noun, such as errand-job(1).",
        examples: [.init("errand manual /usr/local/share/man/man1", "then 'man errand-job'")],
        arguments: [folder]
    ) { invocation in
        let flaws = invocation.program.flaws
        guard flaws.isEmpty else {
            throw CommandFailure(
                exit: .failed, message: "the commands are declared badly",
                hint: flaws.joined(separator: "\n"))
        }
        let folder = invocation[folder]
        let pages = Manual(of: invocation.program, notes: notes(invocation.modules)).pages
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                exit: .failed, message: "cannot make the folder \(folder)",
                hint: "name a folder that you may write to")
        }
        for page in pages { try TextFile.replace(folder + "/" + page.file, with: page.text) }
        try invocation.output.list(
            pages.map { Record([("file", .text(folder + "/" + $0.file))]) })
        return .done
    }

    private static let field = Argument<String?>.optional(
        .text("NAME"), help: "Only this name")

    private static let fields = Command(
        "fields", effect: .looks,
        summary: "Explain the names that JSON, CSV and --columns have",
        discussion: """
            A name means the same wherever it stands, and stays as it is. Times are RFC 3339 in \
            UTC, lengths of time are seconds, and sizes are bytes.
            """,
        examples: [
            .init("errand fields", "all of them"), .init("errand fields p95_wait", "one of them"),
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
            ("DATABASE_URL, REDIS_URL", "The servers; --database-url and --redis-url win."),
            (
                "DATABASE_URL_FILE, REDIS_URL_FILE",
                "Files whose only line stands for the variable without _FILE."
            ),
            (
                "ERRAND_POOLER",
                "What stands before PostgreSQL: session, transaction, or detected (the default)."
            ),
            ("ERRAND_MODULES", "The modules that 'migrate' installs: names with commas, or all."),
            ("ERRAND_CONTEXT", "The context to use, of those in contexts.json."),
            ("ERRAND_OPERATOR", "Who acts, for the record; else USER."),
            ("ERRAND_READ_ONLY", "1 refuses whatever changes something."),
            ("ERRAND_LOG", "The least level that the log shows: debug, info, warning, error."),
            ("ERRAND_LOG_FORMAT", "text or json; else text on a terminal and JSON elsewhere."),
            ("ERRAND_COLOR, NO_COLOR", "auto, always or never; NO_COLOR turns colour off."),
            ("TZ", "The zone of the times that tables show; else that of the system."),
            ("TZDIR", "Where the time zones are."),
            ("COLUMNS", "The width of the terminal, if it does not tell."),
            ("XDG_CONFIG_HOME", "Where the folder errand with contexts.json is; else ~/.config."),
        ]
        notes.environment += modules.all.flatMap(\.variables)
        notes.files = [
            ("~/.config/errand/contexts.json", "The named contexts; see errand-context(1).")
        ]
        notes.exitCodes = [
            (.done, "Done."), (.failed, "It failed."),
            (.usage, "The command line was wrong; nothing was tried."),
            (.notFound, "There is no such thing."),
            (.conflict, "The state changed meanwhile, or a unique key is taken."),
            (.refused, "A rule forbids it, it is read-only, or nobody confirmed it."),
            (.unreachable, "A server cannot be reached."), (.partlyDone, "Partly done."),
            (.timedOut, "It took too long."),
            (.warning, "A check found something to look at."),
            (.critical, "A check found something to mend now."),
        ]
        return notes
    }
}
