import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand establishment") struct EstablishmentTests {
        private func ground() async throws {
            try await change(
                """
                SELECT establishments.put_establishment(7, 'Café Rachel'),
                    establishments.put_establishment(8, 'Bar');
                SELECT establishments.put_branch(3, 7, 'Rue Rachel', -73.57, 45.52);
                SELECT establishments.close_establishment(8)
                """)
        }

        @Test func `establishments and branches are shown`() async throws {
            try await ground()
            let all = try await errand("establishment", "ls", "-ojson")
            #expect(try all.records.map { $0["name"].text } == ["Café Rachel", "Bar"])
            let named = try await errand("establishment", "ls", "--name", "rachel", "-ojson")
            #expect(try named.record["branch_count"].number == 1)
            let closed = try await errand("establishment", "ls", "--closed", "-ojson")
            #expect(try closed.record["name"] == "Bar")
            let shown = try await errand("establishment", "show", "7", "-ojson")
            #expect(try shown.record["branches"].elements.first?["name"] == "Rue Rachel")
            try await errand("establishment", "show", "9").expect(3, "no establishment 9")
        }

        @Test func `payments are noted once and corrected`() async throws {
            try await ground()
            let paid = ["establishment", "paid", "7", "125.50", "--reference", "INV-1", "--yes"]
            let first = try await errand(paid + ["-ojson"])
            first.expect(0)
            #expect(try first.record["owed"].elements.first?["amount"].number == -12_550)
            try await errand(paid).expect(0, "already noted")
            try await errand(
                "establishment", "paid", "7", "126", "--reference", "INV-1", "--yes"
            ).expect(4, "is known as 12550 CAD")
            try await errand(
                "establishment", "paid", "7", "1.234", "--reference", "INV-2", "--yes"
            ).expect(2, "is not an amount")
            try await errand(
                "establishment", "correct", "7", "--reference", "INV-1", "--reason", "wrong",
                "--yes"
            ).expect(0)
            try await errand(paid).expect(5, "was corrected")
            let account = try await errand("establishment", "account", "7", "-ojson")
            #expect(try account.record["owed"].elements.first?["amount"].number == 0)
            #expect(
                try account.record["payments"].elements.first?["correction"] == "wrong")
            try await errand(
                "establishment", "correct", "7", "--reference", "no", "--reason", "x", "--yes"
            ).expect(3, "has no payment")
        }

        @Test func `zone and contacts are set`() async throws {
            try await ground()
            try await errand(
                "establishment", "contacts", "7", "--add", "a@example.org", "--yes"
            ).expect(5, "no time zone")
            try await errand("establishment", "zone", "7", "Mars/Olympus", "--yes")
                .expect(2, "time_zone")
            try await errand("establishment", "zone", "7", "America/Toronto", "--yes").expect(0)
            let added = try await errand(
                "establishment", "contacts", "7", "--add", "A@example.org", "--locale", "fr",
                "--yes", "-ojson")
            #expect(try added.record["address"] == "A@example.org")
            #expect(try added.record["locale"] == "fr")
            try await errand(
                "establishment", "contacts", "7", "--remove", "a@EXAMPLE.org", "--yes"
            ).expect(0, "no contacts")
        }
    }
}
