import ErrandCommand
import ErrandMatching
import ErrandTerminal

/// `errand mission …`: missions, their assignments and the solver.
enum MissionCommands {
    static let all =
        MissionListCommands.all + MissionAssignCommand.all + MissionChangeCommands.all
        + MissionRemedyCommands.all + [solve] + MissionSimulateCommand.all

    private static let instance = Option<String?>.value(
        "instance", .text("FILE"), help: "File with the instance as JSON; - is standard input"
    ).required()
    private static let limit = Option<Duration?>.duration(
        "limit", placeholder: "TIME",
        help: "Stop the search after this time and print the best result so far (default: none)")
    private static let greedy = Option.flag(
        "greedy", help: "Use the greedy method, for comparison")

    private static let solve = Command(
        "mission", "solve", effect: .read,
        summary: "Find the assignments of an instance with the largest total score",
        discussion: """
            Needs no server. The format of an instance is \
            {"missions":[{"id","slots"}],"shoppers":[{"id","capacity"}], \
            "edges":[{"mission","shopper","score"}]}; all values are whole numbers. A shopper \
            gets at most one slot of a mission. Edges with a negative score are never used; edges \
            with score 0 only fill slots that stay free otherwise. The last line of JSON output \
            is a summary; is_optimal is true if the total score equals its upper bound. The \
            result is deterministic unless --limit stops the search.
            """,
        examples: [
            .init("errand mission solve --instance week.json", "the optimal assignments"),
            .init(
                "errand mission solve --instance - --limit 20s -ojson <week.json",
                "the best result within 20 seconds, for programs"),
        ],
        options: [instance, limit, greedy]
    ) { invocation in
        guard !invocation[greedy] || invocation[limit] == nil else {
            throw CommandFailure(
                exit: .usage, message: "--greedy and --limit cannot be combined")
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
            output.warn("the search reached its time limit; this is the best result so far")
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
            "\(count(filled)) of \(count(filled + free)) slots filled; total score \(total) "
                + (solution.isOptimal
                    ? "(optimal)" : "(upper bound \(count(Int(solution.bound))))")
        ]
        for (reason, text) in [
            (Solution.Reason.noCandidates, "without candidates"),
            (.allTaken, "whose candidates have no capacity left"),
            (.notWorthIt, "whose candidates all have negative scores"),
        ] where unfilled(solution, for: reason) > 0 {
            let missions = solution.unfilled.filter { $0.reason == reason }
            let named = missions.prefix(10).map { String($0.mission) }.joined(separator: ", ")
            lines.append(
                "free slots \(text): \(count(unfilled(solution, for: reason))), of mission \(named)"
                    + (missions.count > 10 ? " and \(count(missions.count - 10)) others" : ""))
        }
        return lines
    }
}
