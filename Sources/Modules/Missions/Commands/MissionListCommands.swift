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
    private static let unfilled = Option.flag("unfilled", help: "Only missions with free slots")
    private static let submitted = Option.flag(
        "submitted", help: "Only missions with a submission to review")
    private static let refused = Option.flag(
        "refused-coupons", help: "Only missions of whose coupons some were not granted")

    private static let list = Command(
        "mission", "ls", effect: .read, summary: "List missions, newest first",
        discussion: "UNFILLED_REASON is why the last assignment run left a slot free.",
        examples: [
            .init("errand mission ls --state open --unfilled", "open missions with free slots"),
            .init("errand mission ls --submitted", "missions with submissions to review"),
        ],
        options: [
            inState, branch, unfilled, submitted, refused, PageOptions.limit, PageOptions.cursor,
        ]
    ) { invocation in
        var filter = MissionFilter()
        filter.state = invocation[inState]
        filter.branch = invocation[branch].map(Int64.init)
        filter.isUnfilled = invocation[unfilled]
        filter.isSubmitted = invocation[submitted]
        filter.hasRefusedCoupons = invocation[refused]
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let missions = try await MissionRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            missions.map(MissionFormatting.record),
            columns: [
                Column("id"), Column("title", isFlexible: true), Column("place"), Column("state"),
                Column("closes_at"), Column("slots"), Column("filled"), Column("unfilled_reason"),
            ], empty: "no missions match")
        if missions.count == filter.limit, let last = missions.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    private static let show = Command(
        "mission", "show", effect: .read,
        summary: "Show a mission with its checklist and assignments",
        examples: [.init("errand mission show 12", "the mission and its assignments")],
        arguments: [MissionFormatting.id]
    ) { invocation in
        try await MissionFormatting.show(
            invocation[MissionFormatting.id], try invocation.session(), invocation)
        return .done
    }

    private static let explain = Command(
        "mission", "explain", effect: .read,
        summary: "Show the score of a mission and a shopper, and the rules that forbid an offer",
        discussion: """
            The score is the sum of its parts, each listed with its maximum. Weights are columns \
            of missions.rules. Objections are hard rules: one of them forbids the offer, whatever \
            the score. The score is as of now; an assignment records the score of its offer.
            """,
        examples: [
            .init("errand mission explain 12 42", "why person 42 was offered mission 12, or not")
        ],
        arguments: [MissionFormatting.mission, MissionFormatting.shopper]
    ) { invocation in
        let (mission, shopper) = (
            invocation[MissionFormatting.mission], invocation[MissionFormatting.shopper]
        )
        let rows = MissionRows(session: try invocation.session())
        let found = try await rows.explanation(
            mission: Int64(mission), shopper: Int64(shopper), now: .now())
        guard let found else {
            throw try await rows.mission(Int64(mission)) == nil
                ? MissionFormatting.unknown(mission) : MissionFormatting.unknown(shopper: shopper)
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
        invocation.output.note("score: \(HumanFormat.count(Int(found.score)))")
        invocation.output.note(
            found.objections.isEmpty
                ? "no rule forbids an offer"
                : "forbidden by: \(found.objections.joined(separator: ", "))")
        if let last = found.assignment {
            let score = last.score.map { ", offered with score \(HumanFormat.count(Int($0)))" }
            invocation.output.note(
                "latest assignment: \(last.id), \(last.state)\(score ?? "")")
        }
        return .done
    }

    private static let runs = Command(
        "mission", "runs", effect: .read,
        summary: "List assignment runs, newest first",
        discussion: """
            Runs are retained for 90 days. BOUND is the upper bound of the total score. Runs that \
            found no free slots are not recorded.
            """,
        examples: [.init("errand mission runs --limit 5", "the last 5 runs")],
        options: [PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let limit = invocation[PageOptions.limit]
        let runs = try await MissionRows(session: try invocation.session()).runs(
            behind: invocation[PageOptions.cursor].map(Int64.init), limit: limit)
        try invocation.output.list(
            runs.map(MissionFormatting.record),
            columns: [
                Column("id"), Column("started_at"), Column("missions"), Column("slots"),
                Column("candidates"), Column("offered"), Column("total_score"), Column("bound"),
                Column("seconds"),
            ], empty: "no assignment runs yet")
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
