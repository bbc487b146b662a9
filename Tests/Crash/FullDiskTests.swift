import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

/// A disk of a few megabytes in memory, on which a database can be full.
private struct SmallDisk {
    let folder: String
    let name: String
    private let admin: Session

    init(megabytes: Int, for place: CrashServers.Place) async throws {
        name = "small_\(ProcessInfo.processInfo.processIdentifier)"
        folder = "/var/tmp/errand-\(name)"
        admin = Session(SessionSettings(place.database, name: "crash-admin"))
        // The server's own user has to own it.
        let data = try await admin.query("SHOW data_directory").text(0, 0)
        let owner = try #require(
            try FileManager.default.attributesOfItem(atPath: data)[.ownerAccountID] as? Int)
        try await Self.mount(megabytes: megabytes, owner: owner, on: folder)
        do {
            try await admin.script("CREATE TABLESPACE \(name) LOCATION '\(folder)'")
        } catch {
            try? await Self.unmount(folder)
            throw error
        }
    }

    /// Whether one can be mounted here: in a container, not even root always may.
    static func canBeMounted() async -> Bool {
        let folder = "/var/tmp/errand-trial_\(ProcessInfo.processInfo.processIdentifier)"
        do {
            try await mount(megabytes: 1, owner: Int(geteuid()), on: folder)
            try await unmount(folder)
            return true
        } catch {
            return false
        }
    }

    func remove(database: String) async throws {
        // Whatever happened: there is room to end it.
        try await Self.run("/bin/mount", "-o", "remount,size=512m", folder)
        try await admin.script("DROP DATABASE \(database) WITH (FORCE)")
        try await admin.script("DROP TABLESPACE \(name)")
        await admin.close()
        try await Self.unmount(folder)
    }

    private static func mount(megabytes: Int, owner: Int, on folder: String) async throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        do {
            try await run(
                "/bin/mount", "-t", "tmpfs", "-o", "size=\(megabytes)m,mode=0700,uid=\(owner)",
                "errand-small", folder)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    private static func unmount(_ folder: String) async throws {
        try await run("/bin/umount", folder)
        try FileManager.default.removeItem(atPath: folder)
    }

    private static func run(_ path: String, _ arguments: String...) async throws {
        let program = try Program(path, arguments)
        guard try await program.end(within: .seconds(30)) == .exited(0) else {
            throw Program.Trouble("\(path) \(arguments): \(program.errors)")
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension CrashTests {
    /// A database without room.
    @Suite("Disk") struct FullDiskTests {
        @Test(
            .enabled("a small disk cannot be mounted here: it takes root and the right to mount") {
                await SmallDisk.canBeMounted()
            },
            .timeLimit(.minutes(3)))
        func `a full disk is said so, ends an enqueue, and loses nothing`() async throws {
            let servers = try CrashServers.here()
            let disk = try await SmallDisk(megabytes: 96, for: servers.start())
            let (name, place) = try await servers.newDatabase(
                options: "TABLESPACE \(disk.name)")
            let ground = CrashGround(name: name, place: place, on: servers)
            let result = await Result { try await fillUp(ground) }
            await ground.session.close()
            try await disk.remove(database: name)
            try result.get()
        }

        private func fillUp(_ ground: CrashGround) async throws {
            try await CrashGround.use(ground) {
                try await ground.done("migrate", "--modules", "all")
                let worker = try ground.worker()
                try await ground.done("enqueue", "demo.ledger", "--count", "1000")
                try await ground.progress(to: 1_000)
                try await fill(ground)
                try await refuses(ground, ["enqueue", "demo.ledger", "--count", "100000"])
                let lines = String(
                    repeating: #"{"kind": "demo.ledger"}"# + "\n", count: 50_000)
                try await refuses(ground, ["enqueue", "--bulk", "-"], input: lines)
                // What was taken in before there was no room left cannot all be done now.
                try await eventually("the worker to complain", within: .seconds(90)) {
                    worker.errors.contains("No space left on device")
                }
                let enqueued = try await ground.number(
                    "SELECT (SELECT count(*) FROM errand.jobs) "
                        + "+ (SELECT count(*) FROM errand.finished_jobs)")
                #expect(enqueued > 1_000)
                #expect(worker.isRunning)
                try await ground.session.script("DROP TABLE filler")
                try await ground.allDone()
                try await ground.expectExactlyOnce(enqueued)
                try await ground.expectCleanStop(worker)
            }
        }

        /// Writes until there is room for no more than what new connections need.
        private func fill(_ ground: CrashGround) async throws {
            let session = ground.session
            try await session.script(
                """
                CREATE TABLE room (text text);
                ALTER TABLE room ALTER text SET STORAGE PLAIN;
                INSERT INTO room SELECT repeat('x', 7000) FROM generate_series(1, 200)
                """)
            try await session.script("CREATE TABLE filler (text text)")
            try await session.script("ALTER TABLE filler ALTER text SET STORAGE PLAIN")
            for rows in [1_000, 100, 10, 1] as [Int32] {
                while try await hasRoom(for: rows, session) {}
            }
            try await session.script("DROP TABLE room")
        }

        private func hasRoom(for rows: Int32, _ session: Session) async throws -> Bool {
            do {
                _ = try await session.query(
                    "INSERT INTO filler SELECT repeat('x', 7000) FROM generate_series(1, $1)",
                    [.int32(rows)])
                return true
            } catch {
                guard error.sqlState == "53100" else { throw error }
                return false
            }
        }

        private func refuses(
            _ ground: CrashGround, _ arguments: [String], input: String? = nil
        ) async throws {
            let program = try ground.start(arguments, input: input)
            let end = try await program.end(within: .seconds(60))
            #expect(end == .exited(1) || end == .exited(7))
            #expect(program.errors.contains("disk is full"), "\(program.errors)")
        }
    }
}
