import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Steps of a destruction", .database) struct DestructionStepTests {
    /// A session on a database with three people and an approved destruction.
    private static func approved() async throws -> Session {
        let session = try TestDatabase.here().session()
        try await session.script(
            """
            INSERT INTO people.people (id) SELECT generate_series(1, 3);
            UPDATE custody.rules SET allows_same = true;
            SELECT custody.plan('ann', NULL, '2020-01-01', false, NULL, '{}', '{}');
            SELECT custody.approve(NULL, 'ann')
            """)
        return session
    }

    private static func started() async throws -> Session {
        let session = try await approved()
        _ = try await session.query("SELECT custody.begin_destruction(1, 'ann')")
        return session
    }

    /// The word for which a call is refused; nil if it is not.
    private func refusal(_ call: String, _ session: Session) async -> String? {
        do { _ = try await session.query("SELECT custody.\(call)") } catch {
            guard case .server(let error) = error, error.sqlState == "RU001" else {
                return "\(error)"
            }
            return error.detail
        }
        return nil
    }

    private func count(_ what: String, _ session: Session) async throws -> Int64 {
        try await session.query("SELECT count(*) FROM \(what)")[0].int64(0)
    }

    /// Empties the tables of all modules, those that need others first.
    private func empty(_ session: Session) async throws {
        for row in try await session.query("SELECT m FROM custody.modules_left(1) AS m") {
            _ = try await session.query(
                "SELECT custody.empty_module(1, $1)", [.text(try row.text("m"))])
        }
    }

    // "A destruction that was cancelled goes on and destroys everything"
    @Test func `after a cancellation nothing begins, is revoked or emptied`() async throws {
        let session = try await Self.started()
        let granted = """
            pg_proc p, aclexplode(p.proacl) a WHERE a.grantee = 'errand_app'::regrole
            """
        let rights = try await count(granted, session)
        try await session.script(
            "SELECT custody.begin_step(1, 'intake'); SELECT custody.cancel(1, 'bob')")
        for call in [
            "expect_started(1)", "begin_step(1, 'intake')", "stop_intake(1)", "count_before(1)",
            "begin_step(1, 'keys')", "empty_module(1, 'people')",
        ] {
            #expect(await refusal(call, session) == "wrong_state", "\(call)")
        }
        #expect(try await count(granted, session) == rights)
        #expect(try await count("people.people", session) == 3)
        #expect(try await count("errand.queues WHERE paused_at IS NOT NULL", session) == 0)
        await session.close()
    }

    @Test func `a step that has begun first is not cancelled, and a cancellation not undone`()
        async throws
    {
        let session = try await Self.started()
        let other = try TestDatabase.here().session()
        let watcher = try TestDatabase.here().session()
        let waiting =
            "pg_stat_activity WHERE datname = current_database() "
            + "AND wait_event_type = 'Lock'"
        // Whichever comes second waits for the row of the destruction, and then sees the first.
        for (first, second) in [
            ("cancel(1, 'bob')", "begin_step(1, 'keys')"),
            ("begin_step(2, 'keys')", "cancel(2, 'bob')"),
        ] {
            try await session.script("BEGIN; SELECT custody.\(first)")
            async let answer = refusal(second, other)
            try await eventually("the other waits") {
                try await count(waiting, watcher) > 0
            }
            try await session.script("COMMIT")
            #expect(await answer == "wrong_state", "\(second)")
            guard first.hasPrefix("cancel") else { continue }
            try await session.script(
                """
                SELECT custody.plan('ann', NULL, '2020-01-01', false, NULL, '{}', '{}');
                SELECT custody.approve(NULL, 'ann');
                SELECT custody.begin_destruction(2, 'ann')
                """)
        }
        for session in [session, other, watcher] { await session.close() }
    }

    @Test func `no table is emptied while the destruction can still be cancelled`() async throws {
        let session = try await Self.started()
        _ = try await session.query("SELECT custody.count_before(1)")
        #expect(await refusal("empty_module(1, 'people')", session) == "wrong_state")
        #expect(try await count("people.people", session) == 3)
        _ = try await session.query("SELECT custody.begin_step(1, 'keys')")
        #expect(await refusal("cancel(1, 'bob')", session) == "wrong_state")
        try await empty(session)
        #expect(try await count("people.people", session) == 0)
        await session.close()
    }

    // "TRUNCATE … CASCADE empties tables of foreign schemas"
    @Test(arguments: [
        "CREATE TABLE shop.orders (person_id bigint REFERENCES people.people)",
        """
        CREATE TABLE shop.orders (person_id bigint REFERENCES people.people)
            PARTITION BY RANGE (person_id);
        CREATE TABLE shop.some PARTITION OF shop.orders FOR VALUES FROM (0) TO (9)
        """,
        """
        CREATE TABLE shop.orders (id bigint DEFAULT 9, person_id bigint) INHERITS (people.people)
        """,
    ])
    func `tables of others that reference or inherit from those of modules are not emptied`(
        table: String
    ) async throws {
        let session = try await Self.approved()
        let script = "CREATE SCHEMA shop; \(table); INSERT INTO shop.orders (person_id) VALUES (1)"
        try await session.script(script)
        #expect(await refusal("begin_destruction(1, 'ann')", session) == "referenced")
        try await session.script("DROP SCHEMA shop CASCADE")
        #expect(await refusal("begin_destruction(1, 'ann')", session) == nil)
        // Made meanwhile: nothing has been destroyed yet.
        _ = try await session.query("SELECT custody.count_before(1)")
        try await session.script(script)
        #expect(await refusal("begin_step(1, 'keys')", session) == "referenced")
        try await session.script("DROP SCHEMA shop CASCADE")
        #expect(await refusal("begin_step(1, 'keys')", session) == nil)
        try await session.script(script)
        #expect(await refusal("empty_module(1, 'people')", session) == "referenced")
        #expect(try await count("shop.orders", session) == 1)
        await session.close()
    }

    // "A destruction keeps lines about single people"
    @Test func `of the audit log, lines about single people go`() async throws {
        let session = try await Self.started()
        try await session.script(
            """
            INSERT INTO errand.audit (operator, action, subject, reason)
            VALUES ('ann', 'destruction plan', 'customer data', NULL),
                ('ann', 'transfer object', 'person 1', 'letter'),
                ('ann', 'transfer export', '/CN=buyer', NULL), ('ann', 'person show', '1', NULL);
            SELECT custody.count_before(1); SELECT custody.begin_step(1, 'keys')
            """)
        try await empty(session)
        let actions = try await session.query("SELECT action FROM errand.audit ORDER BY id")
            .map { try $0.text("action") }
        #expect(actions == ["destruction plan", "transfer export"])
        await session.close()
    }

    // "Cancelling a destruction resumes queues that an operator had paused for a while"
    @Test func `a cancellation leaves queues paused as they were`() async throws {
        let session = try await Self.started()
        try await session.script(
            """
            INSERT INTO errand.queues (name, paused_at, paused_by, pause_reason, paused_until)
            VALUES ('mail', now(), 'ann', 'the server is moved', now() + interval '1 day'),
                ('reports', now(), 'bob', 'for good', NULL), ('sums', NULL, NULL, NULL, NULL)
            """)
        let states = """
            SELECT jsonb_agg(to_jsonb(q) ORDER BY q.name)::text AS queues FROM errand.queues q
            """
        let before = try await session.query(states)[0].text(0)
        // An interrupted step is repeated.
        try await session.script("SELECT custody.stop_intake(1); SELECT custody.stop_intake(1)")
        let mark = "errand.queues WHERE paused_by = 'destruction 1' AND paused_until IS NULL"
        #expect(try await count("\(mark) AND name IN ('mail', 'sums')", session) == 2)
        #expect(try await count("\(mark) AND name = 'reports'", session) == 0)
        _ = try await session.query("SELECT custody.cancel(1, 'bob')")
        #expect(try await session.query(states)[0].text(0) == before)
        await session.close()
    }
}
