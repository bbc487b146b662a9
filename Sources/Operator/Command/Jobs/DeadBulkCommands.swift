import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand dead redrive` and `errand dead discard`: bulk actions on dead letters.
enum DeadBulkCommands {
    static let all = [redrive, discard]

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0, help: "Dead letters by id")

    private static let redrive = Command(
        "dead", "redrive", effect: .write,
        summary: "Redrive dead letters: run them again with all their attempts",
        discussion: """
            Takes ids, a filter, or --all. Shows the number of dead letters and a sample, then \
            asks for confirmation. A trial of five runs first: if one of them fails again, the \
            rest is not redriven. Later the redrive stops if more than half of the recent jobs \
            fail again.

            A redrive is an operation: 'errand op ls' shows its progress, 'errand op cancel' \
            stops it from another terminal, and 'errand op resume' continues it.
            """,
        examples: [
            .init("errand dead redrive --fingerprint 2c26b46b68ff --rate 50/s", "one group"),
            .init(
                "errand dead redrive --queue mail --newer 1d --dry-run",
                "show what would be redriven"),
        ],
        options: JobFilterOptions.all + BulkOptions.common + [
            BulkOptions.trial, BulkOptions.timeout,
        ],
        arguments: [ids]
    ) { invocation in
        try await run(.redrive, invocation) { bulk, id in
            try await bulk.run(
                id, trial: invocation[BulkOptions.trial],
                timeout: invocation[BulkOptions.timeout])
        }
    }

    private static let discard = Command(
        "dead", "discard", effect: .write,
        summary: "Delete dead letters permanently",
        discussion: """
            Takes ids, a filter, or --all. Shows the number of dead letters and a sample, then \
            asks for confirmation. Deleted jobs cannot be restored: 'errand dead export' keeps a \
            copy.
            """,
        examples: [
            .init(
                "errand dead discard --kind demo.fail --older 30d --reason obsolete",
                "dead letters older than 30 days")
        ],
        options: JobFilterOptions.all + BulkOptions.common, arguments: [ids]
    ) { invocation in
        try await run(.delete, invocation) { bulk, id in try await bulk.run(id) }
    }

    /// The selected dead letters.
    private static func selectedJobs(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter {
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        let ids = invocation[ids]
        filter.ids = ids.isEmpty ? nil : Set(ids.map(Int64.init)).sorted()
        guard !filter.isEmpty || invocation[BulkOptions.everything] else {
            throw CommandFailure(
                exit: .usage, message: "no dead letters are selected",
                hint: "give ids, a filter such as --kind KIND, or --all; "
                    + "'errand dead group' shows the groups")
        }
        guard ids.isEmpty || !invocation[BulkOptions.everything] else {
            throw CommandFailure(
                exit: .usage, message: "--all and ids cannot be combined",
                hint: "give one of them")
        }
        filter.states = [.dead]
        return filter
    }

    private static func run(
        _ action: BulkOperation.Action, _ invocation: Invocation,
        _ work: (BulkRun, Int64) async throws -> ExitCode
    ) async throws -> ExitCode {
        let session = try invocation.session()
        let filter = try await selectedJobs(invocation, Inspector(session: session))
        var missing = 0
        let exit = try await BulkFlow(action, invocation).run(filter, session) { bulk, id in
            let exit = try await work(bulk, id)
            if let asked = filter.ids?.count, let end = try await bulk.operations.one(id) {
                missing = asked - end.total
            }
            return exit
        }
        guard missing > 0, exit == .done, invocation[BulkOptions.maxJobs] == nil else {
            return exit
        }
        throw CommandFailure(
            exit: .partlyDone,
            message: "\(missing) of \(filter.ids?.count ?? 0) are not dead letters",
            hint: "'errand job show ID' shows a job's state")
    }
}
