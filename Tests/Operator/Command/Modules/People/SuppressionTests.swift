import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand person suppressions") struct SuppressionTests {
        private let file = FileManager.default.temporaryDirectory
            .appending(path: "suppressions-\(UUID().uuidString)").path

        /// Three adults, of whom 41 is erased; what the commands do depends on no other module.
        private func fill() async throws {
            try await change(
                """
                DELETE FROM people.holders;
                SELECT people.put_person(id, jsonb_build_object(
                    'email', 'person' || id || '@example.org', 'birth_date', '1990-05-17'))
                FROM generate_series(41, 43) AS id
                """)
            try await errand("person", "erase", "41", "--reason", "a letter", "--yes").expect(0)
            try await work()
        }

        private func work() async throws {
            try await errand("work", "--queues", "people", "--drain").expect(0)
        }

        private func write() async throws -> Run {
            try await errand("person", "suppressions", "--to", file, "-ojson")
        }

        private func suppress() async throws -> Run {
            try await errand("person", "suppress", "--from", file, "--yes", "-ojson")
        }

        private func lines() throws -> [String] {
            try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
                .map { String($0.prefix { $0 != " " }) }
        }

        /// The backup was made before person 41 was erased.
        private static let restore = """
            DELETE FROM people.certificates; DELETE FROM people.erasure_counts;
            DELETE FROM people.erasure_steps; DELETE FROM people.erasures;
            UPDATE people.people SET erased_at = NULL, blocked_at = NULL, email = 'a@b.example',
                created_at = now() - interval '1 day'
            WHERE id = 41
            """

        @Test func `a list outside of the database erases again after a restore`() async throws {
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await fill()
            func note() async throws -> Bool {
                try await errand("doctor", "-ojson").records.contains {
                    $0["message"].text?.contains("list of suppressions") == true
                }
            }
            #expect(try await note())
            #expect(try await write().record["people"] == 1)
            #expect(try await !note())
            try await change(Self.restore)
            try await errand("person", "suppress", "--from", file).expect(5, "not confirmed")
            #expect(try await suppress().record["requested"] == 1)
            try await work()
            #expect(try await suppress().record["requested"] == 0)
            #expect(try await errand("person", "show", "41", "-ojson").record["state"] == "erased")
            try await errand("person", "suppress", "--from", "/nowhere", "--yes")
                .expect(3, "cannot read")
        }

        // "The daily list of suppressions is overwritten by the restored database"
        @Test func `the list of a restored database forgets nobody, and says who is not erased`()
            async throws
        {
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await fill()
            try await write().expect(0)
            try await change(Self.restore)
            try await errand("person", "erase", "42", "--reason", "a letter", "--yes").expect(0)
            try await work()
            let run = try await write()
            run.expect(7, "who are not erased: 1; was a backup restored?")
            #expect(try run.record["people"] == 2)
            #expect(try lines() == ["41", "42"])
            try await write().expect(7)
            #expect(try await suppress().record["requested"] == 1)
            // Requested is enough.
            try await write().expect(0)
            try await work()
            try await write().expect(0)
            #expect(try lines() == ["41", "42"])
        }

        // "After a restore, `person suppress` erases new people who got the ids"
        @Test func `a new person with the id of the list is not erased`() async throws {
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await fill()
            try await write().expect(0)
            try await change(
                """
                \(Self.restore);
                UPDATE people.people SET created_at = now() + interval '1 minute' WHERE id = 41
                """)
            #expect(try await suppress().record["requested"] == 0)
            try await write().expect(0)
            #expect(try await errand("person", "show", "41", "-ojson").record["state"] == "active")
        }

        // "`suppress --from` reads a list with CRLF as one line"
        @Test func `lines may end as Windows ends them`() async throws {
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await fill()
            let time = "2098-01-05T10:00:00Z"
            try "41 \(time)\r\n42 \(time)\r\n43 \(time)\r\n"
                .write(toFile: file, atomically: true, encoding: .utf8)
            let run = try await suppress()
            #expect(try run.record["listed"] == 3)
            #expect(try run.record["requested"] == 2)
        }

        @Test(arguments: ["41", "x 2026-01-05T10:00:00Z", "41 yesterday", "0 2026-01-05T10:00:00Z"])
        func `what is no list is neither read nor replaced`(line: String) async throws {
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await fill()
            try "\(line)\n".write(toFile: file, atomically: true, encoding: .utf8)
            try await suppress().expect(2, "a line is not a person's id")
            try await write().expect(2, "a line is not a person's id")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "\(line)\n")
        }
    }
}
