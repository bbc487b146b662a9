import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Inboxes", .database) struct InboxTests {
    // The finding: "The inbox does not link to what it is about: `vote.published` has
    // `data = {"subject": "Who?"}`; no vote id, no `subject` column (`vote:12`)".
    @Test func `an item names its kind and its subject, which the app opens`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.pool.transaction { transaction in
            _ = try await NoticePlanner(EveryNotice.catalogue, client: ground.client).notify(
                [
                    Intent(
                        "vote.published", to: ada, of: "vote:12",
                        data: [UInt8](#"{"subject": "Who?"}"#.utf8), dedupeKey: "vote:12",
                        expiresAt: .infinity)
                ], now: Ground.noon, in: transaction)
        }
        #expect(
            try await ground.texts(
                "SELECT kind || ' ' || subject || ' ' || data FROM notification.inbox($1)",
                [.int64(ada)]) == [#"vote.published vote:12 {"subject": "Who?"}"#])
    }
}
