import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand dead ls`, `show`, `group` and `export`: looking at what was given up.
enum DeadCommands {
    static let all = [list, show, group, export] + DeadBulkCommands.all

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The dead letter's id")

    private static let list = Command(
        "dead", "ls", effect: .looks,
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

    /// What was asked for, of the dead letters.
    static func filter(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter {
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        filter.states = [.dead]
        return filter
    }

    private static let show = Command(
        "dead", "show", effect: .looks,
        summary: "Show one dead letter: its arguments, attempts and errors",
        examples: [.init("errand dead show 4711", "why it was given up")],
        options: RevealOptions.all, arguments: [id]
    ) { invocation in
        let inspector = try await RevealOptions.inspector(
            invocation, subject: "job \(invocation[id])")
        guard let job = try await inspector.job(Int64(invocation[id])) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no dead letter \(invocation[id])",
                hint: "'errand dead ls' lists what there is")
        }
        guard job.state == .dead else {
            throw CommandFailure(
                exit: .conflict,
                message: "job \(job.id) is no dead letter: it is \(job.state.rawValue)",
                hint: "'errand job show \(job.id)' tells its story")
        }
        try invocation.output.show(JobCommands.record(job))
        return .done
    }

    private static let group = Command(
        "dead", "group", effect: .looks,
        summary: "Gather dead letters by what went wrong",
        discussion: """
            Errors are alike when their first lines differ in numbers, hexadecimal ids, UUIDs and \
            quoted texts only. The fingerprint names such a group: all commands about dead letters \
            take it with --fingerprint.
            """,
        examples: [
            .init("errand dead group --newer 1d", "what went wrong since yesterday")
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
            ], empty: "no dead letter passes these filters")
        return .done
    }

    // MARK: export

    private static let page = 1_000

    private static let most = Option<Int?>.integer(
        "limit", range: 1...Int.max, help: "At most so many; all unless given")

    private static let export = Command(
        "dead", "export", effect: .looks,
        summary: "Write dead letters as JSON, one a line, the newest first",
        discussion:
            "With the names of 'errand job show --output json'; --output csv is obeyed too.",
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
