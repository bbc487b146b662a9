import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand dead redrive` and `errand dead discard`: acting on many dead letters.
enum DeadBulkCommands {
    static let all = [redrive, discard]

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0, help: "Dead letters by id")

    private static let redrive = Command(
        "dead", "redrive", effect: .changes,
        summary: "Let dead letters run again, with all their attempts",
        discussion: """
            Takes ids, a filter, or --all. First shows how many there are and a few of them, then \
            asks. Five run first: when one of them fails again, the rest stays where it is; later \
            it stops when more than half of those that ended of late have failed again.

            It is an operation of its own: 'errand op ls' shows how far it is, 'errand op cancel' \
            ends it from another terminal, 'errand op resume' goes on with it after anything.
            """,
        examples: [
            .init("errand dead redrive --fingerprint 2c26b46b68ff --rate 50/s", "gently"),
            .init("errand dead redrive --queue mail --newer 1d --dry-run", "which would it be"),
        ],
        options: JobFilterOptions.all + BulkOptions.common + [
            BulkOptions.trial, BulkOptions.patience,
        ],
        arguments: [ids]
    ) { invocation in
        try await run(.redrive, invocation) { bulk, id in
            try await bulk.run(
                id, trial: invocation[BulkOptions.trial],
                patience: invocation[BulkOptions.patience])
        }
    }

    private static let discard = Command(
        "dead", "discard", effect: .changes,
        summary: "Delete dead letters for good",
        discussion: """
            Takes ids, a filter, or --all. First shows how many there are and a few of them, then \
            asks. What is deleted cannot be brought back: 'errand dead export' keeps a copy.
            """,
        examples: [
            .init("errand dead discard --kind demo.fail --older 30d --reason obsolete", "the old")
        ],
        options: JobFilterOptions.all + BulkOptions.common, arguments: [ids]
    ) { invocation in
        try await run(.delete, invocation) { bulk, id in try await bulk.run(id) }
    }

    /// Which letters are meant.
    private static func meant(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter {
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        let ids = invocation[ids]
        filter.ids = ids.isEmpty ? nil : Set(ids.map(Int64.init)).sorted()
        guard !filter.isEmpty || invocation[BulkOptions.everything] else {
            throw CommandFailure(
                exit: .usage, message: "it is not said which dead letters are meant",
                hint: "give ids, a filter such as --kind KIND, or --all; "
                    + "'errand dead group' shows what there is")
        }
        guard ids.isEmpty || !invocation[BulkOptions.everything] else {
            throw CommandFailure(
                exit: .usage, message: "--all and ids do not go together",
                hint: "leave one of them out")
        }
        filter.states = [.dead]
        return filter
    }

    private static func run(
        _ action: BulkOperation.Action, _ invocation: Invocation,
        _ work: (BulkRun, Int64) async throws -> ExitCode
    ) async throws -> ExitCode {
        let session = try invocation.session()
        let filter = try await meant(invocation, Inspector(session: session))
        var missing = 0
        let exit = try await BulkFlow(action, invocation).run(filter, session) { bulk, id in
            let exit = try await work(bulk, id)
            if let asked = filter.ids?.count, let end = try await bulk.operations.one(id) {
                missing = asked - end.total
            }
            return exit
        }
        guard missing > 0, exit == .done, invocation[BulkOptions.most] == nil else { return exit }
        throw CommandFailure(
            exit: .partlyDone,
            message: "\(missing) of \(filter.ids?.count ?? 0) are no dead letters",
            hint: "'errand job show ID' tells what they are")
    }
}
