import ErrandAdministration
import Errand
import ErrandTerminal

/// The filters that every listing of jobs and every bulk action shares; they combine.
enum JobFilterOptions {
    private static let queue = Option<String?>.text(
        "queue", placeholder: "NAME", help: "Only jobs of this queue")
    private static let kind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "Only jobs of this kind")
    private static let tag = Option<String?>.text(
        "tag", placeholder: "TAG", help: "Only jobs with this tag")
    private static let key = Option<String?>.text(
        "key", placeholder: "KEY", help: "Only jobs with this unique key")
    private static let older = Option<Duration?>.duration(
        "older", range: .zero...longest, placeholder: "TIME",
        help: "Only those made longer ago, or, if they have ended, ended, such as 2h")
    private static let newer = Option<Duration?>.duration(
        "newer", range: .zero...longest, placeholder: "TIME",
        help: "Only those made, or ended, since then")
    private static let error = Option<String?>.text(
        "error", help: "Only with this in their last error; '~ REGEX' is a regular expression")
    private static let arguments = Option<[JobFilter.Argument]>.list(
        "arg", argument, separator: nil,
        help: "Only with this among their arguments, such as person_id=42")
    private static let worker = Option<Int?>.integer(
        "worker", range: 1...Int.max, placeholder: "ID",
        help: "Only those that this worker has, or had last")
    private static let schedule = Option<String?>.text(
        "schedule", placeholder: "NAME", help: "Only those that this schedule made")
    private static let fingerprint = Option<String?>.text(
        "fingerprint", placeholder: "ID",
        help: "Only dead letters of this group; 'errand dead group' lists them")

    private static let longest = Duration.seconds(100 * 365 * 86_400)

    private static let argument = ValueFormat<JobFilter.Argument>(
        "NAME=VALUE", expected: "NAME=VALUE, such as person_id=42"
    ) { text in
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        return JobFilter.Argument(name: String(parts[0]), value: String(parts[1]))
    }

    static let states = Option<[JobState]>.list(
        "state", .choice(of: JobState.self, "STATE"),
        help:
            "Only jobs in these states, such as available, running, retrying or dead"
    )
    static let before = Option<Int?>.integer(
        "before", range: 1...Int.max, placeholder: "ID",
        help: "Only jobs with lower ids")
    private static let order = Option<Order>.choice(
        "order", default: .newest, help: "Which come first; the other order pages back")

    private enum Order: String, CaseIterable, Sendable { case newest, oldest }

    private static let allHistory = Option.flag(
        "all-history", help: "Look through everything, however long that takes")

    /// What says which page of a listing is meant.
    static let page: [any DeclaredOption] = [
        PageOptions.limit, before, PageOptions.cursor, order, allHistory,
    ]

    /// How far a listing looks.
    static let reach = """
        A listing answers at once: where few jobs pass and no index finds them, it ends before \
        all were looked through, and a note says where. It goes on from there with --cursor; with \
        --all-history it takes its time. --newer and --older trust ids to follow the times at \
        which jobs were made, give or take ten thousand jobs, and running jobs are sought where \
        workers take them; --all-history trusts nothing.
        """

    /// Adds the page that was asked for.
    static func turn(to page: inout JobFilter, _ invocation: Invocation) {
        page.limit = invocation[PageOptions.limit]
        page.before = invocation[before].map(Int64.init)
        page.isOldestFirst = invocation[order] == .oldest
        guard let cursor = invocation[PageOptions.cursor].map(Int64.init) else { return }
        if page.isOldestFirst {
            page.after = cursor
        } else {
            page.before = min(page.before ?? cursor, cursor)
        }
    }

    /// Reads the page that was asked for, shows it, and tells how to see the next one.
    static func list(
        _ filter: JobFilter, _ inspector: Inspector, columns: [Column], noun: String,
        _ invocation: Invocation
    ) async throws {
        var filter = filter
        turn(to: &filter, invocation)
        let page = try await inspector.page(
            filter, patience: invocation[allHistory] ? nil : Inspector.patience)
        let empty = page.stoppedAt == nil ? "no \(noun) passes these filters" : "none so far"
        try invocation.output.list(
            page.jobs.map(JobCommands.record), columns: columns, empty: empty)
        let more = { (id: Int64) in invocation.line(behind: PageOptions.cursor, String(id)) }
        if let stop = page.stoppedAt {
            invocation.output.note(
                "looked through \(reached(page, filter)); go on: \(more(stop)), or "
                    + "--all-history for everything")
        } else if page.jobs.count == filter.limit, let last = page.jobs.last {
            invocation.output.note("more: \(more(last.id))")
        }
    }

    /// What was looked through, such as "the newest 310,000 jobs, down to id 123".
    static func reached(_ page: JobPage, _ filter: JobFilter) -> String {
        let isWhole = filter.before == nil && filter.after == nil
        let which = !isWhole ? "" : filter.isOldestFirst ? "the oldest " : "the newest "
        let way = filter.isOldestFirst ? "up" : "down"
        return "\(which)\(HumanFormat.count(page.looked)) jobs, \(way) to id "
            + "\(page.stoppedAt ?? 0)"
    }

    /// What says which jobs are meant; a listing adds ``states`` and ``page``.
    static let all: [any DeclaredOption] = [
        queue, kind, tag, key, older, newer, error, arguments, worker, schedule, fingerprint,
    ]

    /// What was asked for.
    ///
    /// - Throws: `CommandFailure` (not found) for a queue that does not exist.
    static func filter(
        _ invocation: Invocation, _ inspector: Inspector
    ) async throws -> JobFilter {
        if let name = invocation[queue] { try await QueueCommands.check(name, inspector) }
        var filter = JobFilter()
        filter.queue = invocation[queue]
        filter.kind = invocation[kind]
        filter.tag = invocation[tag]
        filter.key = invocation[key]
        filter.olderMs = invocation[older].map(milliseconds)
        filter.newerMs = invocation[newer].map(milliseconds)
        filter.error = invocation[error]
        filter.arguments = invocation[arguments].isEmpty ? nil : invocation[arguments]
        filter.worker = invocation[worker].map(Int64.init)
        filter.schedule = invocation[schedule]
        filter.fingerprint = invocation[fingerprint]
        return filter
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
