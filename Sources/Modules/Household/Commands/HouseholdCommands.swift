import ErrandCommand
import FoundationEssentials
import ErrandGregorian
import ErrandLedger
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// `errand household …`: groups of room-mates, what they owe, their chores and what happened.
enum HouseholdCommands {
    static let all =
        [list, show] + HouseholdDebtCommands.all + [chores, feed] + HouseholdStatsCommand.all

    // MARK: ls

    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID",
        help: "Only those where this person lives or has lived")
    private static let zone = Option<String?>.text(
        "zone", placeholder: "NAME", help: "Only those of this time zone, by its IANA name")
    private static let owing = Option.flag("owing", help: "Only those where somebody owes")

    private static let list = Command(
        "household", "ls", effect: .looks, summary: "List groups of room-mates, the newest first",
        discussion: "What is owed is the sum over all pairs, in the group's currency.",
        examples: [
            .init("errand household ls --person 42", "where somebody lives"),
            .init("errand household ls --zone America/Toronto --owing", "who is told of debts"),
        ],
        options: [person, zone, owing, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = GroupFilter()
        filter.person = invocation[person].map(Int64.init)
        filter.zone = invocation[zone]
        filter.isOwing = invocation[owing]
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let groups = try await GroupRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            groups.map(HouseholdWords.record),
            columns: [
                Column("id"), Column("name", isFlexible: true), Column("zone"), Column("members"),
                Column("chores"), Column("owed"), Column("currency"), Column("dues_told_on"),
            ], empty: "no group passes these filters")
        PageOptions.tellMore(invocation, count: groups.count, last: groups.last?.id)
        return .done
    }

    // MARK: show

    private static let show = Command(
        "household", "show", effect: .looks,
        summary: "Show a group: who lives there, open invitations, and how much there is",
        discussion: """
            A balance above zero is what others owe a person in all, one below what they owe. Who \
            has left stays, with what they owe and are owed.
            """,
        examples: [.init("errand household show 12", "members, invitations, totals")],
        arguments: [HouseholdWords.id]
    ) { invocation in
        let (id, rows) = (
            invocation[HouseholdWords.id], GroupRows(session: try invocation.session())
        )
        guard let found = try await rows.whole(Int64(id), now: .now()) else {
            throw HouseholdWords.unknown(id)
        }
        let (group, totals) = (found.group, found.totals)
        let members = found.members.map { HouseholdWords.record($0, in: group.currency) }
        var record = HouseholdWords.record(group)
        // Below: who they are, and money as a card has it.
        record.fields.removeAll { ["members", "owed"].contains($0.name) }
        for (name, count) in [
            ("bills", totals.bills), ("trips", totals.trips), ("payments", totals.payments),
            ("due", totals.due), ("overdue", totals.overdue), ("items", totals.items),
            ("notes", totals.notes),
        ] { record.append(name, .int(count)) }
        for (name, amount) in [("owed", group.owed), ("spent", totals.spent)] {
            record.append(name, HouseholdWords.cell(amount, in: group.currency, invocation))
        }
        record.append("members", .records(members))
        record.append("invitations", .records(found.invitations.map(HouseholdWords.record)))
        try invocation.output.show(record)
        return .done
    }

    // MARK: chores

    private static let faulty = Option.flag(
        "faulty", help: "Only those that do not come until somebody changes them")

    private static let chores = Command(
        "household", "chores", effect: .looks,
        summary: "List a group's chores: whose turn it is, when they come next, who had how many",
        discussion: """
            The turn is the one to be done now, if there is one. The rotation names who takes \
            turns with how many they have had, the next one first; days are by the clocks of the \
            group. A fault says why a chore comes no more until somebody of the group changes it: \
            its rule names no day, say, or nobody is left who takes turns.
            """,
        examples: [
            .init("errand household chores 12", "all of a group"),
            .init("errand household chores 12 --faulty", "rules that somebody has to mend"),
        ],
        options: [faulty, PageOptions.limit, PageOptions.cursor], arguments: [HouseholdWords.id]
    ) { invocation in
        let (id, session) = (invocation[HouseholdWords.id], try invocation.session())
        _ = try await HouseholdWords.group(id, session)
        let chores = try await ChoreRows(session: session).page(
            of: Int64(id), faultyOnly: invocation[faulty],
            behind: Int64(invocation[PageOptions.cursor] ?? 0),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            chores.map(HouseholdWords.record),
            columns: [
                Column("id"), Column("title", isFlexible: true), Column("state"),
                Column("assignee"), Column("due_on"), Column("next_on"), Column("next_assignee"),
                Column("rotation", title: "ROTATION"), Column("fault", isFlexible: true),
            ], empty: "group \(id) has no such chore")
        PageOptions.tellMore(invocation, count: chores.count, last: chores.last?.id)
        return .done
    }

    // MARK: feed

    private static let feed = Command(
        "household", "feed", effect: .looks,
        summary: "Show what happened in a group lately, the newest first",
        discussion: """
            A group keeps its last 30 events. The data are the ids of what each is about; the \
            number counts all that ever happened.
            """,
        examples: [.init("errand household feed 12", "as its members see it")],
        arguments: [HouseholdWords.id]
    ) { invocation in
        let (id, session) = (invocation[HouseholdWords.id], try invocation.session())
        _ = try await HouseholdWords.group(id, session)
        let events = try await GroupRows(session: session).feed(of: Int64(id))
        try invocation.output.list(
            events.map(HouseholdWords.record),
            columns: [
                Column("number"), Column("at"), Column("event"), Column("person"),
                Column("data", isFlexible: true),
            ], empty: "nothing has happened in group \(id)")
        return .done
    }
}
