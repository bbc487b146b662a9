import JobQueue
import Postgres
import Terminal

/// What every bulk action takes, beside the filters.
enum BulkOptions {
    static let everything = Option.flag("all", help: "All there are, or all that pass the filters")
    static let most = Option<Int?>.integer(
        "max", range: 1...Int.max, help: "Not more than so many, those with the lowest ids")
    static let dryRun = Option.flag("dry-run", help: "Only show which they are")
    static let rate = Option<Double?>.value(
        "rate", perSecond, help: "So many in a second, minute or hour, such as 50/s or 600/m")
    static let reason = Option<String?>.text("reason", help: "Why, for the record")

    static let common: [any DeclaredOption] = [everything, most, dryRun, rate, reason]

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
                || invocation[rate] != nil || invocation[dryRun]
            guard !isBulk else {
                throw CommandFailure(
                    exit: .usage,
                    message: "ids do not go together with filters, --all, --max, --rate or "
                        + "--dry-run",
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
