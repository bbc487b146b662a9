import Errand
import ErrandInquiries
import ErrandPostgres
import ErrandTestServices
import Testing

/// People who ask, one of them on a mission, and an agent.
struct InquiryGround: Sendable {
    let pool: Pool
    let session: Session

    /// People 1 to 4; 1 is a shopper, and was offered mission 1, which has begun.
    init() async throws {
        let database = try TestDatabase.here()
        pool = database.pool(8)
        session = database.session()
        try await AllModules.declareNotices(session)
        try await session.script(
            """
            INSERT INTO people.people (id, birth_date, age_verified_at, quiet_from, quiet_until)
            SELECT n, '1990-05-06', now(), NULL, NULL FROM generate_series(1, 4) n;
            INSERT INTO establishments.establishments VALUES (1, 'Café Un');
            INSERT INTO establishments.branches
            VALUES (1, 1, 'North', missions.point(-73.5, 45.5));
            SELECT missions.hire(1, 'Olga');
            SELECT missions.set_shopper(1, -73.5, 45.51);
            SELECT missions.open_mission(1, 'Have lunch', clock_timestamp() - interval '1 hour',
                clock_timestamp() + interval '3 days', 3000, 2000,
                '[{"kind": "photos", "title": "The door"}, {"kind": "survey", "title": "Survey"},
                  {"kind": "report", "title": "Report"}]', 'America/Toronto');
            SELECT missions.offer(1, 1);
            """)
    }

    /// Adds an endpoint that takes alerts.
    func takeAlerts() async throws {
        try await session.script(
            """
            INSERT INTO notification.endpoints (owner, url, secret, events)
            VALUES ('operator', 'https://example.org/hook', '\\x00', '{inquiry.waiting}')
            """)
    }

    // MARK: The app

    /// What a message was answered: the reason, and the thread and message, if they exist.
    struct Answer: Equatable {
        var reason: String
        var thread: Int64?
        var message: Int64?
        var askAgainAt: Instant?

        init(_ row: Row, thread: Int64? = nil) throws {
            reason = try row.text("reason")
            self.thread = try thread ?? row.optionalInt64("thread")
            message = try row.optionalInt64("message")
            askAgainAt = try row.optionalTimestamp("ask_again_at")
        }
    }

    /// Asks, now or so long after now.
    @discardableResult
    func ask(
        _ person: Int64, _ request: String, _ text: String = "Where is it?",
        mission: Int64? = nil, after: String = "0"
    ) async throws -> Answer {
        let rows = try await pool.withSession { session in
            try await session.query(
                """
                SELECT * FROM inquiries.ask_at($1, $2, $3, $4,
                    clock_timestamp() + $5::text::interval)
                """,
                [
                    .int64(person), .text(text), .optional(mission), .text(request), .text(after),
                ])
        }
        return try Answer(try #require(rows.first))
    }

    @discardableResult
    func say(
        _ thread: Int64, _ person: Int64, _ request: String, _ text: String = "And when?",
        after: String = "0"
    ) async throws -> Answer {
        let rows = try await pool.withSession { session in
            try await session.query(
                """
                SELECT * FROM inquiries.say_at($1, $2, $3, $4,
                    clock_timestamp() + $5::text::interval)
                """,
                [.int64(thread), .int64(person), .text(text), .text(request), .text(after)])
        }
        return try Answer(try #require(rows.first), thread: thread)
    }

    /// The messages as the person reads them; those of an agent begin with >.
    func messages(_ thread: Int64, _ person: Int64) async throws -> [String] {
        try await texts(
            """
            SELECT CASE WHEN is_own THEN '' ELSE '> ' END || text
            FROM inquiries.messages($1, $2)
            """, [.int64(thread), .int64(person)])
    }

    // MARK: The agents

    var changes: ThreadChanges { ThreadChanges(session: session, actor: "Olga") }

    func thread(_ id: Int64) async throws -> ThreadRecord {
        try #require(try await ThreadRows(session: session).thread(id, now: .now())).thread
    }

    /// Sweeps so long after now; returns what was done.
    @discardableResult
    func sweep(after: Duration = .zero) async throws -> [String: Int] {
        try await SweepInquiries.sweep(in: pool, now: Instant.now().adding(after))
    }

    /// The kinds of the notices of a person, oldest first.
    func notices(_ person: Int64) async throws -> [String] {
        try await texts(
            "SELECT kind FROM notification.notices WHERE person_id = $1 AND kind LIKE 'inq%' "
                + "ORDER BY id", [.int64(person)])
    }

    // MARK: Looking

    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    func texts(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
        try await session.query(sql, parameters).map { try $0.optionalText(0) ?? "-" }
    }

    /// The SQLSTATE that a call raises.
    func refusal(_ body: () async throws -> Void) async throws -> String? {
        do {
            try await body()
            return nil
        } catch let error as PostgresError { return error.sqlState }
    }
}
