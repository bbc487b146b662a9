package import ErrandPostgres

/// What a database says of its migrations.
package struct MigrationRecords: Sendable {
    struct Applied: Sendable {
        var module: String
        var file: String
        var checksum: String
        var at: Instant
    }

    /// When each module was installed; empty without a schema of Errand.
    var installed: [String: Instant] = [:]
    /// Every application, the earliest first.
    var applied: [Applied] = []

    init() {}

    /// Reads both tables in one row set.
    package static let statement = Statement(
        """
        SELECT m.name, m.installed_at, f.file, f.checksum, f.applied_at
        FROM errand.modules m LEFT JOIN errand.migrations f ON f.module = m.name ORDER BY f.id
        """)

    /// What ``statement`` has returned.
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

    /// The names of the modules that are installed, for what needs no more.
    package static func installedModules(_ session: Session) async throws -> Set<String> {
        Set(try await session.query("SELECT name FROM errand.modules").map { try $0.text("name") })
    }

    /// - Throws: ``MigrationError/earlierLayout``.
    static func read(_ session: Session) async throws -> MigrationRecords {
        // Not to_regclass(): behind a lock it may answer from what this session knew before it.
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

    /// Where the engine and each module stand, in the order in which they are applied; modules of
    /// the database that are not among these come last.
    ///
    /// - Throws: ``MigrationError`` when modules do not fit together.
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

    /// Where a line stands.
    func status(of line: MigrationLine) -> ModuleStatus {
        let ours = applied.filter { $0.module == line.module }
        var files = line.files.map { file in
            let times = ours.filter { $0.file == file.path }
            let state: ModuleStatus.File.State =
                switch times.last {
                case nil: .pending
                case .some(let last) where last.checksum == file.checksum: .applied
                // A step is what it was; of a routine, the database may have had this text before
                // another one took its place.
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
