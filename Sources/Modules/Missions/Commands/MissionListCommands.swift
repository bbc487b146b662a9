import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand mission ls|show|explain|runs`.
enum MissionListCommands {
    static let all = [list, show, explain, runs]

    private static let inState = Option<MissionState?>.value(
        "state", .choice(of: MissionState.self, "STATE"), help: "Only missions in this state")
    private static let branch = Option<Int?>.integer(
        "branch", range: 1...Int.max, placeholder: "ID", help: "Only missions at this branch")
    private static let unfilled = Option.flag("unfilled", help: "Only those with free slots")
    private static let submitted = Option.flag(
        "submitted", help: "Only those where a submission waits to be reviewed")

    private static let list = Command(
        "mission", "ls", effect: .looks, summary: "List missions, the newest first",
        discussion: "Why slots are free is what the last run found that looked for shoppers.",
        examples: [
            .init("errand mission ls --state open --unfilled", "which have free slots, and why"),
            .init("errand mission ls --submitted", "what is to be reviewed"),
        ],
        options: [inState, branch, unfilled, submitted, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = MissionFilter()
        filter.state = invocation[inState]
        filter.branch = invocation[branch].map(Int64.init)
        filter.isUnfilled = invocation[unfilled]
        filter.isSubmitted = invocation[submitted]
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let missions = try await MissionRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            missions.map(MissionWords.record),
            columns: [
                Column("id"), Column("title", isFlexible: true), Column("place"), Column("state"),
                Column("closes_at"), Column("slots"), Column("filled"), Column("unfilled_reason"),
            ], empty: "no mission passes these filters")
        if missions.count == filter.limit, let last = missions.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    private static let show = Command(
        "mission", "show", effect: .looks,
        summary: "Show a mission, its checklist, and who was sent there",
        examples: [.init("errand mission show 12", "with all its assignments")],
        arguments: [MissionWords.id]
    ) { invocation in
        try await MissionWords.show(
            invocation[MissionWords.id], try invocation.session(), invocation)
        return .done
    }

    private static let explain = Command(
        "mission", "explain", effect: .looks,
        summary: "Say what a shopper would be worth to a mission, and what forbids it",
        discussion: """
            The score is the sum of its parts, each with the most that it can be. Weights are \
            columns of missions.rules. Objections are hard rules: with one of them no score helps. \
            The score is that of now; the one by which an offer was made stands in its assignment.
            """,
        examples: [.init("errand mission explain 12 42", "why person 42 was sent, or was not")],
        arguments: [MissionWords.mission, MissionWords.shopper]
    ) { invocation in
        let (mission, shopper) = (
            invocation[MissionWords.mission], invocation[MissionWords.shopper]
        )
        let rows = MissionRows(session: try invocation.session())
        let found = try await rows.explanation(
            mission: Int64(mission), shopper: Int64(shopper), now: .now())
        guard let found else {
            throw try await rows.mission(Int64(mission)) == nil
                ? MissionWords.unknown(mission) : MissionWords.unknown(shopper: shopper)
        }
        let parts = found.parts.map { part in
            Record([
                ("part", .text(part.name.rawValue)), ("points", .int(Int(part.points))),
                ("most", .int(Int(part.limit))), ("reason", .text(part.sentence)),
            ])
        }
        guard invocation.output.isForPeople else {
            try invocation.output.show(record(found, parts))
            return .done
        }
        try invocation.output.list(
            parts,
            columns: [
                Column("part"), Column("points"), Column("most"),
                Column("reason", isFlexible: true),
            ])
        invocation.output.note("the score is \(HumanFormat.count(Int(found.score)))")
        invocation.output.note(
            found.objections.isEmpty
                ? "no rule forbids it"
                : "it is forbidden: \(found.objections.joined(separator: ", "))")
        if let last = found.assignment {
            let score = last.score.map { ", offered at a score of \(HumanFormat.count(Int($0)))" }
            invocation.output.note(
                "assignment \(last.id) of the two is \(last.state)\(score ?? "")")
        }
        return .done
    }

    private static let runs = Command(
        "mission", "runs", effect: .looks,
        summary: "List the runs that looked for shoppers, the newest first",
        discussion: """
            Of 90 days. The bound is what no other offers could have exceeded; runs that found no \
            free slots are not listed.
            """,
        examples: [.init("errand mission runs --limit 5", "how well slots were filled of late")],
        options: [PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let limit = invocation[PageOptions.limit]
        let runs = try await MissionRows(session: try invocation.session()).runs(
            behind: invocation[PageOptions.cursor].map(Int64.init), limit: limit)
        try invocation.output.list(
            runs.map(MissionWords.record),
            columns: [
                Column("id"), Column("started_at"), Column("missions"), Column("slots"),
                Column("candidates"), Column("offered"), Column("total_score"), Column("bound"),
                Column("seconds"),
            ], empty: "shoppers have not been looked for yet")
        if runs.count == limit, let last = runs.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    private static func record(_ found: PairExplanation, _ parts: [Record]) -> Record {
        Record([
            ("mission", .id(Int(found.mission))), ("shopper", .id(Int(found.shopper))),
            ("score", .int(Int(found.score))),
            ("distance_m", .optional(found.distance) { .int(Int($0.rounded())) }),
            ("objections", .list(found.objections)), ("parts", .records(parts)),
            ("assignment", .optional(found.assignment) { .id(Int($0.id)) }),
            ("state", .optional(found.assignment) { .text($0.state) }),
        ])
    }
}
