import Foundation
import ErrandTestServices
import Testing

/// A file of keys for the running test.
struct KeyRing {
    let file: String

    init(_ lines: [String], mode: Int = 0o600) throws {
        file =
            FileManager.default.temporaryDirectory.appending(
                path: "errand-keys-\(UUID().uuidString)"
            ).path
        try write(lines, mode: mode)
    }

    func write(_ lines: [String], mode: Int = 0o600) throws {
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }

    var environment: [String: String] { ["ERRAND_KEYS_FILE": file] }
    func remove() { try? FileManager.default.removeItem(atPath: file) }

    /// A line with a fixed key.
    static func line(_ name: String, _ byte: UInt8) -> String {
        "\(name) \(Data(repeating: byte, count: 32).base64EncodedString())"
    }
}

extension AppCommands {
    @Suite("errand key") struct KeyTests {
        private static let bare = ["DATABASE_URL": "", "REDIS_URL": ""]

        @Test func `key new prints one line for the file, and no other knows it`() async throws {
            let named = try await errand("key", "new", "--name", "mine", environment: Self.bare)
            named.expect(0, "named by ERRAND_KEYS_FILE")
            #expect(named.output.contains(#/^mine [A-Za-z0-9+/]{43}=\n$/#))
            #expect(!named.errors.contains(named.output.dropFirst(5).prefix(10)))
            let free = try await errand("key", "new", environment: Self.bare)
            #expect(free.output.contains(/^20[0-9-]+-[0-9a-f]+ \S{44}\n$/))
            let keys = try KeyRing([named.output, free.output])
            defer { keys.remove() }
            let list = try await errand("key", "ls", "-ojson", environment: keys.environment)
            list.expect(0)
            #expect(try list.records.map { $0["state"] } == ["seals", "opens"])
            #expect(try list.records[0]["name"] == "mine")
            try await errand("key", "new", "--name", "mine", environment: keys.environment)
                .expect(4, "already has a key mine")
            try await errand("key", "new", "--name", "a b", environment: Self.bare)
                .expect(2, "--name: not a sealing key: its name must be 1 to 64 letters")
        }

        @Test func `keys are those of the modules that are installed`() async throws {
            let url = try await TestDatabase.url(with: ["notification"])
            let keys = try KeyRing([KeyRing.line("one", 1)])
            defer { keys.remove() }
            let environment = keys.environment.merging(["DATABASE_URL": url]) { $1 }
            let list = try await errand("key", "ls", "-ojson", environment: environment)
            list.expect(0)
            #expect(try list.records.map { $0["name"] } == ["one"])
            let rotated = try await errand("key", "rotate", "-ojson", environment: environment)
            rotated.expect(0)
            let columns = try rotated.records.compactMap { $0["column"].text }
            #expect(!columns.isEmpty)
            #expect(columns.allSatisfy { $0.hasPrefix("notification.endpoints") })
        }

        @Test func `without keys there is nothing to seal by`() async throws {
            try await errand("key", "ls").expect(0, "'errand key new' creates a key")
            try await errand("key", "rotate")
                .expect(2, "ERRAND_KEYS_FILE is not set", "'errand key new'")
            let doctor = try await errand("doctor", "-ojson")
            let keys = try doctor.records.first { $0["check"] == "keys" }
            #expect(keys?["severity"] == "ok")
            #expect(keys?["message"] == "no keys are set up here, and nothing is sealed")
        }

        @Test func `a bad file is refused by its line, which is not shown`() async throws {
            let good = KeyRing.line("good", 1)
            let key = KeyRing.line("", 2).dropFirst()
            let rows: [(lines: [String], mode: Int, said: String)] = [
                ([good, "\(key) other"], 0o600, "line 2: after the name"),
                ([good, "", String(key)], 0o600, "line 3: expected NAME"),
                ([good], 0o644, "is accessible to all users of this machine: chmod o="),
                (["# none"], 0o600, "the file contains no key"),
            ]
            for (lines, mode, said) in rows {
                let keys = try KeyRing(lines, mode: mode)
                defer { keys.remove() }
                for verb in ["ls", "rotate"] {
                    let run = try await errand("key", verb, environment: keys.environment)
                    run.expect(2, "ERRAND_KEYS_FILE: \(keys.file)", said)
                    #expect(!run.errors.contains(key) && run.output.isEmpty)
                }
                let doctor = try await errand("doctor", "-ojson", environment: keys.environment)
                let found = try doctor.records.first { $0["check"] == "keys" }
                #expect(found?["severity"] == "warning")
                #expect(found?["message"].text?.contains(said) == true)
            }
            let lost = ["ERRAND_KEYS_FILE": "/nonexistent/keys"]
            try await errand("key", "ls", environment: lost)
                .expect(2, "ERRAND_KEYS_FILE: /nonexistent/keys cannot be read")
        }

