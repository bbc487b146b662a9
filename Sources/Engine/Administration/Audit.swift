import Errand
import FoundationEssentials
package import ErrandPostgres

/// One change that an operator made.
package struct AuditEntry: Sendable {
    package var id: Int64
    package var at: Instant
    package var operatorName: String
    package var action: String
    package var subject: String
    package var reason: String?
    /// JSON, without the arguments that a kind declares as sensitive.
    package var change: [UInt8]?

    init(_ row: Row, sensitive: Set<String>) throws {
        id = try row.int64("id")
        at = try row.timestamp("at")
        operatorName = try row.text("operator")
        action = try row.text("action")
        subject = try row.text("subject")
        reason = try row.optionalText("reason")
        change = try row.optionalJSON("change").map { json in
            Redaction(args: json, sensitive: sensitive).args
        }
    }
}

extension Inspector {
    /// The audit log, the newest entries first; nil means no filter.
    ///
    /// - Parameter action: the command, or only its noun.
    package func audit(
        operatorName: String?, action: String?, since: Duration?, before: Int64?, limit: Int
    ) async throws -> [AuditEntry] {
        let seconds = since.map { $0 / .seconds(1) }
        let sensitive = try await sensitiveNames()
        return try await session.query(
            Statements.audit,
            [
                .optional(operatorName), .optional(action), .optional(seconds),
                .optional(before), .int64(Int64(limit)),
            ]
        ).map { try AuditEntry($0, sensitive: sensitive) }
    }
}
