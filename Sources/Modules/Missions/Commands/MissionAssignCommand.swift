import ErrandCommand
import ErrandMatching
import ErrandPostgres
import ErrandTerminal

/// `errand mission assign`: offers free slots now, without waiting for the schedule.
enum MissionAssignCommand {
    static let all = [assign]

    private static let dryRun = Option.flag(
        "dry-run", help: "Show the offers, and make none")
    private static let only = Option<Int?>.integer(
        "mission", range: 1...Int.max, placeholder: "ID", help: "Only this mission")
    private static let limit = Option.duration(
        "limit", default: Assigner.limit,
        help: "Stop the search after this time and use the best result so far")
    private static let greedy = Option.flag(
        "greedy", help: "With --dry-run: show the result of the greedy method, for comparison")

    private static let assign = Command(
        "mission", "assign", effect: .write,
        summary: "Offer free slots to shoppers, with the largest total score",
        discussion: """
            Does what the schedule missions.assign does, for open missions that are not locked. \
            JSON output is a line for each pair and then a summary: slots that stay free and why, \
            the total score, and its upper bound. With --dry-run, makes no offers.
            """,
        examples: [
            .init("errand mission assign --dry-run", "show who would be offered which mission"),
            .init("errand mission assign --mission 12", "offer the free slots of one mission"),
        ],
        options: [dryRun, only, limit, greedy]
    ) { invocation in
        let isDry = invocation[dryRun]
        guard isDry || !invocation[greedy] else {
            throw CommandFailure(
                exit: .usage, message: "--greedy needs --dry-run")
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
        // After the confirmation: the time to answer an offer counts from here.
        let assigner = Assigner(now: .now(), limit: invocation[limit])
        let found = try await assigner.assign(mission, locking: pool, offering: pool)
        guard let result = found else {
            throw CommandFailure(
                exit: .conflict, message: "another assignment run is in progress",
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
            invocation.output.warn("and \(result.refused.count - 10) more refused offers")
        }
        return result.refused.isEmpty ? .done : result.offered.isEmpty ? .conflict : .partlyDone
    }

    /// Throws the reason why a mission that was named is not part of the plan.
    private static func expectOpen(
        _ mission: Int64?, _ plan: AssignmentPlan, _ invocation: Invocation
    ) async throws {
        guard let mission, plan.missions == 0 else { return }
        let rows = MissionRows(session: try invocation.session())
        guard let found = try await rows.mission(mission)?.mission else {
            throw MissionFormatting.unknown(Int(mission))
        }
        if found.state == .open, found.isLocked {
            throw CommandFailure(
                exit: .refused, message: "mission \(mission) is locked",
                hint: "use 'errand mission offer', or unlock it with 'errand mission unlock'")
        }
        guard found.state == .open, found.filled >= found.slots else {
            throw CommandFailure(
                exit: .conflict,
                message: "mission \(mission) is \(found.state.rawValue)"
                    + (found.state == .open ? ", but closes too soon to be offered" : ""))
        }
    }

    // MARK: Output

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
                "a run assigns at most \(AssignmentRows.most) open missions; those that close last "
                    + "were skipped: run it again when these have their shoppers")
        }
        if plan.isCutShort {
            output.warn("the search reached its time limit; this is the best result so far")
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
            "\(count(pairs.count)) of \(count(Int(plan.slots))) slots filled; "
                + "total score \(total) "
                + (score == plan.bound
                    ? "(optimal)" : "(upper bound \(count(Int(plan.bound))))")
        ]
        let words = [
            "without candidates", "whose candidates have no capacity left",
            "whose candidates all have negative scores",
            "whose candidates are in their rest period for the branch",
        ]
        for (reason, text) in zip(reasons, words) where Self.count(plan, reason) > 0 {
            let missions = plan.unfilled.filter { $0.reason == reason }
            let named = missions.prefix(10).map { String($0.mission) }.joined(separator: ", ")
            lines.append(
                "free slots \(text): \(count(Self.count(plan, reason))), of mission \(named)"
                    + (missions.count > 10 ? " and \(count(missions.count - 10)) others" : ""))
        }
        return lines
    }
}
