import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand badge") struct BadgeTests {
        private func ground() async throws {
            try await change(
                """
                INSERT INTO people.people (id) VALUES (41), (42);
                INSERT INTO establishments.establishments (id, name) VALUES (7, 'Cafe');
                SELECT badges.count_deed(41, 'survey_done', 7) FROM generate_series(1, 4);
                INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from,
                    expires_at, redeemed_at)
                SELECT 42, 7, 'Tea', now() - interval '1 day', now() + interval '1 day', now()
                FROM generate_series(1, 12)
                """)
        }

        @Test func `the badges of a person are listed with their progress`() async throws {
            try await ground()
            let found = try await errand("badge", "ls", "--person", "41", "-ojson").records
            #expect(found.map { $0["badge"] } == ["coupons_used", "regular", "surveys_done"])
            #expect(found.map { $0["progress"] } == [0, 4, 4])
            #expect(found.map { $0["level"] } == [nil, 3, 1])
            #expect(found.map { $0["next_level"] } == [1, 5, 10])
            #expect(found[1]["establishment"].id == "7")
            #expect(found[1]["establishment_name"] == "Cafe")
            try await errand("badge", "ls", "--person", "41").expect(0)
            try await errand("badge", "ls", "--person", "99").expect(3, "there is no person 99")
            try await errand("badge", "ls").expect(2, "--person ID is required")
        }

        @Test func `the kinds are listed`() async throws {
            let kinds = try await errand("badge", "kinds", "-ojson").records
            #expect(kinds.map { $0["badge"] } == ["coupons_used", "regular", "surveys_done"])
            #expect(kinds[1]["levels"].elements == ["3", "5", "10", "25"])
            #expect(kinds.map { $0["by_establishment"] } == [false, true, false])
            #expect(kinds[0]["sources"].elements == ["coupons"])
        }

        @Test func `what is missing is repaired, for one person or all`() async throws {
            try await ground()
            try await errand("badge", "recount").expect(5, "not confirmed")
            let none = try await made("badge", "recount", "--person", "41", "--yes")
            #expect(none["corrected"] == 0 && none["awarded"] == 0)
            let all = try await made("badge", "recount", "--yes")
            #expect(all["people"] == 2 && all["corrected"] == 1 && all["awarded"] == 2)
            let one = try await made("badge", "recount", "--person", "42", "--yes")
            #expect(one["people"] == 1 && one["awarded"] == 0)
            try await errand("badge", "recount", "--person", "99", "--yes")
                .expect(3, "there is no person 99")
            let audit = try await errand("audit", "ls", "-ojson").records
            #expect(audit.count { $0["action"] == "badge recount" } == 3)
        }

        @Test func `the doctor reports what a recount repaired, and one that is late`() async throws
        {
            func finding() async throws -> (String?, String?) {
                let run = try await errand("doctor", "-ojson")
                let found = try run.records.first { $0["check"] == "badges" }
                return (found?["severity"].text, found?["message"].text)
            }
            #expect(try await finding().0 == "ok")
            try await ground()
            try await made("badge", "recount", "--yes")
            let repaired = try await finding()
            #expect(repaired.0 == "warning")
            #expect(repaired.1?.contains("corrected 1 counts and awarded 2 badges") == true)
            try await made("badge", "recount", "--yes")
            #expect(try await finding().0 == "ok")
            try await change(
                """
                UPDATE badges.recounts SET started_at = started_at - interval '3 days',
                    ended_at = ended_at - interval '3 days'
                """)
            let late = try await finding()
            #expect(late.0 == "warning" && late.1?.contains("for two days") == true)
        }
    }
}
