import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// What every bulk action takes, beside the filters.
enum BulkOptions {
    static let everything = Option.flag("all", help: "All there are, or all that pass the filters")
    static let most = Option<Int?>.integer(
        "max", range: 1...Int.max, help: "Not more than so many, those with the lowest ids")
    static let dryRun = Option.flag("dry-run", help: "Only show which they are")
    static let exact = Option.flag(
        "exact", help: "Count all before asking, however many: may take long")
    static let rate = Option<Rate?>.value(
        "rate", Rate.format, help: "So many in a second, minute or hour, such as 50/s or 600/m")

    static let common: [any DeclaredOption] = [
        everything, most, dryRun, exact, rate, AuditOptions.reason,
    ]

    static let trial = Option.integer(
        "try", default: 5, range: 0...Operations.chunk,
        help: "Of a redrive, let so many run first, and stop when one of them fails again; 0 "
            + "tries none, and judges none later")
    static let patience = Option.duration(
        "patience", default: .seconds(30), range: .zero...Duration.seconds(86_400),
        help: "How long to wait for those that run first")

    /// What a bulk action on jobs takes.
    static let jobs = JobFilterOptions.all + [JobFilterOptions.states] + common

    static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0,
        help: "The jobs' ids; or none, and filters or --all")

    /// What help says of every bulk action on jobs, as a paragraph of its own.
    static let discussion = """

        Takes ids; or filters, or --all. With filters it first shows how many there are and a few \
        of them, then asks, and deals with them in chunks, as an operation of its own: 'errand op \
        ls' shows how far it is, 'errand op cancel' ends it from another terminal, and 'errand op \
        resume' goes on with it after anything. Jobs that are made meanwhile are not meant; one \
        that has changed when its turn comes is left as it is, and counted as skipped. \
        Exits 0 when all is done or nothing passes, 5 when it was not confirmed, 7 when it ended \
        before all was done.
        """

    /// The jobs that an action is to deal with; nil when they are named by their ids.
    static func meant(
        _ action: BulkOperation.Action, _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter? {
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        let states = invocation[JobFilterOptions.states]
        let isFiltered = !filter.isEmpty || !states.isEmpty
        guard invocation[ids].isEmpty else {
            let isBulk =
                isFiltered || invocation[everything] || invocation[most] != nil
                || invocation[rate] != nil || invocation[dryRun] || invocation[exact]
            guard !isBulk else {
                throw CommandFailure(
                    exit: .usage,
                    message: "ids do not go together with filters, --all, --max, --rate, --exact "
                        + "or --dry-run",
                    hint: "give either ids or filters"
                        + (action == .move ? "; --to names the queue to move to" : ""))
            }
            return nil
        }
        guard isFiltered || invocation[everything] else {
            throw CommandFailure(
                exit: .usage, message: "it is not said which jobs are meant",
                hint: "give ids, a filter such as --queue NAME, or --all; 'errand job ls' with "
                    + "the same filters shows which they are")
        }
        if let wrong = states.first(where: { !action.possibleStates.contains($0) }) {
            let possible = action.possibleStates.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(
                exit: .usage,
                message: "'\(action.rawValue)' can do nothing about jobs that are "
                    + wrong.rawValue, hint: "with --state it takes: \(possible)")
        }
        filter.states = states.isEmpty ? action.usualStates : states
        return filter
    }
}
