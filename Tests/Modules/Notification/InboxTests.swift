import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Inboxes", .database) struct InboxTests {
    // "The inbox does not link to what it is about: `vote.published` has
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

    // "The cursor of an inbox breaks when its item is deleted": "old notices are shown or counted
    // again".
    @Test func `what comes after an item stays the same when the item is deleted`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        for subject in ["one", "two", "three", "four"] {
            try await ground.notify(ground.intent(TestNotices.note, ada, of: subject))
        }
        let ids = try await ground.session.query("SELECT id FROM notification.notices ORDER BY id")
            .map { try $0.int64(0) }
        func after(_ id: Int64?) async throws -> [String] {
            try await ground.texts(
                "SELECT subject FROM notification.inbox($1, after => $2)",
                [.int64(ada), .optional(id)])
        }
        #expect(try await after(ids[1]) == ["four", "three"])
        try await ground.run(
            "DELETE FROM notification.inbox_items WHERE notice_id = $1", [.int64(ids[1])])
        #expect(try await after(ids[1]) == ["four", "three"])
        try await ground.run(
            "SELECT notification.forget(ARRAY[$1]::bigint[], 'four')", [.int64(ada)])
        #expect(try await after(ids[3]) == [])
        #expect(try await after(nil) == ["three", "one"])
    }
}
