import Foundation
import Errand
import ErrandCommand
package import ErrandPostgres
package import ErrandRedis
import Synchronization
package import Testing

/// A database of its own for each test, with the migrations applied, on the private server.
package struct TestDatabase: Sendable {
    /// How to reach it.
    package let url: String
    /// The private Redis; each database has keys of its own there.
    package let redis: RedisAddress

    /// That of the running test.
    @TaskLocal package static var current: TestDatabase?

    /// That of the running test.
    ///
    /// - Throws: outside a suite with the `.database` trait.
    package static func here() throws -> TestDatabase {
        guard let current else { throw Missing(what: "the .database trait on this suite") }
        return current
    }

    package struct Missing: Error, CustomStringConvertible {
        package var what: String
        package var description: String { "this test needs \(what)" }
    }

    /// A session as an ordinary program has it.
    package func session(_ name: String = "errand-test") -> Session {
        Session(SessionSettings(url, name: name, setup: ["SET TimeZone = 'UTC'"]))
    }

    /// Runs commands that take long where much runs at once.
    package func fill(_ script: String) async throws {
        var settings = SessionSettings(url, name: "errand-fill", setup: ["SET TimeZone = 'UTC'"])
        settings.timeLimit = .seconds(600)
        let session = Session(settings)
        try await session.script(script)
        await session.close()
    }

    /// A session of a new role that logs in, with the rights of another.
    package func login(as group: String) async throws -> (session: Session, name: String) {
        let name = "login_\(UUID().uuidString.prefix(8).lowercased())"
        try await session().script("CREATE ROLE \(name) LOGIN IN ROLE \(group)")
        let url = url.replacing("//errand@", with: "//\(name)@")
        return (
            Session(SessionSettings(url, name: "role", setup: ["SET TimeZone = 'UTC'"])), name
        )
    }

    /// A pool as an ordinary program has it.
    package func pool(_ limit: Int = 8) -> Pool {
        Pool(
            SessionSettings(url, name: "errand-test", setup: ["SET TimeZone = 'UTC'"]), limit: limit
        )
    }

    /// Where the servers are that `scripts/services start` (or `scripts/test`) has started.
    ///
    /// - Throws: `Missing`, naming the variable that is not set.
    package static func environment(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
            throw Missing(what: "\(name) in the environment: run scripts/test")
        }
        return value
    }

    /// The URL of a new database without a schema of Errand, or with these modules.
    package static func url(with modules: [String]?) async throws -> String {
        let name = "other_\(UUID().uuidString.prefix(8).lowercased())"
        let admin = Session(SessionSettings(try url(of: "postgres"), name: "other"))
        try await admin.script("CREATE DATABASE \(name)")
        await admin.close()
        guard let modules else { return try url(of: name) }
        let session = Session(SessionSettings(try url(of: name), name: "other"))
        try await Migrator(session: session, modules: AllModules.lines).migrate(adding: modules)
        if modules.contains("notification") { try await AllModules.declareNotices(session) }
        await session.close()
        return try url(of: name)
    }

    /// The URL of a new database with the first table steps of the engine alone, as an older
    /// program left it.
    package static func url(ofOlder steps: Int) async throws -> String {
        let url = try await url(with: nil)
        let session = Session(SessionSettings(url, name: "older"))
        try await Migrator(session: session, engine: MigrationLine.engine.older(steps: steps))
            .migrate()
        await session.close()
        return url
    }

    /// The URL of another database on the same server.
    package static func url(of database: String) throws -> String {
        let url = try environment("DATABASE_URL")
        return url.replacingOccurrences(of: "@/errand?", with: "@/\(database)?")
    }
}

/// Makes the template once, then copies it for each test.
private actor Template {
    static let shared = Template()
    /// So many are dropped together.
    private static let together = 20
    private var made: Task<String, any Error>?
    private var count = 0
    private var used: [String] = []

    func copy() async throws -> String {
        let task =
            made
            ?? Task {
                let name = "template_\(ProcessInfo.processInfo.processIdentifier)"
                let admin = Session(
                    SessionSettings(try TestDatabase.url(of: "postgres"), name: "template"))
                try await admin.script("DROP DATABASE IF EXISTS \(name)")
                try await admin.script("CREATE DATABASE \(name)")
                let session = Session(
                    SessionSettings(try TestDatabase.url(of: name), name: "template"))
                try await Migrator(session: session, modules: AllModules.lines)
                    .migrate(adding: AllModules.names)
                try await AllModules.declareNotices(session)
                // Two fifths of each copy; nobody here measures by another ellipsoid.
                try await session.script("DELETE FROM public.spatial_ref_sys WHERE srid <> 4326")
                // Not all tables: those that are empty would count as such in plans.
                try await session.script(
                    """
                    VACUUM FULL public.spatial_ref_sys, pg_proc, pg_attribute, pg_depend,
                        pg_class, pg_type, pg_constraint, pg_index, pg_attrdef, pg_rewrite,
                        pg_description
                    """)
                await session.close()
                return name
            }
        made = task
        let template = try await task.value
        count += 1
        let name = "test_\(ProcessInfo.processInfo.processIdentifier)_\(count)"
        let admin = Session(SessionSettings(try TestDatabase.url(of: "postgres"), name: "copy"))
        // Copying files takes a third of the time of logging each page, despite its checkpoints.
        try await admin.script(
            "CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY file_copy")
        let session = Session(SessionSettings(try TestDatabase.url(of: name), name: "copy"))
        // The copy must not share its keys in Redis with the other copies.
        _ = try await session.query("UPDATE errand.instance SET id = gen_random_uuid()")
        await session.close()
        return name
    }

    /// Drops a copy, some time: each drop is a checkpoint, which in a row of them costs little.
    func drop(_ name: String) async {
        used.append(name)
        guard used.count >= Self.together else { return }
        let names = used
        used = []
        do {
            let admin = Session(SessionSettings(try TestDatabase.url(of: "postgres"), name: "drop"))
            for name in names { try await admin.script("DROP DATABASE \(name) WITH (FORCE)") }
            await admin.close()
        } catch {
            // They go with the private server, and no test depends on them.
            print("test: databases that were used are not dropped: \(error)")
        }
    }
}

/// How many tests with databases run at once: the server's connections are not without end.
private actor Permits {
    static let shared = Permits()
    private var free = 8
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if free > 0 {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func giveBack() {
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        free += 1
    }
}

/// Gives each test of a suite a database of its own.
package struct DatabaseTrait: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Permits.shared.take()
        defer { Task { await Permits.shared.giveBack() } }
        let name = try await Template.shared.copy()
        let database = TestDatabase(
            url: try TestDatabase.url(of: name),
            redis: try RedisAddress(url: TestDatabase.environment("REDIS_URL")))
        defer { Task { await Template.shared.drop(name) } }
        try await TestDatabase.$current.withValue(database) { try await function() }
    }
}

extension Trait where Self == DatabaseTrait {
    /// A database of its own for each test.
    package static var database: Self { Self() }
}
