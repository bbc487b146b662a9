import ErrandAdministration
import Errand
import ErrandTerminal

/// The filters shared by every job listing and bulk action; they combine.
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
        help: "Only jobs created (or, once finished, finished) more than TIME ago, e.g. 2h")
    private static let newer = Option<Duration?>.duration(
        "newer", range: .zero...longest, placeholder: "TIME",
        help: "Only jobs created (or, once finished, finished) within the last TIME")
    private static let error = Option<String?>.text(
        "error",
        help: "Only jobs whose last error contains TEXT; '~ REGEX' is a regular expression")
    private static let arguments = Option<[JobFilter.Argument]>.list(
        "arg", argument, separator: nil,
        help: "Only jobs whose arguments contain NAME=VALUE, such as person_id=42")
    private static let worker = Option<Int?>.integer(
        "worker", range: 1...Int.max, placeholder: "ID",
        help: "Only jobs that this worker holds, or held last")
    private static let schedule = Option<String?>.text(
        "schedule", placeholder: "NAME", help: "Only jobs created by this schedule")
    private static let fingerprint = Option<String?>.text(
        "fingerprint", placeholder: "ID",
        help: "Only dead letters of this group; 'errand dead group' lists the groups")

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
        "order", default: .newest, help: "Which jobs come first")

    private enum Order: String, CaseIterable, Sendable { case newest, oldest }

    private static let allHistory = Option.flag(
        "all-history", help: "Search the whole history, without a time limit")

    /// The options that select a page of a listing.
    static let page: [any DeclaredOption] = [
        PageOptions.limit, before, PageOptions.cursor, order, allHistory,
    ]

    /// Explains how far a listing searches.
    static let reach = """
        A search that no index serves stops early, and a note shows where. Continue it with \
        --cursor, or search everything with --all-history. --newer and --older assume that ids \
        grow with creation time (within 10,000 jobs), and running jobs are read from the workers' \
        claims; --all-history assumes neither.
        """

    /// Sets the requested page.
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

    /// Reads the requested page, shows it, and prints the command for the next one.
    static func list(
        _ filter: JobFilter, _ inspector: Inspector, columns: [Column], noun: String,
        _ invocation: Invocation
    ) async throws {
        var filter = filter
        turn(to: &filter, invocation)
        let page = try await inspector.page(
            filter, timeout: invocation[allHistory] ? nil : Inspector.timeout)
        let empty = page.stoppedAt == nil ? "no \(noun)s match" : "no match so far"
        try invocation.output.list(
            page.jobs.map(JobCommands.record), columns: columns, empty: empty)
        let more = { (id: Int64) in invocation.line(behind: PageOptions.cursor, String(id)) }
        if let stop = page.stoppedAt {
            invocation.output.note(
                "stopped early after \(reached(page, filter)); continue: \(more(stop)), or "
                    + "search everything: --all-history")
        } else if page.jobs.count == filter.limit, let last = page.jobs.last {
            invocation.output.note("more: \(more(last.id))")
        }
    }

    /// The jobs searched, such as "the newest 310,000 jobs, down to id 123".
    static func reached(_ page: JobPage, _ filter: JobFilter) -> String {
        let isWhole = filter.before == nil && filter.after == nil
        let which = !isWhole ? "" : filter.isOldestFirst ? "the oldest " : "the newest "
        let way = filter.isOldestFirst ? "up" : "down"
        return "\(which)\(HumanFormat.count(page.looked)) jobs, \(way) to id "
            + "\(page.stoppedAt ?? 0)"
    }

    /// The options that select jobs; a listing adds ``states`` and ``page``.
    static let all: [any DeclaredOption] = [
        queue, kind, tag, key, older, newer, error, arguments, worker, schedule, fingerprint,
    ]

    /// The requested filter.
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
