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

    private init(_ instance: String) { self.instance = instance }

    private static let script = Checkout.root.appending(path: "scripts/services").path

    /// Runs one of the commands of `scripts/services` on the instance.
    @discardableResult nonisolated func run(_ command: String) async throws -> String {
        let program = try Program("/bin/bash", [Self.script, command, "--name", instance])
        let status = try await program.end(within: .seconds(120))
        guard status == .exited(0) else {
            throw Program.Trouble("scripts/services \(command): \(status)\n\(program.errors)")
        }
        return program.output
    }

    /// Starts whatever of the servers does not run.
    func start() async throws -> Place {
        let exports = try await run("start")
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

    /// A new database there; its name.
    func newDatabase(in tablespace: String? = nil) async throws -> (name: String, place: Place) {
        let place = try await start()
        count += 1
        let name = "crash_\(ProcessInfo.processInfo.processIdentifier)_\(count)"
        let admin = Session(SessionSettings(place.database, name: "crash-admin"))
        try await admin.script(
            "CREATE DATABASE \(name)" + (tablespace.map { " TABLESPACE \($0)" } ?? ""))
        await admin.close()
        var own = place
        own.database = place.database.replacingOccurrences(of: "@/errand?", with: "@/\(name)?")
        return (name, own)
    }
}
