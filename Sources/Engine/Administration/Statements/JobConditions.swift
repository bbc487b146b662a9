import ErrandJSONText
import Errand
import FoundationEssentials
import ErrandPostgres

/// A table of jobs, and the names of its columns.
enum JobTable: Sendable {
    case live
    case finished
    /// Only the dead letters.
    case dead

    var name: String {
        switch self {
        case .live: "errand.jobs"
        case .finished: "errand.finished_jobs"
        case .dead: "errand.dead_jobs"
        }
    }

    var columns: String { self == .live ? Statements.liveColumns : Statements.finishedColumns }

    /// The column from which a job's age counts.
    var since: String { self == .live ? "created_at" : "finished_at" }

    var worker: String { self == .live ? "claimed_by" : "worker" }

    /// The last error, or the reason if there is none.
    var error: String {
        self == .live ? "(errors -> -1 ->> 'error')" : "coalesce(errors -> -1 ->> 'error', reason)"
    }

    /// The tables that may contain jobs that match the filter.
    static func holding(_ filter: JobFilter) -> [JobTable] {
        let states = Set(filter.states ?? JobState.allCases)
        let hasDead = states.contains(.dead)
        if filter.fingerprint != nil { return hasDead ? [.dead] : [] }
        var tables: [JobTable] = []
        if !states.isDisjoint(with: [.scheduled, .available, .running, .retrying]) {
            tables.append(.live)
        }
        if !states.isDisjoint(with: [.completed, .cancelled]) {
            tables.append(.finished)
        } else if hasDead {
            tables.append(.dead)
        }
        return tables
    }
}

/// The conditions of a filter as SQL and parameters; user input only becomes parameters.
struct JobConditions {
    private(set) var parameters: [Parameter] = []

    /// The jobs of one page, in the order of the filter; nil if no job can match.
    static func page(_ filter: JobFilter) throws -> Statement? {
        var conditions = JobConditions()
        let limit = conditions.placeholder(.int64(Int64(filter.limit)))
        let order = filter.isOldestFirst ? "ASC" : "DESC"
        var parts: [String] = []
        for table in JobTable.holding(filter) {
            var clauses = try conditions.clauses(filter, table)
            if let before = filter.before {
                clauses.append("id < \(conditions.placeholder(.int64(before)))")
            }
            if let after = filter.after {
                clauses.append("id > \(conditions.placeholder(.int64(after)))")
            }
            parts.append(
                """
                (SELECT \(table.columns) FROM \(table.name)
                WHERE \(Self.joined(clauses)) ORDER BY id \(order) LIMIT \(limit))
                """)
        }
        guard !parts.isEmpty else { return nil }
        let sql = parts.joined(separator: "\nUNION ALL\n")
        return Statement(
            "SELECT * FROM (\n\(sql)\n) AS found ORDER BY id \(order) LIMIT \(limit)",
            conditions.parameters)
    }

    /// Joins clauses into one condition.
    static func joined(_ clauses: [String]) -> String {
        clauses.isEmpty ? "true" : clauses.joined(separator: " AND ")
    }

    /// Adds a parameter and returns its placeholder.
    mutating func placeholder(_ parameter: Parameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }

    /// The conditions of the filter for a table.
    mutating func clauses(_ filter: JobFilter, _ table: JobTable) throws -> [String] {
        var clauses: [String] = []
        if let ids = filter.ids { clauses.append("id = ANY (\(placeholder(.int64Array(ids))))") }
        for (column, value) in [
            ("queue", filter.queue), ("kind", filter.kind), ("unique_key", filter.key),
            ("options -> 'occurrence' ->> 'schedule'", filter.schedule),
            ("fingerprint", filter.fingerprint),
        ] {
            if let value { clauses.append("\(column) = \(placeholder(.text(value)))") }
        }
        if table == .live, filter.kind != nil, filter.queue == nil {
            // The index of lanes begins with the queue; with this clause it serves kinds too.
            clauses.append("queue = ANY (ARRAY(SELECT name FROM errand.queues))")
        }
        if let tag = filter.tag { clauses.append("tags @> \(placeholder(.textArray([tag])))") }
        if let worker = filter.worker {
            clauses.append("\(table.worker) = \(placeholder(.int64(worker)))")
        }
        if let states = filter.states { clauses += self.states(states, table) }
        clauses += ages(filter, table)
        // Excludes jobs that have finished since then.
        if table != .live, let asOf = filter.asOf {
            clauses.append("finished_at <= \(placeholder(.timestamp(asOf)))")
        }
        if let error = filter.error { clauses.append(self.error(error, table)) }
        for argument in filter.arguments ?? [] { clauses.append(try self.argument(argument)) }
        return clauses
    }

