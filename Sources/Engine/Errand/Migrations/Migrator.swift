public import ErrandPostgres

/// Creates and upgrades the schema of the engine and of modules in a database.
///
/// ```swift
/// try await Migrator(pool).migrate()                                   // the engine alone
/// try await Migrator(pool, modules: [shop]).migrate(adding: ["shop"])  // with a module
/// ```
///
/// A migration is one transaction under an advisory lock: any number of processes may start it at
/// once, and if it fails, the database is unchanged.
public struct Migrator: Sendable {
    private enum Connection: Sendable {
        case pool(Pool)
        case session(Session)
    }

    private let connection: Connection
    private let modules: [MigrationLine]
    private let engine: MigrationLine

    /// Creates a migrator for the database of a pool, for the engine and these modules.
    public init(_ pool: Pool, modules: [MigrationLine] = []) {
        connection = .pool(pool)
        self.modules = modules
        engine = .engine
    }

    /// Creates a migrator that uses one session.
    ///
    /// - Parameter engine: the line of the engine; tests pass an older version.
    package init(
        session: Session, modules: [MigrationLine] = [], engine: MigrationLine = .engine
    ) {
        connection = .session(session)
        self.modules = modules
        self.engine = engine
    }

    /// Upgrades the engine and the installed modules, and installs further modules.
    ///
    /// Running it again changes nothing. The pool's `timeLimit` must allow for the longest
    /// statement and for waiting for another migration.
    /// - Parameter names: modules to install with the modules that they need.
    /// - Returns: the applied files, in order.
    /// - Throws: ``MigrationError``; `PostgresError` if the database is unreachable or behind a
    ///   connection pooler.
    @discardableResult
    public func migrate(adding names: [String] = []) async throws -> [AppliedMigration] {
        let plan = try MigrationPlan(modules, engine: engine)
        // Check the names before connecting.
        _ = try plan.lines(installed: [], adding: names)
        return try await withSession { session in
            try await session.requireOwnProcess(for: "migrating")
            // The lock ends with the transaction; it waits for another migration to end.
            try await session.script("BEGIN ISOLATION LEVEL READ COMMITTED")
            do {
                try await lock(session)
                let applied = try await apply(plan, adding: names, in: session)
                try await session.script("COMMIT")
                return applied
            } catch {
                try? await session.script("ROLLBACK")
                throw error
            }
        }
    }

    /// Returns the status of the engine and of each module, in the order of their application.
    ///
    /// Modules of the database that this program does not have come last.
    ///
    /// - Throws: ``MigrationError``, `PostgresError`.
    public func status() async throws -> [ModuleStatus] {
        try await withSession { try await MigrationRecords.read($0).status(of: modules) }
    }

    /// Returns the modules that ``migrate(adding:)`` would upgrade or install.
    package func planned(adding names: [String]) async throws -> Set<String> {
        let plan = try MigrationPlan(modules, engine: engine)
        let installed = try await status().filter(\.isInstalled).map(\.module)
        return Set(try plan.lines(installed: Set(installed), adding: names).map(\.module))
    }

    /// Throws if the schema of the engine, or of a module of this migrator, is missing or older
    /// than this program.
    ///
    /// A newer schema is accepted, as during the rollout of a new version.
    /// - Returns: the newer parts of the schema, for the log.
    /// - Throws: ``MigrationError``.
    @discardableResult
    public func requireCurrent() async throws -> [ModuleStatus] {
        let all = try await status()
        for module in all where module.isKnown {
            guard module.isInstalled else {
                throw MigrationError.notInstalled(module: module.module)
            }
            guard module.pending.isEmpty else {
                throw MigrationError.behind(module: module.module, pending: module.pending)
            }
        }
        return all.filter { $0.deviating != nil }
    }

    private func withSession<Value: Sendable>(
        _ body: @Sendable (Session) async throws -> Value
    ) async throws -> Value {
        switch connection {
        case .pool(let pool): try await pool.withSession(body)
        case .session(let session): try await body(session)
        }
    }

    /// Waits for another migration to end.
    ///
    /// - Throws: ``MigrationError/locked(by:)`` if it did not: any login may hold the lock.
    private func lock(_ session: Session) async throws {
        do throws(PostgresError) {
            _ = try await session.query("SELECT pg_advisory_xact_lock($1)", [.int64(Self.lock)])
        } catch {
            guard let state = error.sqlState, ["55P03", "57014"].contains(state) else {
                throw error
            }
            try await session.script("ROLLBACK; BEGIN")
            guard let holder = try await session.query(Self.lockHolder).first.map(LockHolder.init)
            else { throw error }
            throw MigrationError.locked(by: "\(holder)")
        }
    }

    /// A session that holds the lock of migrations: one that migrates, or any login's.
    package struct LockHolder: Sendable, CustomStringConvertible {
        package var pid: Int
        package var role: String
        package var applicationName: String

        package init(_ row: Row) throws {
            pid = Int(try row.int32("pid"))
            role = try row.text("role")
            applicationName = try row.text("application_name")
        }

        package var description: String { "session \(pid) of \(role) (\(applicationName))" }
    }

    /// Reads who holds the lock of migrations, if anybody does; any role may.
    package static let lockHolder = Statement(
        """
        SELECT a.pid, a.usename::text AS role, a.application_name
        FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND l.classid::bigint = $1 >> 32 AND l.objid::bigint = $1 & 4294967295
        ORDER BY a.pid LIMIT 1
        """, [.int64(lock)])

    /// The advisory lock of migrations: "errandm" as a number.
    static let lock: Int64 = 0x65_72_72_61_6e_64_6d

    /// The tables of the migration records, created before the engine's files are applied.
    private static let records = """
        CREATE SCHEMA IF NOT EXISTS errand;
        CREATE TABLE IF NOT EXISTS errand.modules (
            name text COLLATE "C" PRIMARY KEY,
            installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        COMMENT ON TABLE errand.modules IS 'The engine and the modules that are installed here.';
        CREATE TABLE IF NOT EXISTS errand.migrations (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            module text COLLATE "C" NOT NULL REFERENCES errand.modules,
            file text COLLATE "C" NOT NULL,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        COMMENT ON TABLE errand.migrations IS
            'Every application of a file of SQL; a routine has a row for each of its texts.';
        """

    private func apply(
        _ plan: MigrationPlan, adding names: [String], in session: Session
    ) async throws -> [AppliedMigration] {
        var records = try await MigrationRecords.read(session)
        if records.installed.isEmpty { try await session.script(Self.records) }
        let transaction = try await MigrationRun.transaction(of: session)
        var done: [AppliedMigration] = []
        for line in try plan.lines(installed: Set(records.installed.keys), adding: names) {
            let applied = try await MigrationRun(
                line: line, records: records, session: session, transaction: transaction
            ).run()
            guard !applied.isEmpty else { continue }
            done += applied.map { AppliedMigration(module: line.module, file: $0) }
            records = try await MigrationRecords.read(session)
        }
        return done
    }
}

/// A file that a migration applied.
public struct AppliedMigration: Equatable, Sendable {
    /// `engine`, or the module's name.
    public let module: String
    /// `tables/NNN_name.sql` or `routines/name.sql`.
    public let file: String
}
