import ErrandCommand
import FoundationEssentials
import ErrandGregorian
import ErrandLedger
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// `errand household …`: groups of roommates, their debts, chores and events.
enum HouseholdCommands {
    static let all =
        [list, show] + HouseholdDebtCommands.all + [chores, feed] + HouseholdStatsCommand.all

    // MARK: ls

    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID",
        help: "Only groups that this person lives in or has lived in")
    private static let zone = Option<String?>.text(
        "zone", placeholder: "NAME", help: "Only groups in this time zone (IANA name)")
    private static let owing = Option.flag("owing", help: "Only groups with unsettled debts")

    private static let list = Command(
        "household", "ls", effect: .read, summary: "List groups of roommates, newest first",
        discussion: "OWED is the sum of all debts in the group, in the group's currency.",
        examples: [
            .init("errand household ls --person 42", "the groups of one person"),
            .init("errand household ls --zone America/Toronto --owing", "groups with debts"),
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
            groups.map(HouseholdFormatting.record),
            columns: [
                Column("id"), Column("name", isFlexible: true), Column("zone"), Column("members"),
                Column("chores"), Column("owed"), Column("currency"),
                Column("balances_notified_on"),
            ], empty: "no groups match")
        PageOptions.printMore(invocation, count: groups.count, last: groups.last?.id)
        return .done
    }

    // MARK: show

    private static let show = Command(
        "household", "show", effect: .read,
        summary: "Show a group: its members, open invitations and totals",
        discussion: """
            A positive balance is the total that others owe the person; a negative balance is the \
            total that the person owes. Former members stay in the list with their balances.
            """,
        examples: [.init("errand household show 12", "members, invitations and totals")],
        arguments: [HouseholdFormatting.id]
    ) { invocation in
        let (id, rows) = (
            invocation[HouseholdFormatting.id], GroupRows(session: try invocation.session())
        )
        guard let found = try await rows.whole(Int64(id), now: .now()) else {
            throw HouseholdFormatting.unknown(id)
        }
        let (group, totals) = (found.group, found.totals)
        let members = found.members.map { HouseholdFormatting.record($0, in: group.currency) }
        var record = HouseholdFormatting.record(group)
        // Replaced below by the list of members, and by money in the format of a card.
        record.fields.removeAll { ["members", "owed"].contains($0.name) }
        for (name, count) in [
            ("bills", totals.bills), ("trips", totals.trips), ("payments", totals.payments),
            ("due", totals.due), ("overdue", totals.overdue), ("items", totals.items),
            ("notes", totals.notes),
        ] { record.append(name, .int(count)) }
        for (name, amount) in [("owed", group.owed), ("spent", totals.spent)] {
            record.append(name, HouseholdFormatting.cell(amount, in: group.currency, invocation))
        }
        record.append("members", .records(members))
        record.append("invitations", .records(found.invitations.map(HouseholdFormatting.record)))
        try invocation.output.show(record)
        return .done
    }

    // MARK: chores

    private static let faulty = Option.flag(
        "faulty", help: "Only chores that are not scheduled until a roommate changes them")

    private static let chores = Command(
        "household", "chores", effect: .read,
        summary: "List a group's chores: the current turn, the next one, and the rotation",
        discussion: """
            STATE, ASSIGNEE and DUE_ON describe the open turn, if there is one. ROTATION lists the \
            people who take turns and their number of turns, the next person first. Days are in \
            the group's time zone. FAULT is why a chore is not scheduled until a member changes \
            it: its rule matches no day, for example, or nobody is left in its rotation.
            """,
        examples: [
            .init("errand household chores 12", "all chores of a group"),
            .init("errand household chores 12 --faulty", "chores that a member must fix"),
        ],
        options: [faulty, PageOptions.limit, PageOptions.cursor],
        arguments: [HouseholdFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[HouseholdFormatting.id], try invocation.session())
        _ = try await HouseholdFormatting.group(id, session)
        let chores = try await ChoreRows(session: session).page(
            of: Int64(id), faultyOnly: invocation[faulty],
            behind: Int64(invocation[PageOptions.cursor] ?? 0),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            chores.map(HouseholdFormatting.record),
            columns: [
                Column("id"), Column("title", isFlexible: true), Column("state"),
                Column("assignee"), Column("due_on"), Column("next_on"), Column("next_assignee"),
                Column("rotation", title: "ROTATION"), Column("fault", isFlexible: true),
            ], empty: "group \(id) has no matching chores")
        PageOptions.printMore(invocation, count: chores.count, last: chores.last?.id)
        return .done
    }

    // MARK: feed

    private static let feed = Command(
        "household", "feed", effect: .read,
        summary: "Show the recent activities of a group, newest first",
        discussion: """
            The feed retains the last 30 completed activities of a group: payments, chores done, \
            trips, bills, and members who joined or left. DATA holds the ids of the records that \
            an activity is about. NUMBER counts all activities since the group was created.
            """,
        examples: [.init("errand household feed 12", "the activities that its members see")],
        arguments: [HouseholdFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[HouseholdFormatting.id], try invocation.session())
        _ = try await HouseholdFormatting.group(id, session)
        let events = try await GroupRows(session: session).feed(of: Int64(id))
        try invocation.output.list(
            events.map(HouseholdFormatting.record),
            columns: [
                Column("number"), Column("at"), Column("event"), Column("person"),
                Column("data", isFlexible: true),
            ], empty: "group \(id) has no activities")
        return .done
    }
}
