import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Declarations of kinds of notice", .database) struct DeclarationTests {
    private func age(_ ground: Ground, _ age: String) async throws {
        try await ground.run(
            "UPDATE notification.kinds SET declared_at = now() - interval '\(age)'")
    }

    /// The kinds that count as declared within a minute.
    private func fresh(_ ground: Ground) async throws -> [String] {
        try await ground.texts(
            """
            SELECT kind FROM notification.kinds
            WHERE declared_at > now() - interval '1 minute' AND kind LIKE 't.%' ORDER BY kind
            """)
    }

    // "Keep `declared_at` fresh on each declaration (at most once an hour)".
    @Test func `a declaration and a renewal note the time, at most once an hour`() async throws {
        let ground = try await Ground()
        try await ground.declare("t.strange")
        let known = ["t.code", "t.near", "t.news", "t.note", "t.nudge", "t.pin"]
        for statement in [
            try TestNotices.catalogue.declaration(), TestNotices.catalogue.renewal(),
        ] {
            try await age(ground, "59 minutes")
            _ = try await ground.session.query(statement)
            #expect(try await fresh(ground) == [])
            try await age(ground, "61 minutes")
            _ = try await ground.session.query(statement)
            #expect(try await fresh(ground) == known)
        }
    }

    @Test func `a renewal keeps the facts that a newer program has declared`() async throws {
        let ground = try await Ground()
        try await ground.run(
            """
            UPDATE notification.kinds SET facts = '{"new": "text"}',
                declared_at = now() - interval '2 days' WHERE kind = 't.note'
            """)
        _ = try await ground.session.query(TestNotices.catalogue.renewal())
        #expect(try await fresh(ground).contains("t.note"))
        #expect(
            try await ground.texts(
                "SELECT facts::text FROM notification.kinds WHERE kind = 't.note'")
                == [#"{"new": "text"}"#])
    }
}
