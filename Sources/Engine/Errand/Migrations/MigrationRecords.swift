package import ErrandPostgres

/// The records of a database about its migrations.
package struct MigrationRecords: Sendable {
    struct Applied: Sendable {
        var module: String
        var file: String
        var checksum: String
        var at: Instant
    }

    /// The installation time of each module; empty without a schema of Errand.
    var installed: [String: Instant] = [:]
    /// Every application of a file, the earliest first.
    var applied: [Applied] = []

    init() {}

    /// The query of both tables in one result.
    package static let statement = Statement(
        """
        SELECT m.name, m.installed_at, f.file, f.checksum, f.applied_at
        FROM errand.modules m LEFT JOIN errand.migrations f ON f.module = m.name ORDER BY f.id
        """)

    /// Decodes the result of ``statement``.
    package init(_ rows: Rows) throws {
        for row in rows {
            let module = try row.text("name")
            installed[module] = try row.timestamp("installed_at")
            guard let file = try row.optionalText("file") else { continue }
            applied.append(
                Applied(
                    module: module, file: file, checksum: try row.text("checksum"),
                    at: try row.timestamp("applied_at")))
        }
    }

    /// Returns only the names of the installed modules.
    package static func installedModules(_ session: Session) async throws -> Set<String> {
        Set(try await session.query("SELECT name FROM errand.modules").map { try $0.text("name") })
    }

    /// - Throws: ``MigrationError/earlierLayout``.
    static func read(_ session: Session) async throws -> MigrationRecords {
        // Not to_regclass(): it may answer from a cache that is older than the lock.
        let found = try await session.query(
            """
            SELECT coalesce(bool_or(n.nspname = 'errand' AND c.relname = 'migrations'), false),
                coalesce(bool_or(n.nspname = 'public' AND c.relname = 'errand_migrations'), false)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relname IN ('migrations', 'errand_migrations')
            """, [])
        guard try found.bool(0, 0) else {
            if try found.bool(0, 1) { throw MigrationError.earlierLayout }
            return MigrationRecords()
        }
        return try MigrationRecords(await session.query(statement))
    }

    /// Returns the status of the engine and of each module, in the order of their application.
    ///
    /// Unknown modules of the database come last.
    ///
    /// - Throws: ``MigrationError`` if the dependencies of the modules are invalid.
    package func status(of modules: [MigrationLine]) throws(MigrationError) -> [ModuleStatus] {
        let known = try MigrationPlan(modules).lines.filter { !$0.isEmpty }.map(status)
        let others = installed.keys.filter { name in !known.contains { $0.module == name } }
        return known
            + others.sorted().map { name in
                ModuleStatus(
                    module: name, needs: [], isKnown: false, installedAt: installed[name],
                    files: [])
            }
    }

    /// Returns the status of a line.
    func status(of line: MigrationLine) -> ModuleStatus {
        let ours = applied.filter { $0.module == line.module }
        var files = line.files.map { file in
            let times = ours.filter { $0.file == file.path }
            let state: ModuleStatus.File.State =
                switch times.last {
                case nil: .pending
                case .some(let last) where last.checksum == file.checksum: .applied
                // A step must not change. For a routine, the database may have had this text before
                // it got a newer one.
                case .some where file.isTableStep: .changed
                case .some: times.contains { $0.checksum == file.checksum } ? .superseded : .pending
                }
            return ModuleStatus.File(path: file.path, state: state, appliedAt: times.last?.at)
        }
        for path in Set(ours.map(\.file)).subtracting(line.files.map(\.path)).sorted()
        where path.hasPrefix("tables/") {
            files.append(
                .init(path: path, state: .unknown, appliedAt: ours.last { $0.file == path }?.at))
        }
        return ModuleStatus(
            module: line.module, needs: line.needs, isKnown: true,
            installedAt: installed[line.module], files: files)
    }
}
