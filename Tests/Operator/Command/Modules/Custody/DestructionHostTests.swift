import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand destruction and its host") struct DestructionHostTests {
        private static let starting = ["destruction", "start", "--yes"]

        /// Seals a secret with the first key of the file.
        private func seal(_ keys: KeyRing) async throws {
            try await errand(
                "webhook", "add", "--owner", "app:a", "--url", "https://h.example/",
                environment: keys.environment
            ).expect(0)
        }

        private func state() async throws -> JSON {
            try await errand("destruction", "status", "-ojson").record["state"]
        }

        private func certificate() async throws -> String {
            try await errand("destruction", "certificate", "-ojson").record["certificate"].text
                ?? ""
        }

        /// Starts the approved destruction, up to a step.
        private func begin(upTo step: String) async throws {
            try await change(
                """
                SELECT custody.begin_destruction(1, 'ann'); SELECT custody.stop_intake(1);
                SELECT custody.count_before(1);
                UPDATE custody.steps s SET started_at = now(), ended_at = now() FROM custody.steps o
                WHERE o.name = '\(step)' AND s.position < o.position
                """)
        }

        // "A destruction that was cancelled goes on and destroys everything"
        @Test func `cancelled while it waits for workers, a start ends and destroys nothing`()
            async throws
        {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let keys = try KeyRing([KeyRing.line("mine", 1)])
            defer { keys.remove() }
            try await CustodyGround.approve(["--folder", ground.folder.path])
            // A worker that never obeys.
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds)
                VALUES ('elsewhere', 1, '0', 86400, '{}', '{}')
                """)
            let run = try start(Self.starting, environment: keys.environment)
            try await eventually("it waits for the worker") {
                try await number("SELECT count(*) FROM errand.workers WHERE command = 'stop'") == 1
            }
            try await errand("destruction", "cancel", "--yes").expect(0)
            try await finish(run).expect(4, "destruction 1 is cancelled")
            #expect(FileManager.default.fileExists(atPath: keys.file))
            #expect(try await number("SELECT count(*) FROM people.people") == 300)
            #expect(
                try await number("SELECT count(*) FROM errand.queues WHERE paused_at IS NOT NULL")
                    == 0)
            let (app, _) = try await TestDatabase.here().login(as: "errand_app")
            _ = try await app.query("SELECT errand.enqueue('receipt.send', '{}')")
            await app.close()
        }

        // "Destruction certified though no key … was destroyed"
        @Test func `it starts only where the keys of sealed values are`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let keys = try KeyRing([KeyRing.line("mine", 1)])
            defer { keys.remove() }
            let others = try KeyRing([KeyRing.line("other", 2)])
            defer { others.remove() }
            try await seal(keys)
            try await CustodyGround.approve([])
            for (environment, words) in [
                ([:], "ERRAND_KEYS_FILE is not set"), (others.environment, "does not have: mine"),
                (["ERRAND_KEYS_FILE": ground.path("none")], "none cannot be read"),
            ] as [([String: String], String)] {
                try await errand(Self.starting, environment: environment)
                    .expect(5, "keys_elsewhere: sealed values need keys", "mine", words)
            }
            try await errand("destruction", "status").expect(0, "open: keys_elsewhere")
            #expect(try await state() == "approved")
            // What prevents it is found out before it can no longer be cancelled.
            try await begin(upTo: "keys")
            try await errand(Self.starting, environment: others.environment)
                .expect(5, "does not have: mine", "where the key file is")
            #expect(FileManager.default.fileExists(atPath: others.file))
            try await errand(Self.starting, environment: keys.environment).expect(0)
            #expect(!FileManager.default.fileExists(atPath: keys.file))
            #expect(try await certificate().contains("\"mine\""))
        }

        @Test func `a plan can accept that keys are destroyed elsewhere`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let keys = try KeyRing([KeyRing.line("mine", 1)])
            defer { keys.remove() }
            try await seal(keys)
            try await CustodyGround.approve(["--accept", "keys_elsewhere"])
            try await errand(Self.starting).expect(0)
            #expect(FileManager.default.fileExists(atPath: keys.file))
            #expect(try await certificate().contains("the key mine, which has sealed values"))
        }

        // "Step `keys` that could not destroy anything can be neither completed nor cancelled"
        @Test func `a key file that cannot be destroyed leaves the way back`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            try await CustodyGround.approve([])
            // As a file that may not be written to.
            let folder = ["ERRAND_KEYS_FILE": ground.folder.path]
            let missing = ["ERRAND_KEYS_FILE": ground.path("none")]
            func fails() async throws {
                try await errand(Self.starting, environment: folder)
                    .expect(1, "the key file \(ground.folder.path) cannot be overwritten")
                try await errand(Self.starting, environment: missing)
                    .expect(5, "there is no key file \(ground.path("none")) on this host")
            }
            try await fails()
            #expect(try await state() == "approved")
            try await begin(upTo: "keys")
            try await fails()
            try await errand("destruction", "cancel", "--yes").expect(0)
            #expect(try await state() == "cancelled")
        }

        // "Destruction certified though … no folder was destroyed"
        @Test func `folders of other hosts are not taken for empty`() async throws {
            let ground = try await CustodyGround()
            defer { ground.remove() }
            let keys = try KeyRing([KeyRing.line("mine", 1)])
            defer { keys.remove() }
            let (here, there) = (ground.path("here"), ground.path("there"))
            for folder in [here, there] {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true)
                try Data("x".utf8).write(to: URL(filePath: "\(folder)/file.aft"))
            }
            try await CustodyGround.approve(["--folder", there, "--folder", here])
            try FileManager.default.moveItem(atPath: there, toPath: ground.path("away"))
            try await errand(Self.starting, environment: keys.environment)
                .expect(5, "not folders of this host: \(there)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: here) == [])
            #expect(try await state() == "started")
            // A run that was killed behind the removal of the key file, but before it recorded
            // the step's end.
            try await change("UPDATE custody.steps SET ended_at = NULL WHERE name = 'keys'")
            try await errand(Self.starting).expect(5, "does not have: mine", keys.file)
            try FileManager.default.moveItem(atPath: ground.path("away"), toPath: there)
            try FileManager.default.removeItem(atPath: here)
            try await errand(Self.starting, environment: keys.environment).expect(0)
            let text = try await certificate()
            for folder in [here, there] { #expect(text.contains("\"\(folder)\": 1")) }
            #expect(text.contains("\"mine\""))
        }
    }
}
