import Foundation
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("notification.emit()", .database) struct EmitTests {
    private func counts(_ ground: Ground) async throws -> [Int64] {
        var counts: [Int64] = []
        for table in ["notification.events", "notification.event_deliveries", "errand.jobs"] {
            counts.append(try await ground.number("SELECT count(*) FROM \(table)"))
        }
        return counts
    }

    /// An endpoint that is never asked.
    private func add(
        _ ground: Ground, _ owner: String, _ events: String = "*", isOn: Bool = true
    ) async throws {
        try await ground.run(
            """
            INSERT INTO notification.endpoints (owner, url, events, secret, disabled_at,
                disabled_reason)
            VALUES ($1, 'https://hooks.example/1', string_to_array($2, ','), '\\x01',
                CASE WHEN NOT $3 THEN now() END, CASE WHEN NOT $3 THEN 'off' END)
            """, [.text(owner), .text(events), .bool(isOn)])
    }

    @Test(arguments: ["https://me:pw@h/", "http://me@h", "https://h@evil?x=1"])
    func `an enabled endpoint has no login in its URL`(url: String) async throws {
        let ground = try await Ground()
        let insert = """
            INSERT INTO notification.endpoints (owner, url, events, secret, disabled_at,
                disabled_reason)
            VALUES ('app:a', $1, '{*}', '\\x01', $2, $3)
            """
        let error = await #expect(throws: PostgresError.self) {
            try await ground.run(insert, [.text(url), .null, .null])
        }
        #expect(error?.sqlState == "23514")
        // A disabled one stays for the record, and is not enabled.
        try await ground.run(insert, [.text(url), .timestamp(.now()), .text("off")])
        let enabling = await #expect(throws: PostgresError.self) {
            try await ground.run(
                "UPDATE notification.endpoints SET disabled_at = NULL, disabled_reason = NULL")
        }
        #expect(enabling?.sqlState == "23514")
        try await ground.run("UPDATE notification.endpoints SET disabled_reason = 'still off'")
        try await ground.run(insert, [.text("https://h:8443/a@b"), .null, .null])
    }

    private func emit(
        _ ground: Ground, _ kind: String = "a.b", _ owner: String = "app:a", key: String = "k"
    ) async throws -> Int64? {
        try await ground.session.query(
            "SELECT notification.emit($1, $2, '{}', $3)", [.text(kind), .text(owner), .text(key)]
        ).first?.optionalInt64(0)
    }

    @Test func `nothing is kept when nobody wants to know`() async throws {
        let ground = try await Ground()
        try await add(ground, "app:b")
        try await add(ground, "app:a", "other.kind,a.bc")
        try await add(ground, "app:a", isOn: false)
        #expect(try await emit(ground) == nil)
        #expect(try await counts(ground) == [0, 0, 0])
    }

    @Test func `each endpoint that wants the kind gets one delivery and one job`() async throws {
        let ground = try await Ground()
        try await add(ground, "app:a", "x.y,a.b")
        try await add(ground, "app:a")
        try await add(ground, "app:a", "x.y")
        try await add(ground, "app:b")
        let first = try #require(try await emit(ground))
        #expect(try await counts(ground) == [1, 2, 2])
        // The same event again changes nothing; another by its key is an error.
        #expect(try await emit(ground) == first)
        let known = await #expect(throws: PostgresError.self) {
            _ = try await emit(ground, "x.y")
        }
        #expect(known?.sqlState == "23505")
        #expect(try await counts(ground) == [1, 2, 2])
        #expect(try await emit(ground, "x.y", key: "l") != first)
        #expect(try await counts(ground) == [2, 5, 5])
        // Nothing but ids goes into a job.
        let args = try await ground.texts(
            """
            SELECT DISTINCT array_to_string(ARRAY(SELECT jsonb_object_keys(args)), ',')
            FROM errand.jobs
            """
        )
        #expect(args == ["delivery_id"])
        #expect(try await ground.texts("SELECT DISTINCT queue FROM errand.jobs") == ["webhooks"])
    }

    @Test func `it belongs to the transaction of what happened`() async throws {
        let ground = try await Ground()
        try await add(ground, "app:a")
        await #expect(throws: CancellationError.self) {
            try await ground.session.transaction { session in
                _ = try session.query("SELECT notification.emit('a.b', 'app:a', '{}', 'k')")
                throw CancellationError()
            }
        }
        #expect(try await counts(ground) == [0, 0, 0])
    }

    @Test func `the same event told by many at once is sent once`() async throws {
        let ground = try await Ground()
        try await add(ground, "app:a")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<20 {
                        try await ground.pool.withSession {
                            _ = try await $0.query(
                                "SELECT notification.emit('a.b', 'app:a', '{}', $1)",
                                [.text("k\(number)")])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await counts(ground) == [20, 20, 20])
    }

    @Test(
        "bad input is refused with what was expected, also when nobody listens",
        arguments: [
            ("NULL, 'o', '{}', 'k'", "emit needs kind, owner, data and dedupe_key"),
            ("'a', 'o', NULL, 'k'", "emit needs kind, owner, data and dedupe_key"),
            ("'A b', 'o', '{}', 'k'", "kind A b: expected up to 100"),
            ("'webhook.test', 'o', '{}', 'k'", "kind webhook.test: expected"),
            ("'a', '', '{}', 'k'", "owner: expected 1 to 200"),
            ("'a', E'o\\n', '{}', 'k'", "owner: expected 1 to 200"),
            ("'a', 'o', '{}', ''", "dedupe_key: expected 1 to 300"),
            ("'a', 'o', '{}', repeat('k', 301)", "dedupe_key: expected 1 to 300"),
            (
                "'a', 'o', '[1]', 'k'",
                "data: expected a JSON object of at most 19500 bytes, found array"
            ),
            (
                "'a', 'o', jsonb_build_object('x', repeat('x', 19500)), 'k'",
                "at most 19500 bytes, found object of 19509"
            ),
            ("'a', 'o', '{}', 'k', 'infinity'", "expires_at infinity: expected a time"),
        ])
    func bad(arguments: String, words: String) async throws {
        let session = try TestDatabase.here().session()
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.query("SELECT notification.emit(\(arguments))")
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains(words))
        await session.close()
    }
}
