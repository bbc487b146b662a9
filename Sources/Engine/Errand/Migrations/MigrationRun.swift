import ErrandPostgres

/// Upgrades one line within the transaction of the migration.
struct MigrationRun {
    let line: MigrationLine
    let records: MigrationRecords
    let session: Session

    /// The transaction of the migration, as returned by `pg_current_xact_id()`.
    let transaction: String

    /// - Returns: the paths of the files that were applied.
    /// - Throws: ``MigrationError``.
    func run() async throws -> [String] {
        let status = records.status(of: line)
        for file in status.files {
            switch file.state {
            case .changed: throw MigrationError.changed(module: line.module, file: file.path)
            case .unknown: throw MigrationError.unknown(module: line.module, file: file.path)
            // An older program must not revert a function.
            case .applied, .pending, .superseded: break
            }
        }
        if !status.isInstalled {
            _ = try await session.query(
                "INSERT INTO errand.modules (name) VALUES ($1)", [.text(line.module)])
        }
        let pending = Set(status.pending)
        let superseded = Set(status.files.filter { $0.state == .superseded }.map(\.path))
        let steps = line.tables.filter { pending.contains($0.path) }
        let routines = line.routines.filter { file in
            pending.contains(file.path)
                || file.isRights && !pending.isEmpty && !superseded.contains(file.path)
        }
        for file in steps { try await apply(file) }
        guard !steps.isEmpty || !routines.isEmpty else { return [] }
        // Functions call each other across files, so their bodies are checked after all files.
        try await session.script("SET LOCAL check_function_bodies = off")
        for file in routines { try await apply(file) }
        try await session.script("SET LOCAL check_function_bodies = on")
        try await checkBodies()
        return (steps + routines).map(\.path)
    }

    private func apply(_ file: MigrationLine.File) async throws {
        do throws(PostgresError) {
            try await session.script(file.sql)
        } catch {
            throw MigrationError.failed(module: line.module, file: file.path, cause: error)
        }
        // Check before further writes, which would be committed at once.
        guard try await Self.transaction(of: session) == transaction else {
            throw MigrationError.endedTransaction(module: line.module, file: file.path)
        }
        do throws(PostgresError) {
            _ = try await session.query(
                "INSERT INTO errand.migrations (module, file, checksum) VALUES ($1, $2, $3)",
                [.text(line.module), .text(file.path), .text(file.checksum)])
        } catch {
            throw MigrationError.failed(module: line.module, file: file.path, cause: error)
        }
    }

    /// Returns the current transaction of a session.
    static func transaction(of session: Session) async throws -> String {
        try await session.query("SELECT pg_current_xact_id()::text", []).text(0, 0)
    }

    /// Checks the body of every function of the schema, as CREATE FUNCTION does by default.
    private func checkBodies() async throws {
        let functions = try await session.query(
            """
            SELECT p.oid::int8, n.nspname || '.' || p.proname, l.lanname::text
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            JOIN pg_language l ON l.oid = p.prolang
            WHERE n.nspname = $1 AND l.lanname IN ('sql', 'plpgsql')
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
                  AND d.objid = p.oid AND d.deptype = 'e')
            ORDER BY p.oid
            """, [.text(line.schema)])
        let checks = try functions.map { row in
            Statement(
                try row.text(2) == "sql"
                    ? "SELECT pg_catalog.fmgr_sql_validator($1::oid)"
                    : "SELECT pg_catalog.plpgsql_validator($1::oid)",
                [.int64(try row.int64(0))])
        }
        for (check, row) in zip(checks, functions) {
            do throws(PostgresError) {
                _ = try await session.query(check.sql, check.parameters)
            } catch {
                let name = try row.text(1)
                let file = line.routines.first { $0.sql.contains("FUNCTION \(name)(") }
                throw MigrationError.failed(
                    module: line.module, file: file?.path ?? "routines", cause: error)
            }
        }
    }
}