    private mutating func states(_ states: [JobState], _ table: JobTable) -> [String] {
        switch table {
        case .dead: return []
        case .live:
            let clauses = Set(states).compactMap(Self.condition)
            // Simple conditions for the most frequent filters.
            if clauses.count == 4 { return [] }
            if clauses.count == 3, !states.contains(.running) { return ["claimed_by IS NULL"] }
            return ["(" + clauses.sorted().joined(separator: " OR ") + ")"]
        case .finished:
            let names = placeholder(.textArray(states.filter(\.isEnd).map(\.rawValue)))
            let clause = "outcome = ANY (\(names)::text[]::errand.job_outcome[])"
            // Excludes the partition of dead letters by its bounds.
            return states.contains(.dead) ? [clause] : [clause, "keep_until < '9999-01-01'"]
        }
    }

    /// The condition of a state in errand.live_state(), inline so that the planner can estimate it.
    private static func condition(_ state: JobState) -> String? {
        switch state {
        case .running: "claimed_by IS NOT NULL"
        case .retrying: "claimed_by IS NULL AND attempt > 0"
        case .scheduled: "claimed_by IS NULL AND attempt <= 0 AND run_at > now()"
        case .available: "claimed_by IS NULL AND attempt <= 0 AND run_at <= now()"
        case .completed, .cancelled, .dead: nil
        }
    }

    mutating func ages(_ filter: JobFilter, _ table: JobTable) -> [String] {
        var clauses: [String] = []
        let from = filter.asOf.map { placeholder(.timestamp($0)) } ?? "now()"
        for (sign, milliseconds) in [("<=", filter.olderMs), (">", filter.newerMs)] {
            guard let milliseconds else { continue }
            let seconds = placeholder(.double(Double(milliseconds) / 1000))
            clauses.append("\(table.since) \(sign) \(from) - make_interval(secs => \(seconds))")
        }
        return clauses
    }

    private mutating func error(_ text: String, _ table: JobTable) -> String {
        guard let pattern = Self.pattern(text) else {
            return "position(lower(\(placeholder(.text(text)))) IN lower(\(table.error))) > 0"
        }
        return "\(table.error) ~ \(placeholder(.text(pattern)))"
    }

    /// The regular expression after `~`; nil for other texts.
    static func pattern(_ text: String) -> String? {
        text.hasPrefix("~") ? String(text.dropFirst().drop { $0 == " " }) : nil
    }

    private mutating func argument(_ argument: JobFilter.Argument) throws -> String {
        let encoder = JSONEncoder()
        let text = [UInt8](try encoder.encode([argument.name: argument.value]))
        let asText = "args @> \(placeholder(.json(text)))"
        let value = argument.value
        let isNumber = value.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
        guard isNumber || ["true", "false", "null"].contains(value) else { return asText }
        let name = [UInt8](try encoder.encode(argument.name))
        let plain = Array("{".utf8) + name + Array(":\(value)}".utf8)
        // Not a valid number, such as 1-2: only a string can match.
        guard (try? JSONScanner.checkObject(plain[...])) != nil else { return asText }
        return "(\(asText) OR args @> \(placeholder(.json(plain))))"
    }
}

extension JobState {
    /// Whether the state is final.
    fileprivate var isEnd: Bool { self == .completed || self == .cancelled || self == .dead }
}
