import ErrandJSONText
import Errand
import FoundationEssentials
import ErrandPostgres

/// Where jobs lie, and what their columns are called there.
enum JobTable: Sendable {
    case live
    case finished
    /// The dead letters alone.
    case dead

    var name: String {
        switch self {
        case .live: "errand.jobs"
        case .finished: "errand.finished_jobs"
        case .dead: "errand.dead_jobs"
        }
    }

    var columns: String { self == .live ? Statements.liveColumns : Statements.finishedColumns }

    /// Since when a job is what it is.
    var since: String { self == .live ? "created_at" : "finished_at" }

    var worker: String { self == .live ? "claimed_by" : "worker" }

    /// The last error; what was given up without one has a reason.
    var error: String {
        self == .live ? "(errors -> -1 ->> 'error')" : "coalesce(errors -> -1 ->> 'error', reason)"
    }

    /// Those in which jobs that pass the filter may lie: the others are not even looked at.
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

/// The conditions of a filter as SQL and its parameters; nothing that a user wrote becomes SQL.
struct JobConditions {
    private(set) var parameters: [Parameter] = []

    /// The jobs of one page, in the order asked for; nil when none can pass.
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

    /// Clauses as one condition.
    static func joined(_ clauses: [String]) -> String {
        clauses.isEmpty ? "true" : clauses.joined(separator: " AND ")
    }

    /// Adds a parameter and returns what stands for it.
    mutating func placeholder(_ parameter: Parameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }

    /// What must hold for a row of the table.
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
            // The index of lanes begins with the queue: a rare kind is found by it among millions.
            clauses.append("queue = ANY (ARRAY(SELECT name FROM errand.queues))")
        }
        if let tag = filter.tag { clauses.append("tags @> \(placeholder(.textArray([tag])))") }
        if let worker = filter.worker {
            clauses.append("\(table.worker) = \(placeholder(.int64(worker)))")
        }
        if let states = filter.states { clauses += self.states(states, table) }
        clauses += ages(filter, table)
        // What ended since then is not meant.
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
            // Simple words for what is asked for most.
            if clauses.count == 4 { return [] }
            if clauses.count == 3, !states.contains(.running) { return ["claimed_by IS NULL"] }
            return ["(" + clauses.sorted().joined(separator: " OR ") + ")"]
        case .finished:
            let names = placeholder(.textArray(states.filter(\.isEnd).map(\.rawValue)))
            let clause = "outcome = ANY (\(names)::text[]::errand.job_outcome[])"
            // The dead letters' partition is left out by its bounds.
            return states.contains(.dead) ? [clause] : [clause, "keep_until < '9999-01-01'"]
        }
    }

    /// What errand.live_state() decides, spelt out, so that the planner knows how rare a state is.
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

    /// The regular expression that is meant, if one is.
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
        // Such as 1-2: a text after all.
        guard (try? JSONScanner.checkObject(plain[...])) != nil else { return asText }
        return "(\(asText) OR args @> \(placeholder(.json(plain))))"
    }
}

extension JobState {
    /// Whether nothing more happens to such a job by itself.
    fileprivate var isEnd: Bool { self == .completed || self == .cancelled || self == .dead }
}
