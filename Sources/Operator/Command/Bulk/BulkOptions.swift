import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// The options of every bulk action, besides the filters.
enum BulkOptions {
    static let everything = Option.flag("all", help: "Select all, or all that match the filters")
    static let maxJobs = Option<Int?>.integer(
        "max", range: 1...Int.max, help: "Process at most N, those with the lowest ids")
    static let dryRun = Option.flag(
        "dry-run", help: "Show the number and a sample; change nothing")
    static let exact = Option.flag(
        "exact", help: "Count exactly before asking, which may take long")
    static let rate = Option<Rate?>.value(
        "rate", Rate.format, help: "Process at most this many per time, such as 50/s or 600/m")

    static let common: [any DeclaredOption] = [
        everything, maxJobs, dryRun, exact, rate, AuditOptions.reason,
    ]

    static let trial = Option.integer(
        "try", default: 5, range: 0...Operations.chunk,
        help: "Redrive N first and stop if one fails again; 0: no trial, and no check later")
    static let timeout = Option.duration(
        "trial-timeout", default: .seconds(30), range: .zero...Duration.seconds(86_400),
        help: "How long to wait for the trial")

    /// The options of a bulk action on jobs.
    static let jobs = JobFilterOptions.all + [JobFilterOptions.states] + common

    static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), minimum: 0,
        help: "The jobs' ids; without ids, give filters or --all")

    /// The paragraph on bulk processing in the help of every bulk action on jobs.
    static let discussion = """

        Takes ids, filters, or --all. With filters it shows the number of jobs and a sample, asks \
        for confirmation, and processes the jobs in chunks, as an operation: 'errand op ls' shows \
        its progress, 'errand op cancel' stops it from another terminal, and 'errand op resume' \
        continues it. Jobs created meanwhile are not included; jobs that changed meanwhile are \
        skipped and counted. Exits 0 if all jobs were processed or none match, 5 if not \
        confirmed, and 7 if it stopped early.
        """

    /// The jobs selected by filters; nil if they are given by their ids.
    static func selectedJobs(
        _ action: BulkOperation.Action, _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter? {
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        let states = invocation[JobFilterOptions.states]
        let isFiltered = !filter.isEmpty || !states.isEmpty
        guard invocation[ids].isEmpty else {
            let isBulk =
                isFiltered || invocation[everything] || invocation[maxJobs] != nil
                || invocation[rate] != nil || invocation[dryRun] || invocation[exact]
            guard !isBulk else {
                throw CommandFailure(
                    exit: .usage,
                    message: "ids cannot be combined with filters, --all, --max, --rate, --exact "
                        + "or --dry-run",
                    hint: "give either ids or filters"
                        + (action == .move ? "; --to names the queue to move to" : ""))
            }
            return nil
        }
        guard isFiltered || invocation[everything] else {
            throw CommandFailure(
                exit: .usage, message: "no jobs are selected",
                hint: "give ids, a filter such as --queue NAME, or --all; 'errand job ls' takes "
                    + "the same filters")
        }
        if let wrong = states.first(where: { !action.possibleStates.contains($0) }) {
            let possible = action.possibleStates.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(
                exit: .usage,
                message: "'\(action.rawValue)' does not apply to jobs that are "
                    + wrong.rawValue, hint: "--state accepts: \(possible)")
        }
        filter.states = states.isEmpty ? action.usualStates : states
        return filter
    }
}
