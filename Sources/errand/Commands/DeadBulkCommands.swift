import JobQueue
import Postgres
import Terminal

/// `errand dead redrive` and `errand dead discard`: acting on many dead letters.
enum DeadBulkCommands {
    static let all = [redrive, discard]

    private static let everything = Option.flag("all", help: "All dead letters there are")
    private static let most = Option<Int?>.integer(
        "max", range: 1...Int.max, help: "Not more than so many, those with the lowest ids")
    private static let dryRun = Option.flag("dry-run", help: "Only show which they are")
    private static let rate = Option<Double?>.value(
        "rate", perSecond, help: "So many in a second, minute or hour, such as 50/s or 600/m")
    private static let reason = Option<String?>.text("reason", help: "Why, for the record")
    private static let trial = Option.integer(
        "try", default: 5, range: 0...Operations.chunk,
        help: "Let so many run first, and stop when one of them fails again; 0 tries none")
    private static let patience = Option.duration(
        "patience", default: .seconds(30), range: .zero...Duration.seconds(86_400),
        help: "How long to wait for those that run first")
    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0, help: "Dead letters by id")

    private static let perSecond = ValueFormat<Double>(
        "RATE", expected: "a rate such as 50/s, 600/m or 1000/h"
    ) { text in
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), (1...1_000_000).contains(count) else {
            return nil
        }
        switch parts[1] {
        case "s": return Double(count)
        case "m": return Double(count) / 60
        case "h": return Double(count) / 3600
        default: return nil
        }
    }

    private static let redrive = Command(
        "dead", "redrive", effect: .changes,
        summary: "Let dead letters run again, with all their attempts",
        discussion: """
            Takes ids, a filter, or --all. First shows how many there are and a few of them, then \
            asks. Five run first: when one of them fails again, the rest stays where it is.

            It is an operation of its own: 'errand op ls' shows how far it is, 'errand op cancel' \
            ends it from another terminal, 'errand op resume' goes on with it after anything.
            """,
        examples: [
            .init("errand dead redrive --fingerprint 2c26b46b68ff --rate 50/s", "gently"),
            .init("errand dead redrive --queue mail --newer 1d --dry-run", "which would it be"),
        ],
        options: JobFilterOptions.all
            + [everything, most, dryRun, rate, trial, patience, reason], arguments: [ids]
    ) { invocation in
        try await run(.redrive, invocation, rate: invocation[rate]) { bulk, id in
            try await bulk.run(
                id, trial: invocation[trial], patience: invocation[patience])
        }
    }

    private static let discard = Command(
        "dead", "discard", effect: .changes, summary: "Delete dead letters for good",
        discussion: """
            Takes ids, a filter, or --all. First shows how many there are and a few of them, then \
            asks. What is deleted cannot be brought back: 'errand dead export' keeps a copy.
            """,
        examples: [
            .init("errand dead discard --kind demo.fail --older 30d --reason obsolete", "the old")
        ],
        options: JobFilterOptions.all + [everything, most, dryRun, reason], arguments: [ids]
    ) { invocation in
        try await run(.discard, invocation, rate: nil) { bulk, id in try await bulk.run(id) }
    }

    /// Which letters are meant.
    private static func meant(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter {
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        let ids = invocation[ids]
        filter.ids = ids.isEmpty ? nil : Set(ids.map(Int64.init)).sorted()
        guard !filter.isEmpty || invocation[everything] else {
            throw CommandFailure(
                exit: .usage, message: "it is not said which dead letters are meant",
                hint: "give ids, a filter such as --kind KIND, or --all; "
                    + "'errand dead group' shows what there is")
        }
        guard filter.isEmpty || !invocation[everything] else {
            throw CommandFailure(
                exit: .usage, message: "--all and a filter do not go together",
                hint: "leave one of them out")
        }
        filter.states = [.dead]
        return filter
    }

    private static func run(
        _ action: BulkOperation.Action, _ invocation: Invocation, rate: Double?,
        _ work: (BulkRun, Int64) async throws -> ExitCode
    ) async throws -> ExitCode {
        let session = try invocation.session()
        let (inspector, output) = (Inspector(session: session), invocation.output)
        var filter = try await meant(invocation, inspector)
        let (count, asOf) = try await inspector.deadCount(filter)
        filter.asOf = asOf
        let total = min(count, invocation[most] ?? count)
        let asked = filter.ids?.count ?? 0
        guard count > 0 || asked == 0 else {
            throw CommandFailure(
                exit: .notFound, message: "none of these \(asked) is a dead letter",
                hint: "'errand dead ls' lists what there is")
        }
        let isDry = invocation[dryRun]
        if output.isForPeople || isDry {
            try await preview(action, total: total, filter, inspector, output)
        }
        if isDry { return .done }
        guard total > 0 else {
            if !output.isForPeople { try output.show(BulkRun.nothing(action)) }
            output.note("nothing to do: no dead letter passes these filters")
            return .done
        }
        try output.flush()
        let letters = "\(HumanFormat.count(total)) dead letter\(total == 1 ? "" : "s")"
        try output.confirm(
            action == .discard ? "delete \(letters) for good?" : "let \(letters) run again?",
            yes: invocation[GlobalOptions.yes])
        let operations = Operations(session: session)
        var request = Operations.Request(action: action, filter: filter)
        request.reason = invocation[reason]
        request.ratePerSecond = rate
        request.most = invocation[most]
        let id = try await operations.begin(request, by: invocation.operatorName)
        let exit = try await work(BulkRun(operations: operations, output: output), id)
        guard asked > count, exit == .done else { return exit }
        throw CommandFailure(
            exit: .partlyDone, message: "\(asked - count) of \(asked) are no dead letters",
            hint: "'errand job show ID' tells what they are")
    }

    private static let samples = 5

    private static func preview(
        _ action: BulkOperation.Action, total: Int, _ filter: JobFilter, _ inspector: Inspector,
        _ output: Output
    ) async throws {
        var filter = filter
        filter.limit = samples
        let letters = try await inspector.jobs(filter).map { letter in
            Record([
                ("id", .id(Int(letter.id))), ("kind", .text(letter.kind)),
                ("queue", .text(letter.queue)),
                ("finished_at", .optional(letter.finishedAt) { $0.cell }),
                ("error", .optional(letter.lastError) { .text($0) }),
            ])
        }
        try output.show(
            Record([
                ("action", .text(action.rawValue)), ("count", .int(total)),
                ("sample", .records(letters)),
            ]))
    }
}
