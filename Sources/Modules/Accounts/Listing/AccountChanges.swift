import Errand
package import ErrandPostgres

/// The operators' changes; each is recorded in the audit log, without the address.
package struct AccountChanges: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    private func run<Value: Sendable>(
        _ action: String, _ subject: String, reason: String?, _ statement: Statement,
        read: @escaping @Sendable (Rows) throws -> Value
    ) async throws -> Value {
        let line = AuditLine(
            operatorName: actor, action: "account \(action)", subject: subject, reason: reason,
            change: nil)
        return try await session.transaction { session in
            let value = try read(try session.pipeline([statement])[0])
            _ = try session.pipeline([line.statement])
            return value
        }
    }

    private static let person = "SELECT accounts.person_of(lower($1), now())"
    private static let unlock = "SELECT accounts.unlock($1)"

    /// Deletes the codes and reset links of an address, so that it can request new ones at once;
    /// returns their number.
    package func unlock(_ address: String, reason: String?) async throws -> Int {
        let person = try await session.query(Self.person, [.text(address)]).first?
            .optionalInt64(0)
        return try await run(
            "unlock", person.map { "person \($0)" } ?? "an address without an account",
            reason: reason, Statement(Self.unlock, [.text(address)])
        ) { Int(try $0.int64(0, 0)) }
    }

    private static let put = """
        INSERT INTO accounts.link_templates AS t (app, kind, template) VALUES ($1, $2, $3)
        ON CONFLICT ON CONSTRAINT link_templates_pkey DO UPDATE
        SET template = excluded.template, changed_at = clock_timestamp()
        WHERE t.template <> excluded.template
        """
    private static let isKnown = "SELECT EXISTS (SELECT FROM notification.apps WHERE name = $1)"

    /// Returns whether a module has added the app.
    package func isKnown(app: String) async throws -> Bool {
        try await session.query(Self.isKnown, [.text(app)]).bool(0, 0)
    }

    /// Sets where the links of an app lead; returns false if the database refuses the template.
    package func set(
        _ template: String, app: String, kind: LinkKind, reason: String?
    ) async throws -> Bool {
        do {
            try await run(
                "set-template", "\(app) \(kind.rawValue)", reason: reason,
                Statement(Self.put, [.text(app), .text(kind.rawValue), .text(template)])
            ) { _ in }
            return true
        } catch let error as PostgresError where error.sqlState == "23514" {
            return false
        }
    }

    private static let remove = """
        DELETE FROM accounts.link_templates t WHERE t.app = $1 AND t.kind = $2 RETURNING 1
        """

    /// Removes a template; returns whether there was one.
    package func remove(app: String, kind: LinkKind, reason: String?) async throws -> Bool {
        try await run(
            "rm-template", "\(app) \(kind.rawValue)", reason: reason,
            Statement(Self.remove, [.text(app), .text(kind.rawValue)])
        ) { !$0.isEmpty }
    }
}
