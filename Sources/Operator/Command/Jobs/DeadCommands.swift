import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand dead ls`, `show`, `group` and `export`: reading dead letters.
enum DeadCommands {
    static let all = [list, show, group, export] + DeadBulkCommands.all

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The dead letter's id")

    private static let list = Command(
        "dead", "ls", effect: .read,
        summary: "List dead letters, the newest first",
        discussion: JobFilterOptions.reach,
        examples: [
            .init("errand dead ls --queue mail --error timeout", "which mails timed out")
        ],
        options: JobFilterOptions.all + JobFilterOptions.page + RevealOptions.all
    ) { invocation in
        var inspector = Inspector(session: try invocation.session())
        let filter = try await DeadCommands.filter(invocation, inspector)
        inspector = try await RevealOptions.revealing(
            invocation, inspector, subject: "dead letters", filter)
        try await JobFilterOptions.list(
            filter, inspector, columns: listed, noun: "dead letter", invocation)
        return .done
    }

    static let listed = [
        Column("id"), Column("kind"), Column("queue"), Column("attempt"),
        Column("finished_at", title: "DIED"), Column("fingerprint"),
        Column("last_error", title: "ERROR", isFlexible: true),
    ]

    /// The requested filter, limited to dead letters.
    static func filter(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter {
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        filter.states = [.dead]
        return filter
    }

    private static let show = Command(
        "dead", "show", effect: .read,
        summary: "Show one dead letter: its arguments, attempts and errors",
        examples: [.init("errand dead show 4711", "why job 4711 died")],
        options: RevealOptions.all, arguments: [id]
    ) { invocation in
        let inspector = try await RevealOptions.inspector(
            invocation, subject: "job \(invocation[id])")
        guard let job = try await inspector.job(Int64(invocation[id])) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no dead letter \(invocation[id])",
                hint: "'errand dead ls' lists the dead letters")
        }
        guard job.state == .dead else {
            throw CommandFailure(
                exit: .conflict,
                message: "job \(job.id) is not a dead letter: it is \(job.state.rawValue)",
                hint: "'errand job show \(job.id)' shows its history")
        }
        try invocation.output.show(JobCommands.record(job))
        return .done
    }

    private static let group = Command(
        "dead", "group", effect: .read,
        summary: "Group dead letters by error",
        discussion: """
            Errors belong to one group when their first lines differ only in numbers, hexadecimal \
            ids, UUIDs and quoted texts. The fingerprint identifies a group: all commands for dead \
            letters accept it as --fingerprint.
            """,
        examples: [
            .init("errand dead group --newer 1d", "errors of the last 24 hours")
        ],
        options: JobFilterOptions.all + [PageOptions.limit] + RevealOptions.all
    ) { invocation in
        var inspector = Inspector(session: try invocation.session())
        let filter = try await DeadCommands.filter(invocation, inspector)
        inspector = try await RevealOptions.revealing(
            invocation, inspector, subject: "dead letters", filter)
        let groups = try await inspector.deadGroups(
            filter, limit: invocation[PageOptions.limit])
        let now = Instant.now().date
        try invocation.output.list(
            groups.map { group in
                Record([
                    ("fingerprint", .text(group.fingerprint)), ("count", .int(group.count)),
                    ("kind", .text(group.kind)),
                    ("first_seen", .age(group.firstSeen.date, now: now)),
                    ("last_seen", .age(group.lastSeen.date, now: now)),
                    ("sample", .id(Int(group.sample))), ("pattern", .text(group.pattern)),
                    ("error", .optional(group.error) { .text($0) }),
                ])
            },
            columns: [
                Column("fingerprint"), Column("count"), Column("kind"),
                Column("first_seen", title: "FIRST"), Column("last_seen", title: "LAST"),
                Column("sample"), Column("pattern", title: "ERROR", isFlexible: true),
            ], empty: "no dead letters match")
        return .done
    }

    // MARK: export

    private static let page = 1_000

    private static let most = Option<Int?>.integer(
        "limit", range: 1...Int.max, help: "Export at most N (default: all)")

    private static let export = Command(
        "dead", "export", effect: .read,
        summary: "Export dead letters as JSON lines, the newest first",
        discussion:
            "The fields are those of 'errand job show --output json'. --output csv writes CSV.",
        examples: [
            .init("errand dead export --kind notification.email > dead.jsonl", "before a discard")
        ],
        options: JobFilterOptions.all + [most, JobFilterOptions.before] + RevealOptions.all
    ) { invocation in
        var inspector = Inspector(session: try invocation.session())
        var filter = try await DeadCommands.filter(invocation, inspector)
        inspector = try await RevealOptions.revealing(
            invocation, inspector, subject: "dead letters", filter)
        filter.before = invocation[JobFilterOptions.before].map(Int64.init)
        var written = 0
        while true {
            filter.limit = min(page, (invocation[most] ?? Int.max) - written)
            guard filter.limit > 0 else { break }
            let letters = try await inspector.jobs(filter)
            let records = letters.map(JobCommands.record)
            if invocation.output.isForPeople {
                try invocation.output.jsonLines(records)
            } else {
                try invocation.output.list(records)
            }
            written += letters.count
            guard letters.count == filter.limit, let last = letters.last else { break }
            filter.before = last.id
        }
        try invocation.output.flush()
        invocation.output.note("dead letters written: \(HumanFormat.count(written))")
        return .done
    }
}
