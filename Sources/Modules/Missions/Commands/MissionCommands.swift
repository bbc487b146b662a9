import ErrandCommand
import ErrandMatching
import ErrandTerminal

/// `errand mission …`: who is sent where.
enum MissionCommands {
    static let all =
        MissionListCommands.all + MissionAssignCommand.all + MissionChangeCommands.all + [solve]
        + MissionSimulateCommand.all

    private static let instance = Option<String?>.value(
        "instance", .text("FILE"), help: "The instance as JSON; - is standard input"
    ).required()
    private static let limit = Option<Duration?>.duration(
        "limit", placeholder: "TIME",
        help: "End the search after this time, with the best so far (default: no limit)")
    private static let greedy = Option.flag(
        "greedy", help: "Take the best score that still fits, again and again: for comparison")

    private static let solve = Command(
        "mission", "solve", effect: .looks,
        summary: "Find the assignments of an instance with the largest total score",
        discussion: """
            Needs no server. The instance is \
            {"missions":[{"id","slots"}],"shoppers":[{"id","capacity"}], \
            "edges":[{"mission","shopper","score"}]}, in whole numbers. A shopper takes at most \
            one slot of a mission. Edges of negative score are never used, those of score 0 only \
            where nothing better is left. In JSON the last line is a summary; is_optimal says \
            that the total is as large as the bound, so that nothing better exists. The same \
            instance gives the same answer, unless --limit ends the search.
            """,
        examples: [
            .init("errand mission solve --instance week.json", "the best that there is"),
            .init(
                "errand mission solve --instance - --limit 20s -ojson <week.json",
                "for programs; within 20 seconds"),
        ],
        options: [instance, limit, greedy]
    ) { invocation in
        guard !invocation[greedy] || invocation[limit] == nil else {
            throw CommandFailure(
                exit: .usage, message: "--limit ends a search, and --greedy makes none: give one")
        }
        let began = ContinuousClock.now
        let instance = try InstanceReader.instance(in: invocation[instance])
        let solution: Solution
        if invocation[greedy] {
            solution = instance.matchedGreedily()
        } else if let limit = invocation[limit] {
            let searches = ContinuousClock.now
            solution = instance.solved { searches.duration(to: .now) >= limit }
        } else {
            solution = instance.solved()
        }
        try show(solution, took: began.duration(to: .now), invocation.output)
        return .done
    }

    private static func show(
        _ solution: Solution, took: Duration, _ output: Output
    ) throws {
        try output.list(
            solution.assignments.map { assignment in
                Record([
                    ("mission", .id(Int(assignment.mission))),
                    ("shopper", .id(Int(assignment.shopper))),
                    ("score", .int(Int(assignment.score))),
                ])
            },
            columns: [Column("mission"), Column("shopper"), Column("score")],
            empty: "nothing can be assigned")
        if output.format == .json {
            try output.json(summary(solution, took: took).json)
        } else {
            for line in sentences(solution) { output.note(line) }
        }
        if solution.isCutShort {
            output.warn("the time was up before the search was through; this is the best so far")
        }
    }

    private static func unfilled(_ solution: Solution, for reason: Solution.Reason? = nil) -> Int {
        solution.unfilled.reduce(0) { sum, free in
            reason == nil || free.reason == reason ? sum + Int(free.slots) : sum
        }
    }

    private static func summary(_ solution: Solution, took: Duration) -> Record {
        var record = Record([
            ("filled", .int(solution.assignments.count)),
            ("unfilled", .int(unfilled(solution))),
        ])
        for reason in Solution.Reason.allCases {
            record.append(reason.rawValue, .int(unfilled(solution, for: reason)))
        }
        record.append(
            "unfilled_missions",
            .records(
                solution.unfilled.map { free in
                    Record([
                        ("mission", .id(Int(free.mission))), ("count", .int(Int(free.slots))),
                        ("reason", .text(free.reason.rawValue)),
                    ])
                }))
        record.append("total_score", .int(Int(solution.totalScore)))
        record.append("bound", .int(Int(solution.bound)))
        record.append("is_optimal", .flag(solution.isOptimal))
        record.append("seconds", .duration(took))
        return record
    }

    private static func sentences(_ solution: Solution) -> [String] {
        let count = { (number: Int) in HumanFormat.count(number) }
        let (filled, free) = (solution.assignments.count, unfilled(solution))
        let total = count(Int(solution.totalScore))
        var lines = [
            "\(count(filled)) of \(count(filled + free)) slots are filled; the total score is "
                + (solution.isOptimal
                    ? "\(total), which is the optimum"
                    : "\(total), of not more than \(count(Int(solution.bound)))")
        ]
        for (reason, text) in [
            (Solution.Reason.noCandidates, "that have no candidates"),
            (.allTaken, "whose candidates are all taken"),
            (.notWorthIt, "whose candidates are not worth it"),
        ] where unfilled(solution, for: reason) > 0 {
            let missions = solution.unfilled.filter { $0.reason == reason }
            let named = missions.prefix(10).map { String($0.mission) }.joined(separator: ", ")
            lines.append(
                "free slots \(text): \(count(unfilled(solution, for: reason))), of mission \(named)"
                    + (missions.count > 10 ? " and \(count(missions.count - 10)) more" : ""))
        }
        return lines
    }
}
