import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand retention …`.
enum RetentionCommands {
    static let all = [list, run, set]

    private static func unknown(_ rule: String, _ known: [RetentionRecord]) -> CommandFailure {
        let guess = nearest(to: rule, among: known.map(\.name)).map { "did you mean \($0)? " } ?? ""
        return CommandFailure(
            exit: .notFound, message: "there is no rule of retention \(rule)",
            hint: guess + "'errand retention ls' lists them")
    }

    // MARK: ls

    private static let list = Command(
        "retention", "ls", effect: .read,
        summary: "List how long data about people is kept, and the last runs",
        discussion: """
            Every night a worker of the queue \(RunRetention.options.queue) deletes what is older. \
            'errand db retention' lists what the engine keeps.
            """,
        examples: [.init("errand retention ls", "rules, last run and rows")]
    ) { invocation in
        let rules = try await RetentionRows(session: try invocation.session()).rules()
        try invocation.output.list(
            rules.map { rule in
                Record([
                    ("rule", .text(rule.name)), ("module", .text(rule.module)),
                    ("keep", .text(rule.keep)),
                    ("started_at", .optional(rule.startedAt) { $0.cell }),
                    ("ended_at", .optional(rule.endedAt) { $0.cell }),
                    ("rows", .optional(rule.rows) { .int($0) }),
                    ("total", .optional(rule.total) { .int($0) }),
                    ("failure", .optional(rule.failure) { .text($0) }),
                    ("description", .text(rule.description)),
                ])
            },
            columns: [
                Column("rule"), Column("keep"), Column("started_at"), Column("rows"),
                Column("failure"), Column("description", isFlexible: true),
            ], empty: "no module has rules of retention")
        return .done
    }

    // MARK: run

    private static let only = Option<String?>.text(
        "rule", placeholder: "NAME", help: "Only this rule")
    private static let dryRun = Option.flag(
        "dry-run", help: "Count what would be deleted, and delete nothing")
    /// A dry run counts at most this number of rows of each rule.
    private static let most: Int32 = 1_000_000

    private static let run = Command(
        "retention", "run", effect: .write, summary: "Delete what is older than the rules keep",
        discussion: """
            Deletes in batches of at most \(RunRetention.batch) rows, each in a transaction of its \
            own. A dry run counts up to a million rows of each rule.
            """,
        examples: [
            .init("errand retention run --dry-run", "what the next night deletes"),
            .init("errand retention run --rule people.unused --yes", "one rule, now"),
        ],
        options: [only, dryRun]
    ) { invocation in
        let now = Instant.now()
        let rows = RetentionRows(session: try invocation.session())
        let rules = try await rows.rules()
        let chosen = rules.filter { invocation[only] == nil || $0.name == invocation[only] }
        if let name = invocation[only], chosen.isEmpty { throw unknown(name, rules) }
        func show(_ results: [RunRetention.Result]) throws {
            try invocation.output.list(
                results.map { result in
                    Record([
                        ("rule", .text(result.rule)), ("rows", .int(result.rows)),
                        ("failure", .optional(result.failure) { .text($0) }),
                    ])
                }, empty: "no module has rules of retention")
        }
        if invocation[dryRun] {
            var results: [RunRetention.Result] = []
            for rule in chosen {
                let count = try await rows.count(rule.name, upTo: most, now: now)
                results.append(.init(rule: rule.name, rows: count, failure: nil))
            }
            try show(results)
            return .done
        }
        try invocation.confirm(
            invocation[only].map { "delete what the rule \($0) no longer keeps?" }
                ?? "delete what \(chosen.count) rules no longer keep?")
        let results = try await RunRetention.apply(
            only: invocation[only], in: try invocation.patientPool(1), now: now)
        try show(results)
        guard let failed = results.first(where: { $0.failure != nil }) else { return .done }
        throw CommandFailure(
            exit: results.count == 1 ? .failed : .partlyDone,
            message: "the rule of retention \(failed.rule) failed with SQLSTATE "
                + (failed.failure ?? ""),
            hint: "the log of PostgreSQL has the statement")
    }

    // MARK: set

    private static let rule = Argument.required(
        ValueFormat<String>("RULE", expected: "the name of a rule") { $0.isEmpty ? nil : $0 },
        help: "The rule's name")
    private static let keep = Argument.required(
        ValueFormat<String>("TIME", expected: "a time such as 90 days or 13 months") { text in
            let words = text.split(separator: " ")
            guard words.count == 2, let count = Int(words[0]), (1...10_000).contains(count),
                ["hour", "day", "week", "month", "year"].contains(
                    words[1].last == "s" ? String(words[1].dropLast()) : String(words[1]))
            else { return nil }
            return text
        }, help: "How long rows are kept, such as '90 days' or '13 months'")

    private static let set = Command(
        "retention", "set", effect: .write, summary: "Change how long a rule keeps rows",
        discussion: "The next run applies it; a shorter time deletes more.",
        examples: [.init("errand retention set people.unused '36 months'", "keep accounts longer")],
        options: [AuditOptions.reason], arguments: [rule, keep]
    ) { invocation in
        let (name, keep) = (invocation[rule], invocation[keep])
        let rows = RetentionRows(session: try invocation.session())
        let rules = try await rows.rules()
        guard let before = rules.first(where: { $0.name == name }) else {
            throw unknown(name, rules)
        }
        try invocation.confirm("keep \(keep) instead of \(before.keep) by the rule \(name)?")
        let line = AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "retention \(name)", reason: invocation[AuditOptions.reason],
            change: try? AuditLine.json(["before": before.keep, "after": keep]))
        guard let kept = try await rows.set(name, keep: keep, note: line.statement) else {
            throw unknown(name, rules)
        }
        try invocation.output.show(Record([("rule", .text(name)), ("keep", .text(kept))]))
        return .done
    }
}
