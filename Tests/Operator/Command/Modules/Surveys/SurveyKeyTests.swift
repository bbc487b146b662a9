import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand survey: keys of receipts") struct SurveyKeyTests {
        @Test func `keys are shown, revealed on the record, and rotated`() async throws {
            try await withSurveys { ground in
                try await ground.put(12).expect(0)
                try await errand("survey", "key", "show", "1")
                    .expect(3, "has no receipt key", "'errand survey key rotate 1'")
                try await errand("survey", "key", "rotate", "1", "--yes")
                    .expect(2, "ERRAND_KEYS_FILE is not set")
                try await ground.survey("key", "rotate", "1").expect(5, "not confirmed")
                try await ground.survey("key", "rotate", "9", "--yes").expect(3)
                let first = try await ground.survey("key", "rotate", "1", "--yes", "-ojson")
                first.expect(0)
                #expect(try first.record["version"] == 1 && first.record["result"] == "rotated")
                let shown = try await ground.survey("key", "show", "1", "-ojson")
                #expect(try shown.record["is_open"] == true && shown.record["key"] == .null)
                let revealed = try await ground.survey(
                    "key", "show", "1", "--reveal", "--reason", "new till", "-ojson")
                let key = try #require(try revealed.record["key"].text)
                #expect(key.contains(/^[0-9a-f]{64}$/))

                try await ground.survey("key", "rotate", "1", "--leaked")
                    .expect(2, "--leaked needs --reason")
                let leaked = try await ground.survey(
                    "key", "rotate", "1", "--leaked", "--reason", "stolen", "--yes", "-ojson")
                #expect(try leaked.record["version"] == 2)
                #expect(try leaked.record["result"] == "replaced")
                let both = try await ground.survey("key", "show", "1", "--reveal", "-ojson")
                #expect(try both.records.map { $0["version"] } == [2, 1])
                #expect(try both.records[0]["key"].text != key)
                #expect(try both.records[1]["key"] == .null)
                let table = try await ground.survey("key", "show", "1")
                #expect(table.lines[0].hasPrefix("VERSION  CREATED AT"))
                let audit = try await errand("audit", "ls", "-ojson").records
                #expect(audit.contains { $0["reason"] == "stolen" })
                #expect(audit.contains { $0["reason"] == "new till" })
                #expect(!audit.contains { $0["change"].text?.contains(key) == true })
            }
        }

        @Test func `a receipt that is made gives an invitation, once`() async throws {
            try await withSurveys { ground in
                try await ground.put(12).expect(0)
                let words = ["receipt", "make", "1", "--branch", "1", "--number", "A-1042"]
                try await ground.survey(words).expect(3, "has no receipt key")
                try await ground.survey("key", "rotate", "1", "--yes").expect(0)
                let path = ground.path("receipt.png")
                let run = try await ground.survey(words + ["--qr", path, "-ojson"])
                run.expect(0)
                let code = try #require(try run.record["code"].text)
                #expect(code.hasPrefix("ER1.1.1.A-1042."))
                let picture = try Data(contentsOf: URL(filePath: path))
                #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
                for (person, reason) in [(1, "ok"), (2, "used")] {
                    #expect(
                        try await number(
                            """
                            SELECT count(*) FROM surveys.scan(\(person), '\(code)', 's')
                            WHERE reason = '\(reason)'
                            """) == 1)
                }
                let longest = try await ground.survey(
                    "receipt", "make", "1", "--branch", "1", "--number",
                    String(repeating: "9", count: 40), "--qr", path)
                longest.expect(0)
                let old = try await ground.survey(
                    words + ["--at", "2026-01-02T03:04:05Z", "-ojson"])
                #expect(try old.record["code"].text?.contains(".1767323045.") == true)
                try await ground.survey("receipt", "make", "1", "--branch", "1", "--number", "a 1")
                    .expect(2, "1 to 40 of A-Z")
                try await errand(["survey"] + words).expect(2, "ERRAND_KEYS_FILE is not set")
                let audit = try await errand(
                    "audit", "ls", "--action", "survey receipt make", "-ojson")
                #expect(
                    try audit.records.last?["subject"]
                        == "establishment 1, branch 1, receipt A-1042")
            }
        }

        @Test func `the doctor names keys that are missing or sealed, and late sweeps`()
            async throws
        {
            try await withSurveys { ground in
                #expect(try await finding(ground) == nil)
                try await ground.put(12).expect(0)
                #expect(
                    try await finding(ground)?.contains("without a receipt key: 1, such as 1")
                        == true)
                try await ground.survey("key", "rotate", "1", "--yes").expect(0)
                #expect(try await finding(ground) == "open surveys: 1; answers to review: 0")
                try await change("TRUNCATE surveys.open_receipt_keys")
                #expect(
                    try await finding(ground)?.contains("such as that of establishment 1") == true)
                try await ground.survey("key", "rotate", "1", "--yes").expect(0)
                // The key before is still sealed, and its codes are good.
                #expect(try await finding(ground)?.contains("that are sealed") == true)
                try await change("DELETE FROM surveys.receipt_keys WHERE retired_at IS NOT NULL")
                let late = try await ground.invited(1)
                try await change(
                    """
                    UPDATE surveys.invitations SET invited_at = now() - interval '2 days',
                        expires_at = now() - interval '3 hours' WHERE id = \(late)
                    """)
                #expect(
                    try await finding(ground)
                        == "invitations open two hours after their end: 1")
                try await errand("survey", "expire").expect(0)
                #expect(try await finding(ground) == "open surveys: 1; answers to review: 0")
            }
        }

        /// What the doctor says of surveys.
        private func finding(_ ground: SurveyGround) async throws -> String? {
            let run = try await errand("doctor", "-ojson", environment: ground.keys.environment)
            return try run.records.first { $0["check"] == "surveys" }?["message"].text
        }
    }
}
