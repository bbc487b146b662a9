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
    /// JSON, without the arguments that a kind calls sensitive.
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

/// A line of the audit, to be written in the transaction of the change.
package struct AuditLine: Sendable {
    package var operatorName: String
    /// As the command is called.
    package var action: String
    package var subject: String
    package var reason: String?
    /// What changed, as JSON.
    package var change: [UInt8]?

    /// A line that says nothing of what changed.
    package init(
        operatorName: String, action: String, subject: String, reason: String?,
        change: [UInt8]? = nil
    ) {
        self.operatorName = operatorName
        self.action = action
        self.subject = subject
        self.reason = reason
        self.change = change
    }

    package var statement: Statement {
        Statement(
            Statements.note,
            [
                .text(operatorName), .text(action), .text(subject), .optional(reason),
                .optionalJSON(change),
            ])
    }

    /// What changed, as JSON.
    package static func json(_ change: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(change))
    }
}

extension Inspector {
    /// What operators changed, the newest first; nil filters nothing.
    ///
    /// - Parameter action: as the command is called, or its noun alone.
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
