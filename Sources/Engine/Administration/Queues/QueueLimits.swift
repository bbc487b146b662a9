import Errand
package import ErrandPostgres

/// How much of a queue may run over all workers.
package struct QueueLimit: Sendable, Equatable {
    package var queue: String
    /// Jobs at once.
    package var running: Int?
    /// Starts a second.
    package var ratePerSecond: Double?
    /// The same, as it was asked for.
    package var rate: String?
    package var setAt: Instant
    package var setBy: String
    package var reason: String?
    /// Jobs that hold a slot now.
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
    /// The limits that are set, by queue.
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

    /// Limits a queue; nil leaves what was set before.
    ///
    /// In force once all workers of the queue have heard of it, and ``countClaimed(of:)`` has
    /// counted what they had claimed before.
    ///
    /// - Parameter rate: starts a second, and as it was asked for.
    /// - Returns: when it was set; nil when there is no such queue.
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

    /// Takes a queue's limit away; false when it had none.
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

    /// Workers of the queue that are alive and do not keep the limit yet.
    package func unaware(of queue: String, setAt: Instant) async throws -> [Int64] {
        try await session.query(
            Statements.limitUnheard, [.text(queue), .timestamp(setAt)]
        ).map { try $0.int64("id") }
    }

    /// Counts against the limit what was claimed without it.
    package func countClaimed(of queue: String) async throws {
        _ = try await session.query(Statements.fillSlots, [.text(queue)])
    }
}
