import FoundationEssentials
package import ErrandPostgres

/// A line of the audit log, written in the transaction of the change.
package struct AuditLine: Sendable {
    package var operatorName: String
    /// The name of the command.
    package var action: String
    package var subject: String
    package var reason: String?
    /// The change, as JSON.
    package var change: [UInt8]?

    /// Creates a line without a change.
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

    /// Encodes a change as JSON.
    package static func json(_ change: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(change))
    }
}

extension Statements {
    static let note = """
        INSERT INTO errand.audit (operator, action, subject, reason, change)
        VALUES ($1, $2, $3, $4, $5)
        """
}
