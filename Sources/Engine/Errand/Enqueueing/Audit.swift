import FoundationEssentials
package import ErrandPostgres

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

extension Statements {
    static let note = """
        INSERT INTO errand.audit (operator, action, subject, reason, change)
        VALUES ($1, $2, $3, $4, $5)
        """
}
