package import ErrandPostgres

/// An operator's command for a worker.
package struct WorkerCommand: Sendable, Equatable {
    package enum Task: String, Sendable {
        /// Claim no new jobs and finish the running ones.
        case quiet
        /// Stop gracefully, as on SIGTERM.
        case stop
    }

    package var task: Task
    package var at: Instant?
    package var by: String?
    package var reason: String?

    /// Reads the command of a row of `errand.workers`; nil if there is none.
    package init?(_ row: Row) throws {
        guard let task = try row.optionalText("command").flatMap(Task.init(rawValue:)) else {
            return nil
        }
        self.task = task
        at = try row.optionalTimestamp("command_at")
        by = try row.optionalText("command_by")
        reason = try row.optionalText("command_reason")
    }
}
