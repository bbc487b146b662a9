package import FoundationEssentials
import Errand
import ErrandPostgres

/// The result of withdrawing a notice.
package enum NoticeWithdrawal: String, Sendable {
    case withdrawn
    /// One channel had already reached the person; the other deliveries were withdrawn.
    case partly
    case ended, unknown
}

extension NoticeRows {
    private static let open: Set = ["intended", "held", "pending"]

    private static let withdrawDeliveries = """
        UPDATE notification.deliveries
        SET status = 'withdrawn', reply = $2, answered_at = $3
        WHERE notice_id = ANY ($1) AND status = 'pending'
        """

    /// Deletes unread items.
    ///
    /// A read item stays, and its notice counts as sent.
    private static let emptyInbox = """
        WITH parked AS (
            DELETE FROM notification.parked_items WHERE notice_id = ANY ($1)
        )
        DELETE FROM notification.inbox_items WHERE notice_id = ANY ($1) AND read_at IS NULL
        """

    private static let withdrawUndecided = """
        UPDATE notification.notices
        SET status = 'withdrawn', reason = $2, answered_at = $3
        WHERE id = ANY ($1) AND status IN ('intended', 'held')
        """

    private static let statuses = """
        SELECT id, status::text AS status FROM notification.notices WHERE id = ANY ($1)
        ORDER BY id FOR NO KEY UPDATE
        """

    /// Withdraws notices that have not ended, and records each in the audit log.
    ///
    /// Their jobs do nothing. A message that is being sent may still arrive; its answer then
    /// records that.
    package func withdraw(
        _ ids: [Int64], by operatorName: String, reason: String?, now: Date
    ) async throws -> [Int64: NoticeWithdrawal] {
        let now = Instant(date: now)
        let ids = Set(ids).sorted()
        let words = "withdrawn by an operator" + (reason.map { ": \($0)" } ?? "")
        return try await session.transaction { session in
            let before = try Self.read(ids, in: session)
            let open = ids.filter { Self.open.contains(before[$0] ?? "") }
            let which = Parameter.int64Array(open)
            let lines = open.map { id in
                AuditLine(
                    operatorName: operatorName, action: "notification cancel",
                    subject: "notice \(id)", reason: reason,
                    change: try? AuditLine.json(["before": before[id] ?? ""])
                ).statement
            }
            _ = try session.pipeline(
                [
                    Statement(DeliveryStatements.lockPeople, [which, .int64Array([])]),
                    Statement(Self.emptyInbox, [which]),
                    Statement(Self.withdrawDeliveries, [which, .text(words), .timestamp(now)]),
                    Statement(Self.withdrawUndecided, [which, .text(words), .timestamp(now)]),
                    Statement(DeliveryStatements.settle, [which, .timestamp(now)]),
                    Statement(DeliveryStatements.endCooldowns, [which]),
                ] + lines)
            let after = try Self.read(open, in: session)
            var results: [Int64: NoticeWithdrawal] = [:]
            for id in ids {
                results[id] =
                    before[id] == nil
                    ? .unknown
                    : !open.contains(id) ? .ended : after[id] == "sent" ? .partly : .withdrawn
            }
            return results
        }
    }

    private static func read(
        _ ids: [Int64], in session: isolated Session
    ) throws -> [Int64: String] {
        var found: [Int64: String] = [:]
        for row in try session.query(statuses, [.int64Array(ids)]) {
            found[try row.int64("id")] = try row.text("status")
        }
        return found
    }
}
