import Errand
package import ErrandPostgres

/// The limits of a queue, over all workers.
package struct QueueLimit: Sendable, Equatable {
    package var queue: String
    /// The maximum number of running jobs.
    package var running: Int?
    /// The maximum number of starts per second.
    package var ratePerSecond: Double?
    /// The rate as the operator wrote it, such as `50/m`.
    package var rate: String?
    package var setAt: Instant
    package var setBy: String
    package var reason: String?
    /// The number of slots in use.
    package var held: Int

    init(_ row: Row) throws {
        queue = try row.text("queue")
        running = try row.optionalInt32("running").map(Int.init)
        ratePerSecond = try row.optionalDouble("rate_per_s")
        rate = try row.optionalText("rate")
        setAt = try row.timestamp("set_at")
        setBy = try row.text("set_by")
        reason = try row.optionalText("reason")
        held = Int(try row.int64("held"))
    }
}

extension Inspector {
    /// The limits by queue.
    package func limits(of queue: String? = nil) async throws -> [String: QueueLimit] {
        let limits = try await session.query(Statements.limits, [.optional(queue)])
            .map(QueueLimit.init)
        return Dictionary(limits.map { ($0.queue, $0) }) { $1 }
    }

    private struct Change: Encodable {
        var running: Int?
        var rate: String?
        var none: Bool?
    }

    /// Limits a queue; nil keeps the current limit.
    ///
    /// The limit applies once all workers of the queue have received it, and
    /// ``countClaimed(of:)`` has counted the jobs they had claimed before.
    ///
    /// - Parameter rate: the starts per second, and the text of the rate.
    /// - Returns: when it was set; nil if the queue does not exist.
    package func limit(
        _ queue: String, running: Int?, rate: (perSecond: Double, text: String)?,
        by operatorName: String, reason: String?
    ) async throws -> Instant? {
        let change = try AuditLine.json(Change(running: running, rate: rate?.text))
        return try await session.transaction { session in
            _ = try session.query(Statements.lockLimits)
            let rows = try session.query(
                Statements.setLimit,
                [
                    .text(queue), .optional(running.map(Int32.init)),
                    .optional(rate?.perSecond), .optional(rate?.text), .text(operatorName),
                    .optional(reason),
                ])
            guard let row = rows.first else { return nil }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "queue limit", subject: queue,
                    reason: reason, change: change
                ).statement)
            return try row.timestamp("set_at")
        }
    }

    /// Removes a queue's limit; false if it had none.
    package func removeLimit(
        of queue: String, by operatorName: String, reason: String?
    ) async throws -> Bool {
        let change = try AuditLine.json(Change(none: true))
        return try await session.transaction { session in
            _ = try session.query(Statements.lockLimits)
            guard try !session.query(Statements.removeLimit, [.text(queue)]).isEmpty else {
                return false
            }
            _ = try session.query(
                AuditLine(
                    operatorName: operatorName, action: "queue limit", subject: queue,
                    reason: reason, change: change
                ).statement)
            return true
        }
    }

    /// Live workers of the queue that do not apply the limit yet.
    package func unaware(of queue: String, setAt: Instant) async throws -> [Int64] {
        try await session.query(
            Statements.limitUnaware, [.text(queue), .timestamp(setAt)]
        ).map { try $0.int64("id") }
    }

    /// Counts the jobs that were claimed before the limit against it.
    package func countClaimed(of queue: String) async throws {
        _ = try await session.query(Statements.fillSlots, [.text(queue)])
    }
}
