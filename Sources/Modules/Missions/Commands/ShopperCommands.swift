import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand shopper …`: the people who do missions.
enum ShopperCommands {
    static let all = [list, show, hire, refuse, suspend]

    private static let inState = Option<ShopperState?>.value(
        "state", .choice(of: ShopperState.self, "STATE"), help: "Only shoppers in this state")

    private static let list = Command(
        "shopper", "ls", effect: .read, summary: "List shoppers by id",
        discussion: """
            A candidate meets the rules in missions.rules and waits for an operator's decision. \
            QUALITY is the lower bound of the Wilson score interval of the share of good answers.
            """,
        examples: [.init("errand shopper ls --state candidate", "people who may be hired")],
        options: [inState, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let limit = invocation[PageOptions.limit]
        let shoppers = try await MissionRows(session: try invocation.session()).shoppers(
            invocation[inState], behind: Int64(invocation[PageOptions.cursor] ?? 0), limit: limit)
        try invocation.output.list(
            shoppers.map(MissionFormatting.record),
            columns: [
                Column("person"), Column("state"), Column("since"), Column("quality"),
                Column("reviewed"), Column("completed"), Column("missed"), Column("held"),
                Column("reason", isFlexible: true),
            ], empty: "no shoppers match")
        if shoppers.count == limit, let last = shoppers.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    private static let show = Command(
        "shopper", "show", effect: .read, summary: "Show a shopper and their latest assignments",
        examples: [.init("errand shopper show 42", "the shopper and their assignments")],
        arguments: [MissionFormatting.person]
    ) { invocation in
        try await MissionFormatting.show(
            shopper: invocation[MissionFormatting.person], try invocation.session(), invocation)
        return .done
    }

    private static let hire = Command(
        "shopper", "hire", effect: .write, summary: "Hire a person as a shopper",
        discussion: """
            Hires a candidate or any other person, also after a suspension or a refusal. The \
            person is notified.
            """,
        examples: [.init("errand shopper hire 42", "asks for confirmation")],
        options: [MissionFormatting.note], arguments: [MissionFormatting.person]
    ) { invocation in
        try await decide(.hire, invocation[MissionFormatting.note], invocation)
        return .done
    }

    private static let refuse = Command(
        "shopper", "refuse", effect: .write, summary: "Refuse a person as a shopper",
        discussion: """
            The person gets no offers, whatever their quality, until 'errand shopper hire'.
            """,
        examples: [
            .init(
                "errand shopper refuse 42 --reason 'works for a client'", "asks for confirmation")
        ],
        options: [MissionFormatting.why], arguments: [MissionFormatting.person]
    ) { invocation in
        try await decide(.refuse, invocation[MissionFormatting.why], invocation)
        return .done
    }

    private static let suspend = Command(
        "shopper", "suspend", effect: .write, summary: "Suspend a shopper: no more offers for now",
        discussion: """
            The shopper may still do the missions that they accepted. The shopper is notified of \
            the reason.
            """,
        examples: [
            .init("errand shopper suspend 42 --reason 'photos in doubt'", "asks for confirmation")
        ],
        options: [MissionFormatting.why], arguments: [MissionFormatting.person]
    ) { invocation in
        try await decide(.suspend, invocation[MissionFormatting.why], invocation)
        return .done
    }

    private static func decide(
        _ action: MissionChanges.ShopperAction, _ reason: String?, _ invocation: Invocation
    ) async throws {
        let (id, session) = (invocation[MissionFormatting.person], try invocation.session())
        try invocation.confirm("\(action.rawValue) person \(id)?")
        let isNew = try await MissionFormatting.refusing {
            try await MissionChanges(session: session, actor: invocation.operatorName).decide(
                action, Int64(id), reason: reason)
        }
        if !isNew { invocation.output.note("person \(id) is already in that state") }
        try await MissionFormatting.show(shopper: id, session, invocation)
    }
}
