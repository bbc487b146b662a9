import ErrandCommand
import ErrandMatching
import ErrandPostgres
import ErrandTerminal

/// `errand mission assign`: finds shoppers now, without waiting for the schedule.
enum MissionAssignCommand {
    static let all = [assign]

    private static let dryRun = Option.flag(
        "dry-run", help: "Only show who would be offered what")
    private static let only = Option<Int?>.integer(
        "mission", range: 1...Int.max, placeholder: "ID", help: "Only this mission")
    private static let limit = Option.duration(
        "limit", default: Assigner.limit,
        help: "End the search after this time, with the best so far")
    private static let greedy = Option.flag(
        "greedy", help: "With --dry-run: the best score that fits, again and again, to compare")

    private static let assign = Command(
        "mission", "assign", effect: .changes,
        summary: "Offer all free slots to shoppers, so that the total score is the largest",
        discussion: """
            As the schedule missions.assign does it, for missions that are open and not locked. \
            In JSON a line for each pair, then a summary: slots that stay free with their reasons, \
            the total score, and the bound, which no other offers can exceed. With --dry-run \
            nothing is offered.
            """,
        examples: [
            .init("errand mission assign --dry-run", "who would be sent where"),
            .init("errand mission assign --mission 12", "offers its free slots"),
        ],
        options: [dryRun, only, limit, greedy]
    ) { invocation in
        let isDry = invocation[dryRun]
        guard isDry || !invocation[greedy] else {
            throw CommandFailure(
                exit: .usage, message: "--greedy only shows: give --dry-run too")
        }
        let mission = invocation[only].map(Int64.init)
        let pool = try invocation.patientPool(2)
        guard !isDry else {
            let began = ContinuousClock.now
            let assigner = Assigner(now: .now(), limit: invocation[limit])
            let plan = try await pool.transaction {
                try await assigner.plan(mission, greedily: invocation[greedy], in: $0)
            }
            try await expectOpen(mission, plan, invocation)
            try show(plan, plan.pairs, took: began.duration(to: .now), invocation.output)
            return .done
        }
        try invocation.confirm(
            mission.map { "offer the free slots of mission \($0)?" }
                ?? "offer the free slots of all open missions?")
        // Not before it is confirmed: offers count their time from then.
        let assigner = Assigner(now: .now(), limit: invocation[limit])
        let found = try await assigner.assign(mission, locking: pool, offering: pool)
        guard let result = found else {
            throw CommandFailure(
                exit: .conflict, message: "missions are being assigned just now",
                hint: "try again in a few seconds")
        }
        try await expectOpen(mission, result.plan, invocation)
        try show(result.plan, result.offered, took: result.took, invocation.output)
        for refusal in result.refused.prefix(10) {
            invocation.output.warn(
                "mission \(refusal.pair.mission) could not be offered to person "
                    + "\(refusal.pair.shopper): \(refusal.reason)")
        }
        if result.refused.count > 10 {
            invocation.output.warn("and \(result.refused.count - 10) more")
        }
        return result.refused.isEmpty ? .done : result.offered.isEmpty ? .conflict : .partlyDone
    }

    /// Says why one mission that was named was not looked at.
    private static func expectOpen(
        _ mission: Int64?, _ plan: AssignmentPlan, _ invocation: Invocation
    ) async throws {
        guard let mission, plan.missions == 0 else { return }
        let rows = MissionRows(session: try invocation.session())
        guard let found = try await rows.mission(mission)?.mission else {
            throw MissionWords.unknown(Int(mission))
        }
        if found.state == .open, found.isLocked {
            throw CommandFailure(
                exit: .refused, message: "mission \(mission) is locked",
                hint: "'errand mission offer' still offers it; 'errand mission unlock' unlocks it")
        }
        guard found.state == .open, found.filled >= found.slots else {
            throw CommandFailure(
                exit: .conflict,
                message: "mission \(mission) is \(found.state.rawValue)"
                    + (found.state == .open ? ", but ends too soon to be offered" : ""))
        }
    }

    // MARK: What is shown

    private static func show(
        _ plan: AssignmentPlan, _ pairs: [AssignmentPlan.Pair], took: Duration, _ output: Output
    ) throws {
        try output.list(
            pairs.map { pair in
                Record([
                    ("mission", .id(Int(pair.mission))), ("shopper", .id(Int(pair.shopper))),
                    ("score", .int(Int(pair.score))),
                ])
            },
            columns: [Column("mission"), Column("shopper"), Column("score")],
            empty: "nothing can be assigned")
        if output.format == .json {
            try output.json(summary(plan, pairs, took: took).json)
        } else {
            for line in sentences(plan, pairs) { output.note(line) }
        }
        if plan.leavesOut {
            output.warn(
                "there are more open missions than one run looks at, \(AssignmentRows.most); those "
                    + "that end last were left out: run it again once these have their shoppers")
        }
        if plan.isCutShort {
            output.warn("the time was up before the search was through; this is the best so far")
        }
    }

    private static let reasons = Solution.Reason.allCases.map(\.rawValue) + [AssignmentPlan.rests]

    private static func count(_ plan: AssignmentPlan, _ reason: String) -> Int {
        plan.unfilled.reduce(0) { $1.reason == reason ? $0 + Int($1.slots) : $0 }
    }

    private static func summary(
        _ plan: AssignmentPlan, _ pairs: [AssignmentPlan.Pair], took: Duration
    ) -> Record {
        var record = Record([
            ("filled", .int(pairs.count)), ("unfilled", .int(Int(plan.slots) - pairs.count)),
            ("refused", .int(plan.pairs.count - pairs.count)),
        ])
        for reason in reasons { record.append(reason, .int(count(plan, reason))) }
        record.append(
            "unfilled_missions",
            .records(
                plan.unfilled.map { free in
                    Record([
                        ("mission", .id(Int(free.mission))), ("count", .int(Int(free.slots))),
                        ("reason", .text(free.reason)),
                    ])
                }))
        let total = pairs.reduce(0) { $0 + $1.score }
        record.append("total_score", .int(Int(total)))
        record.append("bound", .int(Int(plan.bound)))
        record.append("is_optimal", .flag(total == plan.bound))
        record.append("seconds", .duration(took))
        return record
    }

    private static func sentences(
        _ plan: AssignmentPlan, _ pairs: [AssignmentPlan.Pair]
    ) -> [String] {
        let count = { (number: Int) in HumanFormat.count(number) }
        let score = pairs.reduce(0) { $0 + $1.score }
        let total = count(Int(score))
        var lines = [
            "\(count(pairs.count)) of \(count(Int(plan.slots))) slots are filled; "
                + "the total score is "
                + (score == plan.bound
                    ? "\(total), which is the optimum"
                    : "\(total), of not more than \(count(Int(plan.bound)))")
        ]
        let words = [
            "that have no candidates", "whose candidates are all taken",
            "whose candidates are not worth it", "whose candidates rest from the branch",
        ]
        for (reason, text) in zip(reasons, words) where Self.count(plan, reason) > 0 {
            let missions = plan.unfilled.filter { $0.reason == reason }
            let named = missions.prefix(10).map { String($0.mission) }.joined(separator: ", ")
            lines.append(
                "free slots \(text): \(count(Self.count(plan, reason))), of mission \(named)"
                    + (missions.count > 10 ? " and \(count(missions.count - 10)) more" : ""))
        }
        return lines
    }
}
