import Foundation
import ErrandPostgres
import ErrandRedis
import ErrandTestServices

/// A private PostgreSQL and Redis that tests of this folder crash, fill up and stop.
///
/// One instance serves a whole suite, whose tests run one after the other: what one breaks, the
/// next finds mended.
actor CrashServers {
    static let engine = CrashServers("crash")
    static let apps = CrashServers("crash-apps")
    static let failover = CrashServers("crash-failover")

    /// Those of the running test.
    static func here() throws -> CrashServers { try CrashGround.here().servers }

    struct Place: Sendable {
        var database: String
        var redis: String
    }

    private let instance: String
    private var place: Place?
    private var count = 0
    /// With the migrations applied; each test gets a copy.
    private var template: String?
    /// The one of the test before.
    private var used: String?

    private init(_ instance: String) { self.instance = instance }

    private static let script = Checkout.root.appending(path: "scripts/services").path

    /// Runs one of the commands of `scripts/services` on the instance.
    @discardableResult
    nonisolated func run(_ command: String, _ options: String...) async throws -> String {
        let program = try Program(
            "/bin/bash", [Self.script, command, "--name", instance] + options)
        let status = try await program.end(within: .seconds(120))
        guard status == .exited(0) else {
            throw Program.Trouble("scripts/services \(command): \(status)\n\(program.errors)")
        }
        return program.output
    }

    /// Ends PostgreSQL as a crash does, and starts it again.
    nonisolated func crashPostgres() async throws {
        try await run("crash-postgres")
        try await run("start-postgres")
    }

    /// Starts whatever of the servers does not run.
    func start() async throws -> Place {
        // What it has acknowledged survives the crashes here, which end processes.
        let exports = try await run("start", "--throwaway")
        func value(_ name: String) throws -> String {
            guard let line = exports.split(separator: "\n").first(where: { $0.contains(name) }),
                let value = line.split(separator: "'").dropFirst().first
            else { throw Program.Trouble("scripts/services start gave no \(name): \(exports)") }
            return String(value)
        }
        let found = Place(database: try value("DATABASE_URL"), redis: try value("REDIS_URL"))
        place = found
        return found
    }

    /// A new database there, with the migrations applied; its name.
    func migratedDatabase() async throws -> (name: String, place: Place) {
        let place = try await start()
        let admin = Session(SessionSettings(place.database, name: "crash-admin"))
        if let used { try await admin.script("DROP DATABASE \(used) WITH (FORCE)") }
        used = nil
        await admin.close()
        if template == nil {
            let (name, own) = try await newDatabase()
            let ground = CrashGround(name: name, place: own, on: self)
            try await ground.done("migrate", "--modules", "all")
            await ground.session.close()
            template = name
        }
        let made = try await newDatabase(
            options: template.map { "TEMPLATE \($0) STRATEGY file_copy" })
        let session = Session(SessionSettings(made.place.database, name: "crash-admin"))
        // The copy must not share its keys in Redis with the other copies.
        _ = try await session.query("UPDATE errand.instance SET id = gen_random_uuid()")
        await session.close()
        used = made.name
        return made
    }

    /// A new database there, empty or as options of `CREATE DATABASE` say; its name.
    func newDatabase(options: String? = nil) async throws -> (name: String, place: Place) {
        let place = if let place { place } else { try await start() }
        count += 1
        let name = "crash_\(ProcessInfo.processInfo.processIdentifier)_\(count)"
        let admin = Session(SessionSettings(place.database, name: "crash-admin"))
        try await admin.script("CREATE DATABASE \(name) \(options ?? "")")
        await admin.close()
        var own = place
        own.database = place.database.replacingOccurrences(of: "@/errand?", with: "@/\(name)?")
        return (name, own)
    }
}
