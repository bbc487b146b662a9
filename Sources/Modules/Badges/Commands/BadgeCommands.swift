import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand badge …`.
enum BadgeCommands {
    static let all = [list, kinds, recount]

    // MARK: ls

    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "The person"
    ).required()

    private static let list = Command(
        "badge", "ls", effect: .read, summary: "List the badges of a person and their progress",
        discussion: """
            A line for each kind, and for each establishment where a kind counts establishments \
            apart. LEVEL is the highest badge. PROGRESS counts the deeds: it may be lower than \
            LEVEL, as a deed that was reversed takes no badge away.
            """,
        examples: [.init("errand badge ls --person 42", "what a person has earned")],
        options: [person, PageOptions.limit]
    ) { invocation in
        let (id, session) = (invocation[person], try invocation.session())
        let found = try await BadgeRows(session: session).badges(
            of: Int64(id), limit: invocation[PageOptions.limit])
        guard !found.isEmpty else { throw unknown(id) }
        try invocation.output.list(
            found.map { badge in
                Record([
                    ("badge", .text(badge.kind)), ("title", .text(badge.title)),
                    ("establishment", .optional(badge.establishment) { .id(Int($0)) }),
                    ("establishment_name", .optional(badge.establishmentName) { .text($0) }),
                    ("level", .optional(badge.level) { .int($0) }),
                    ("earned_at", .optional(badge.earnedAt) { $0.cell }),
                    ("progress", .int(badge.progress)),
                    ("next_level", .optional(badge.nextLevel) { .int($0) }),
                ])
            },
            columns: [
                Column("badge"),
                Column("establishment_name", title: "ESTABLISHMENT", isFlexible: true),
                Column("level"), Column("earned_at"), Column("progress"), Column("next_level"),
            ], empty: "no badges")
        return .done
    }

    private static func unknown(_ person: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no person \(person)",
            hint: "'errand person show \(person)' shows who is known")
    }

    // MARK: kinds

    private static let kinds = Command(
        "badge", "kinds", effect: .read, summary: "List the kinds of badges and their levels",
        examples: [.init("errand badge kinds", "what earns a badge")]
    ) { invocation in
        let found = try await BadgeRows(session: try invocation.session()).kinds()
        try invocation.output.list(
            found.map { kind in
                Record([
                    ("badge", .text(kind.kind)), ("title", .text(kind.title)),
                    ("deed", .text(kind.deed)), ("by_establishment", .flag(kind.isByEstablishment)),
                    ("levels", .list(kind.levels.map { String($0) })),
                    ("sources", .list(kind.sources)),
                ])
            },
            columns: [
                Column("badge"), Column("title"), Column("deed"), Column("by_establishment"),
                Column("levels", isFlexible: true), Column("sources"),
            ], empty: "no kinds")
        return .done
    }

    // MARK: recount

    private static let onlyPerson = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only this person")

    private static let recount = Command(
        "badge", "recount", effect: .write,
        summary: "Repair counts and badges that are missing, as the nightly recount does",
        discussion: """
            Counts deeds again from the modules that know them. A count that is too low is \
            corrected, and the badges that it earns are awarded; nobody is notified. No count is \
            lowered, as modules forget deeds with time, and no badge is taken away.
            """,
        examples: [
            .init("errand badge recount --person 42", "one person"),
            .init("errand badge recount", "everybody"),
        ],
        options: [onlyPerson, AuditOptions.reason]
    ) { invocation in
        let session = try invocation.session()
        let id = invocation[onlyPerson]
        try invocation.confirm("recount the badges of \(id.map { "person \($0)" } ?? "everybody")?")
        let found: Recount
        if let id {
            guard let one = try await Recount.one(Int64(id), session) else { throw unknown(id) }
            found = one
        } else {
            found = try await Recount.all { try await session.pipeline([$0])[0] }
        }
        let line = AuditLine(
            operatorName: invocation.operatorName, action: "badge recount",
            subject: id.map { "person \($0)" } ?? "everybody",
            reason: invocation[AuditOptions.reason], change: nil)
        _ = try await session.pipeline([line.statement])
        try invocation.output.show(
            Record([
                ("people", .int(found.people)), ("corrected", .int(found.corrected)),
                ("awarded", .int(found.awarded)),
            ]))
        return .done
    }
}
