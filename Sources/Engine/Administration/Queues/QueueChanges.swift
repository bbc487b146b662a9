import Errand
import ErrandPostgres

extension Inspector {
    /// The number of due and running jobs of a queue, counted up to `limit`.
    package func dueCount(in queue: String, upTo limit: Int = 100_000) async throws -> Int {
        Int(
            try await session.query(Statements.dueInQueue, [.text(queue), .int64(Int64(limit))])
                .int64(0, 0))
    }
}

/// What uses a queue, so that it cannot be removed.
package enum QueueUse: Sendable, Equatable {
    case isDefault
    case jobs
    /// A live worker that serves the queue by its name.
    case worker(Int64)
    case schedule(String)
    /// A kind whose jobs are enqueued there by default.
    case kind(String)
    case limit
    case pause
}

extension Inspector {
    /// The result of removing a queue.
    package enum QueueRemoval: Sendable, Equatable {
        case removed, unknown
        case used(QueueUse)
    }

    /// What uses a queue.
    package func uses(of queue: String) async throws -> [QueueUse] {
        try Self.uses(await session.query(Statements.queueUses, [.text(queue)]))
    }

    private static func uses(_ rows: Rows) throws -> [QueueUse] {
        guard let row = rows.first else { return [] }
        var uses: [QueueUse] = []
        if try row.bool("is_default") { uses.append(.isDefault) }
        if try row.bool("has_jobs") { uses.append(.jobs) }
        if let worker = try row.optionalInt64("worker") { uses.append(.worker(worker)) }
        if let schedule = try row.optionalText("schedule") { uses.append(.schedule(schedule)) }
        if let kind = try row.optionalText("kind") { uses.append(.kind(kind)) }
        if try row.bool("has_limit") { uses.append(.limit) }
        if try row.bool("is_paused") { uses.append(.pause) }
        return uses
    }

    /// Removes a queue that nothing uses.
    package func removeQueue(
        _ queue: String, by operatorName: String, reason: String?
    ) async throws -> QueueRemoval {
        try await session.transaction { session in
            guard try !session.query(Statements.lockQueue, [.text(queue)]).isEmpty else {
                return .unknown
            }
            // A new snapshot, after the lock.
            if let use = try Self.uses(session.query(Statements.queueUses, [.text(queue)])).first {
                return .used(use)
            }
            _ = try session.query(Statements.removeQueue, [.text(queue)])
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "queue rm", subject: queue, reason: reason
                ).statement)
            return .removed
        }
    }
}
