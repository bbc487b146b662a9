package import ErrandPostgres

/// What an operator asked of a worker.
package struct WorkerOrder: Sendable, Equatable {
    package enum Task: String, Sendable {
        /// Take no new jobs, go on with what runs.
        case quiet
        /// End, as on SIGTERM.
        case stop
    }

    package var task: Task
    package var at: Instant?
    package var by: String?
    package var reason: String?

    /// Of a row of `errand.workers`; nil when nothing is asked.
    package init?(_ row: Row) throws {
        guard let task = try row.optionalText("asked").flatMap(Task.init(rawValue:)) else {
            return nil
        }
        self.task = task
        at = try row.optionalTimestamp("asked_at")
        by = try row.optionalText("asked_by")
        reason = try row.optionalText("asked_reason")
    }
}
