import ErrandJSONText
import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// The options of `schedule add` and `schedule edit`.
enum ScheduleOptions {
    static let kind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "The kind of its jobs")
    static let args = Option<String?>.text(
        "args", placeholder: "ARGS",
        help: "The arguments of its jobs: a JSON object, @FILE, or @- (default: {})")
    static let zone = Option<String?>.text(
        "tz", placeholder: "ZONE", help: "The time zone, such as Europe/Berlin (default: UTC)")
    static let queue = Option<String?>.value(
        "queue",
        ValueFormat("NAME", expected: "up to 63 of a-z, 0-9, dot, dash, underscore") { text in
            JobKinds.isName(text, limit: 63) ? text : nil
        }, help: "The queue of its jobs (default: the kind's)")
    static let priority = Option<Priority?>.value(
        "priority", JobInputOptions.level, help: "critical, high, normal or low")
    static let maxAttempts = Option<Int?>.integer(
        "max-attempts", range: 1...32_767,
        help: "The maximum attempts of its jobs (default: the kind's)")
    static let gap = Option<GapRule?>.value(
        "gap", .choice(of: GapRule.self),
        help: "Times that do not exist when clocks go forward: run after the gap, or skip")
    static let repeats = Option<RepeatRule?>.value(
        "repeat", .choice(of: RepeatRule.self),
        help: "Times that occur twice when clocks go back")
    static let starts = Option<Instant?>.value(
        "starts", JobInputOptions.time,
        help: "The start: no occurrences before it; @every counts from it")
    static let ends = Option<Instant?>.value(
        "ends", JobInputOptions.time, help: "The end: no occurrences from then on")
    static let jitter = Option<Duration?>.duration(
        "jitter", range: .zero ... .seconds(31 * 86_400),
        help: "Delay each job by up to this, stable per occurrence")
    static let catchUp = Option<Policy?>.value(
        "catch-up", .choice(of: Policy.self),
        help: "Occurrences while no scheduler was running (default: latest)")
    static let window = Option<Duration?>.duration(
        "catch-up-window", range: .seconds(1) ... .seconds(3_650 * 86_400),
        help: "The maximum age of occurrences to catch up (default: 7d)")
    static let catchUpLimit = Option<Int?>.integer(
        "catch-up-limit", range: 1...1_000,
        help: "Catch up at most N occurrences (default: 100)")
    static let overlap = Option<Overlap?>.value(
        "overlap", .choice(of: Overlap.self),
        help: "When the previous job has not ended (default: allow)")
    static let pauseAfter = Option<Int?>.integer(
        "pause-after", range: 1...1_000_000, help: "Pause after N consecutive jobs have died")
    static let runLimit = Option<Int?>.integer(
        "run-limit", range: 1...Int.max, help: "End after N jobs")

    enum Policy: String, CaseIterable, Sendable { case none, latest, all, merge }

    /// All options, without the arguments name and expression.
    static let all: [any DeclaredOption] = [
        kind, args, zone, queue, priority, maxAttempts, gap, repeats, starts, ends, jitter,
        catchUp, window, catchUpLimit, overlap, pauseAfter, runLimit,
    ]

    /// The settings given on the command line.
    static func given(
        _ invocation: Invocation, expression: String?, zones: ZoneDatabase
    ) throws -> [ScheduleSetting: JSONValue] {
        var given: [ScheduleSetting: JSONValue] = [:]
        if let expression {
            _ = try ScheduleFormatting.recurrence(expression)
            given[.cron] = .text(expression)
        }
        if let name = invocation[zone] {
            _ = try ScheduleFormatting.zone(name, in: zones)
            given[.tz] = .text(name)
        }
        given[.gap] = invocation[gap].map { .text($0.rawValue) }
        given[.repeat] = invocation[repeats].map { .text($0.rawValue) }
        given[.starts] = invocation[starts].map { .text($0.description) }
        given[.ends] = invocation[ends].map { .text($0.description) }
        given[.jitter] = invocation[jitter].map { .int(Int($0 / .milliseconds(1))) }
        given[.kind] = invocation[kind].map { .text($0) }
        given[.queue] = invocation[queue].map { .text($0) }
        given[.priority] = invocation[priority].map { .int(Int($0.rawValue)) }
        given[.maxAttempts] = invocation[maxAttempts].map { .int($0) }
        given[.catchUp] = invocation[catchUp].map { .text($0.rawValue) }
        given[.catchUpWindow] = invocation[window].map { .int(Int($0.components.seconds)) }
        given[.catchUpLimit] = invocation[catchUpLimit].map { .int($0) }
        given[.overlap] = invocation[overlap].map { .text($0.rawValue) }
        given[.pauseAfter] = invocation[pauseAfter].map { .int($0) }
        given[.runLimit] = invocation[runLimit].map { .int($0) }
        if let text = invocation[args] {
            given[.args] = .raw(
                try JobInputOptions.arguments(text, kind: invocation[kind] ?? "this schedule"))
        }
        return given
    }

    /// Settings as a JSON object for the database.
    static func object(_ members: [String: JSONValue]) -> [UInt8] {
        JSONValue.object(
            members.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, $0.value) }
        ).serialized
    }
}
