import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand shopper …`: who is sent on missions.
enum ShopperCommands {
    static let all = [list, show, hire, refuse, suspend]

    private static let inState = Option<ShopperState?>.value(
        "state", .choice(of: ShopperState.self, "STATE"), help: "Only shoppers in this state")

    private static let list = Command(
        "shopper", "ls", effect: .looks, summary: "List shoppers, by their ids",
        discussion: """
            A candidate is good enough by the rules of missions.rules, and waits for an operator. \
            quality is the share of good answers that is certain enough (Wilson's bound).
            """,
        examples: [.init("errand shopper ls --state candidate", "who may be hired")],
        options: [inState, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let limit = invocation[PageOptions.limit]
        let shoppers = try await MissionRows(session: try invocation.session()).shoppers(
            invocation[inState], behind: Int64(invocation[PageOptions.cursor] ?? 0), limit: limit)
        try invocation.output.list(
            shoppers.map(MissionWords.record),
            columns: [
                Column("person"), Column("state"), Column("since"), Column("quality"),
                Column("reviewed"), Column("completed"), Column("missed"), Column("held"),
                Column("reason", isFlexible: true),
            ], empty: "no shopper passes these filters")
        if shoppers.count == limit, let last = shoppers.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    private static let show = Command(
        "shopper", "show", effect: .looks, summary: "Show a shopper, and what they were offered",
        examples: [.init("errand shopper show 42", "with their latest assignments")],
        arguments: [MissionWords.person]
    ) { invocation in
        try await MissionWords.show(
            shopper: invocation[MissionWords.person], try invocation.session(), invocation)
        return .done
    }

    private static let hire = Command(
        "shopper", "hire", effect: .changes, summary: "Let a person be sent on missions",
        discussion: "Candidates are; anybody else may be, and who was suspended or refused too.",
        examples: [.init("errand shopper hire 42", "asks first; the person is told")],
        options: [MissionWords.note], arguments: [MissionWords.person]
    ) { invocation in
        try await decide(.hire, invocation[MissionWords.note], invocation)
        return .done
    }

    private static let refuse = Command(
        "shopper", "refuse", effect: .changes, summary: "Do not let a person be sent on missions",
        discussion: "However good their answers are, until 'errand shopper hire'.",
        examples: [.init("errand shopper refuse 42 --reason 'works for a client'", "asks first")],
        options: [MissionWords.why], arguments: [MissionWords.person]
    ) { invocation in
        try await decide(.refuse, invocation[MissionWords.why], invocation)
        return .done
    }

    private static let suspend = Command(
        "shopper", "suspend", effect: .changes, summary: "Let a shopper get no offers for now",
        discussion: "What they have accepted they may still do. The person is told the reason.",
        examples: [.init("errand shopper suspend 42 --reason 'photos in doubt'", "asks first")],
        options: [MissionWords.why], arguments: [MissionWords.person]
    ) { invocation in
        try await decide(.suspend, invocation[MissionWords.why], invocation)
        return .done
    }

    private static func decide(
        _ standing: MissionChanges.Standing, _ reason: String?, _ invocation: Invocation
    ) async throws {
        let (id, session) = (invocation[MissionWords.person], try invocation.session())
        try invocation.confirm("\(standing.rawValue) person \(id)?")
        let isNew = try await MissionWords.refusing {
            try await MissionChanges(session: session, actor: invocation.operatorName).decide(
                standing, Int64(id), reason: reason)
        }
        if !isNew { invocation.output.note("it was so already") }
        try await MissionWords.show(shopper: id, session, invocation)
    }
}