        /// An endpoint, whose secret is sealed.
        private func seal(_ keys: KeyRing, by name: String) async throws {
            let run = try await errand(
                "webhook", "add", "--owner", "app:\(name)", "--url", "https://h.example/",
                environment: keys.environment)
            run.expect(0)
        }

        @Test func `a key is changed: added, moved to the top, rotated, removed`() async throws {
            let (old, new) = (KeyRing.line("old", 1), KeyRing.line("new", 2))
            let keys = try KeyRing([old])
            defer { keys.remove() }
            func key(_ words: String...) async throws -> Run {
                try await errand(["key"] + words + ["-ojson"], environment: keys.environment)
            }
            let sealed = "notification.endpoints.secret"
            // How much it says of each column, without those of which it says nothing.
            func counted(_ what: String, _ run: Run) throws -> [String: Double] {
                let counts = try run.records.map {
                    ($0["column"].text ?? "", $0[what].number ?? -1)
                }
                #expect(counts.contains { $0.0 == sealed })
                return Dictionary(uniqueKeysWithValues: counts).filter { $0.value != 0 }
            }
            try await seal(keys, by: "a")
            try await seal(keys, by: "b")
            try keys.write([new, old])
            try await seal(keys, by: "c")
            let list = try await key("ls").records
            #expect(list.map { $0["name"] } == ["new", "old"])
            #expect(list.map { $0["state"] } == ["seals", "opens"])
            #expect(list.map { $0["count"] } == [1, 2])
            #expect(list[1]["columns"].elements[0]["column"] == "notification.endpoints.secret")
            let doctor = try await errand("doctor", "-ojson", environment: keys.environment)
            let found = try doctor.records.first { $0["check"] == "keys" }
            #expect(found?["severity"] == "note" && found?["remedy"] == "errand key rotate")

            let dry = try await key("rotate", "--dry-run")
            dry.expect(0, "still needed: old (2 values)")
            #expect(try counted("left", dry) == [sealed: 2])
            let rotated = try await key("rotate", "--reason", "yearly")
            rotated.expect(0, "no longer needed: old")
            #expect(try counted("done", rotated) == [sealed: 2])
            #expect(try counted("left", rotated).isEmpty)
            let audit = try await made("audit", "ls", "--action", "key")
            #expect(audit["action"] == "key rotate" && audit["reason"] == "yearly")
            #expect(audit["subject"] == "notification.endpoints.secret")
            // Again there is nothing to do, and nothing in the audit.
            #expect(try counted("done", await key("rotate")).isEmpty)
            #expect(try await made("audit", "ls", "--action", "key")["id"] == audit["id"])
            try keys.write([new])
            try await key("ls").expect(0)
        }

        @Test func `a key that the database needs and the file lacks is an error`() async throws {
            let (old, new) = (KeyRing.line("old", 1), KeyRing.line("new", 2))
            let keys = try KeyRing([old])
            defer { keys.remove() }
            try await seal(keys, by: "a")
            try keys.write([new])
            try await seal(keys, by: "b")
            let list = try await errand("key", "ls", environment: keys.environment)
            list.expect(1, "need a missing key: old", "restore its line in the file")
            #expect(list.output.contains(/old +missing +1/))
            try await errand("key", "rotate", environment: keys.environment)
                .expect(7, "need a missing key: old")
            // A namesake opens nothing either.
            try keys.write([new, KeyRing.line("old", 3)])
            try await errand("key", "rotate", environment: keys.environment)
                .expect(7, "1 values of notification.endpoints.secret cannot be opened", ": 1")
            try keys.write([new, old])
            try await errand("key", "rotate", environment: keys.environment).expect(0)
        }
    }
}
