package import Errand
import FoundationEssentials
package import ErrandPostgres

/// One bulk action on jobs or dead letters: what it is to do, and how far it has come.
package struct BulkOperation: Sendable {
    /// Named as its command is called.
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
        /// It should run, and nobody runs it: `op resume` does.
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
    /// JSON: what the jobs are to become; without sensitive values.
    package var change: [UInt8]?
    package var ratePerSecond: Double?
    /// Not more than so many.
    package var most: Int?
    package var total: Int
    /// Whether `total` is an estimate.
    package var isEstimate: Bool
    package var done: Int
    /// Of these, running jobs whose workers were asked to cancel them.
    package var asked: Int
    /// Jobs that had changed by the time they were come to.
    package var skipped: Int
    package var state: State
    /// Why it was cancelled or failed.
    package var note: String?

    /// - Parameter sensitive: names of arguments that are not shown.
    init(_ row: Row, sensitive: Set<String>) throws {
        id = try row.int64("id")
        action = Action(rawValue: try row.text("action")) ?? .redrive
        operatorName = try row.text("operator")
        reason = try row.optionalText("reason")
        startedAt = try row.timestamp("started_at")
        endedAt = try row.optionalTimestamp("ended_at")
        filter = try JobFilter(json: row.json("filter")).redacted(sensitive).json
        change = try row.optionalJSON("change").map { json in
            try BulkChange(json: json).redacted(sensitive).json
        }
        ratePerSecond = try row.optionalDouble("rate_per_s")
        most = try row.optionalInt64("most").map(Int.init)
        total = Int(try row.int64("total"))
        isEstimate = try row.bool("is_estimate")
        done = Int(try row.int64("done"))
        asked = Int(try row.int64("asked"))
        skipped = Int(try row.int64("skipped"))
        state = State(rawValue: try row.text("state")) ?? .running
        note = try row.optionalText("note")
    }
}

extension BulkOperation.Action {
    private static let waiting: [JobState] = [.scheduled, .available, .retrying]

    /// The states of the jobs that it can do something about.
    package var possibleStates: [JobState] {
        switch self {
        case .redrive, .delete: [.dead]
        case .retry: Self.waiting + [.completed, .cancelled, .dead]
        case .cancel: Self.waiting + [.running]
        case .discard: Self.waiting + [.dead]
        case .runNow, .reschedule, .move, .edit, .purge: Self.waiting
        }
    }

    /// The states that are meant where none is named: retrying what was completed or cancelled has
    /// to be asked for.
    package var usualStates: [JobState] {
        self == .retry ? [.retrying, .dead] : possibleStates
    }
}

/// What jobs are to become, where an action needs to know.
package struct BulkChange: Sendable, Equatable, Codable {
    /// When they are to start.
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

    /// The same without the values of these arguments.
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

    /// The same without the values of these arguments.
    func redacted(_ sensitive: Set<String>) -> JobFilter {
        var shown = self
        shown.arguments = arguments?.map { argument in
            guard sensitive.contains(argument.name) else { return argument }
            return Argument(name: argument.name, value: Redaction.mark)
        }
        return shown
    }
}
