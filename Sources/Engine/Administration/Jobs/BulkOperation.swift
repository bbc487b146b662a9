package import Errand
import FoundationEssentials
package import ErrandPostgres

/// A bulk operation on jobs or dead letters: its parameters and its progress.
package struct BulkOperation: Sendable {
    /// The action, named like its command.
    package enum Action: String, CaseIterable, Sendable {
        case redrive = "dead redrive"
        case delete = "dead discard"
        case retry = "job retry"
        case cancel = "job cancel"
        case discard = "job discard"
        case runNow = "job run-now"
        case reschedule = "job reschedule"
        case move = "job move"
        case edit = "job edit"
        case purge = "queue purge"
    }

    package enum State: String, Sendable {
        case running, done, cancelled, failed
        /// Unfinished, but no process runs it: `op resume` does.
        case interrupted
    }

    package var id: Int64
    package var action: Action
    package var operatorName: String
    package var reason: String?
    package var startedAt: Instant
    package var endedAt: Instant?
    /// JSON, without sensitive values.
    package var filter: [UInt8]
    /// JSON: the change to the jobs; without sensitive values.
    package var change: [UInt8]?
    package var ratePerSecond: Double?
    /// The maximum number of jobs.
    package var maxJobs: Int?
    package var total: Int
    /// Whether `total` is an estimate.
    package var isEstimate: Bool
    package var done: Int
    /// Of these, running jobs whose workers were asked to cancel them.
    package var cancelRequested: Int
    /// Jobs that had changed before the operation reached them.
    package var skipped: Int
    package var state: State
    /// Why it was cancelled or failed.
    package var note: String?

    /// Creates an operation from its row.
    ///
    /// - Parameter sensitive: the names of arguments to redact.
    init(_ row: Row, sensitive: Set<String>) throws {
        id = try row.int64("id")
        action = Action(rawValue: try row.text("action")) ?? .redrive
        operatorName = try row.text("operator")
        reason = try row.optionalText("reason")
        startedAt = try row.timestamp("started_at")
        endedAt = try row.optionalTimestamp("ended_at")
        // A malformed value, written by hand, must not break a listing.
        let json = try row.json("filter")
        filter = (try? JobFilter(json: json).redacted(sensitive).json) ?? Array("{}".utf8)
        change = try row.optionalJSON("change").flatMap { json in
            try? BulkChange(json: json).redacted(sensitive).json
        }
        // A row may have any number; the lowest rate lets a job wait for thirty years.
        ratePerSecond = try row.optionalDouble("rate_per_s").flatMap {
            $0.isNaN ? nil : max($0.bounded(to: 0...1e6), 1e-9)
        }
        maxJobs = try row.optionalInt64("max_jobs").map(Int.init)
        total = Int(try row.int64("total"))
        isEstimate = try row.bool("is_estimate")
        done = Int(try row.int64("done"))
        cancelRequested = Int(try row.int64("cancel_requested"))
        skipped = Int(try row.int64("skipped"))
        state = State(rawValue: try row.text("state")) ?? .running
        note = try row.optionalText("note")
    }
}

extension BulkOperation.Action {
    private static let waiting: [JobState] = [.scheduled, .available, .retrying]

    /// The states of the jobs that the action applies to.
    package var possibleStates: [JobState] {
        switch self {
        case .redrive, .delete: [.dead]
        case .retry: Self.waiting + [.completed, .cancelled, .dead]
        case .cancel: Self.waiting + [.running]
        case .discard: Self.waiting + [.dead]
        case .runNow, .reschedule, .move, .edit, .purge: Self.waiting
        }
    }

    /// The default states: retrying completed or cancelled jobs requires naming these states.
    package var usualStates: [JobState] {
        self == .retry ? [.retrying, .dead] : possibleStates
    }
}

/// The new values of jobs, for actions that change them.
package struct BulkChange: Sendable, Equatable, Codable {
    /// The new start time.
    package var runAt: Instant?
    package var queue: String?
    package var priority: Int16?
    /// JSON.
    package var args: String?
    package var tags: [String]?

    package init() {}

    init(json: [UInt8]) throws {
        self = try JSONDecoder().decode(BulkChange.self, from: Data(json))
    }

    var isEmpty: Bool { self == BulkChange() }

    var json: [UInt8] { get throws { try AuditLine.json(self) } }

    /// The change without the values of these arguments.
    func redacted(_ sensitive: Set<String>) -> BulkChange {
        var shown = self
        shown.args = args.map { args in
            let redaction = Redaction(args: Array(args.utf8), sensitive: sensitive)
            return String(decoding: redaction.args, as: UTF8.self)
        }
        return shown
    }
}

extension JobFilter {
    init(json: [UInt8]) throws {
        self = try JSONDecoder().decode(JobFilter.self, from: Data(json))
    }

    var json: [UInt8] { get throws { try AuditLine.json(self) } }

    /// The filter without the values of these arguments.
    func redacted(_ sensitive: Set<String>) -> JobFilter {
        var shown = self
        shown.arguments = arguments?.map { argument in
            guard sensitive.contains(argument.name) else { return argument }
            return Argument(name: argument.name, value: Redaction.mark)
        }
        return shown
    }
}
