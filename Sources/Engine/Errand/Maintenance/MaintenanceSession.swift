package import ErrandPostgres

/// Runs the statements of maintenance, each in its own transaction.
///
/// In a worker it borrows a session of the worker's pool for each statement, so that maintenance
/// needs no connection of its own.
package struct MaintenanceSession: Sendable {
    private let run: @Sendable ([Statement]) async throws -> [Rows]

    /// Creates one that uses a session with its settings.
    package init(_ session: Session) {
        run = { try await session.pipeline($0) }
    }

    /// Creates one that borrows sessions and adapts their settings.
    init(_ pool: Pool) {
        run = { statements in
            let all = [Statement(Statements.maintenanceSettings)] + statements
            return Array(try await pool.withSession { try await $0.pipeline(all) }.dropFirst())
        }
    }

    func query(_ sql: String, _ parameters: [Parameter] = []) async throws -> Rows {
        try await run([Statement(sql, parameters)])[0]
    }

    func pipeline(_ statements: [Statement]) async throws -> [Rows] { try await run(statements) }
}
