import ErrandAccounts
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// People with addresses, templates of links, and workers that send.
struct AccountGround: Sendable {
    let pool: Pool
    let session: Session
    let kinds: JobKinds

    /// Ann has the id 1 and the address ann@example.org, Bob 2 and bob@example.org.
    init() async throws {
        let database = try TestDatabase.here()
        pool = database.pool(12)
        session = database.session()
        var kinds = JobKinds()
        AccountKinds.add(to: &kinds)
        self.kinds = kinds
        try await session.script(
            """
            INSERT INTO people.people (id, email, birth_date, age_verified_at) VALUES
                (1, 'Ann@example.org', '1990-05-17', '2026-01-01Z'),
                (2, 'bob@example.org', '1990-05-17', '2026-01-01Z'), (3, NULL, '1990-05-17', NULL);
            INSERT INTO accounts.link_templates VALUES
                ('account', 'reset', 'https://app.example.com/reset?token={token}'),
                ('account', 'invitation', 'example://join/{token}');
            """)
    }

    // MARK: Asking

    /// What a request was answered.
    struct Answer: Equatable {
        var reason: String
        var expiresAt: Instant?
        var askAgainAt: Instant?
        var invitation: Int64?
    }

    private func answer(_ call: String, _ parameters: [Parameter]) async throws -> Answer {
        try await pool.withSession { session in
            let row = try await session.query(
                "SELECT (to_jsonb(a) ->> 'invitation')::bigint AS invitation, a.* FROM \(call) a",
                parameters)
            guard let row = row.first else { throw PostgresError.decoding("no row") }
            return Answer(
                reason: try row.text("reason"),
                expiresAt: try row.optionalTimestamp("expires_at"),
                askAgainAt: try row.optionalTimestamp("ask_again_at"),
                invitation: try row.optionalInt64("invitation"))
        }
    }

    /// Requests a code, now or so long after now.
    func issue(
        _ address: String = "ann@example.org", _ purpose: String = "sign_in",
        request: String, caller: String? = nil, after: String = "0"
    ) async throws -> Answer {
        try await answer(
            """
            accounts.issue_code_at($1, $2, 'account', $3, $4, 'en',
                clock_timestamp() + $5::text::interval)
            """,
            [
                .text(address), .text(purpose), .text(request), .optional(caller), .text(after),
            ])
    }

    func reset(
        _ address: String = "ann@example.org", request: String, caller: String? = nil,
        after: String = "0"
    ) async throws -> Answer {
        try await answer(
            """
            accounts.request_reset_at($1, 'account', $2, $3,
                clock_timestamp() + $4::text::interval)
            """, [.text(address), .text(request), .optional(caller), .text(after)])
    }

    func invite(
        _ address: String, by inviter: Int64 = 1, request: String, after: String = "0"
    ) async throws -> Answer {
        try await answer(
            """
            accounts.invite_at($1, 'Ann', $2, 'account', $3, 'en',
                clock_timestamp() + $4::text::interval)
            """, [.int64(inviter), .text(address), .text(request), .text(after)])
    }

    func withdraw(_ invitation: Int64, of inviter: Int64 = 1) async throws -> String {
        try await texts(
            "SELECT accounts.withdraw_invitation($1, $2)", [.int64(inviter), .int64(invitation)])[0]
    }

    /// Checks a code, the last one or that of a request; returns the reason, and the person or the
    /// tries that are left.
    func check(
        _ code: String, _ address: String = "ann@example.org", _ purpose: String = "sign_in",
        request: String = "check", issued: String? = nil, after: String = "0"
    ) async throws -> String {
        try await texts(
            """
            SELECT concat_ws(' ', reason, person, tries_left)
            FROM accounts.check_code_at($1, $2, $3, 'account', $4, $5,
                clock_timestamp() + $6::text::interval)
            """,
            [
                .text(address), .text(purpose), .text(code), .text(request), .optional(issued),
                .text(after),
            ])[0]
    }

    /// Uses a reset link; returns the reason and the person.
    func use(
        _ token: String, request: String = "use", after: String = "0"
    ) async throws -> String {
        try await pool.withSession { session in
            try await session.query(
                """
                SELECT concat_ws(' ', reason, person)
                FROM accounts.use_reset_at($1, $2, clock_timestamp() + $3::text::interval)
                """, [.text(token), .text(request), .text(after)]
            ).text(0, 0)
        }
    }

    func accept(
        _ token: String, as person: Int64 = 2, after: String = "0"
    ) async throws -> String {
        try await texts(
            """
            SELECT concat_ws(' ', reason, inviter, address)
            FROM accounts.accept_invitation_at($1, $2, clock_timestamp() + $3::text::interval)
            """, [.text(token), .int64(person), .text(after)])[0]
    }

    // MARK: Sending

    /// Lets workers look for the accounts, and record the mails.
    func work() async throws {
        _ = try await TestWorker.drain(kinds, queues: [.init("notices")])
    }

    /// The secret of the mail that was recorded last: the code, or the link.
    func secret(_ fact: String) async throws -> String? {
        try await session.query(
            """
            SELECT facts ->> $1 FROM (
                SELECT s.facts, n.created_at FROM notification.secrets s
                JOIN notification.notices n ON n.id = s.notice_id
                UNION ALL SELECT s.facts, m.created_at FROM notification.direct_secrets s
                JOIN notification.direct_mails m ON m.id = s.mail_id) AS f
            WHERE facts ? $1 ORDER BY created_at DESC LIMIT 1
            """, [.text(fact)]
        ).first?.optionalText(0)
    }

    /// Requests a code and reads it from the mail.
    func code(
        _ address: String = "ann@example.org", _ purpose: String = "sign_in", request: String
    ) async throws -> String {
        #expect(try await issue(address, purpose, request: request).reason == "ok")
        try await work()
        return try #require(try await secret("code"))
    }

    /// Requests a reset link and reads its token from the mail.
    func token(request: String) async throws -> String {
        #expect(try await reset(request: request).reason == "ok")
        try await work()
        return String(try #require(try await secret("link")).suffix(43))
    }

    /// A code that is not this one.
    static func other(than code: String, _ number: Int = 0) -> String {
        let wrong = ((Int(code) ?? 0) + 1 + number) % 1_000_000
        let digits = String(wrong)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    // MARK: Looking

    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    func texts(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
        try await session.query(sql, parameters).map { try $0.optionalText(0) ?? "-" }
    }

    /// Waits until a session waits for the lock of another.
    func waitsForLock() async throws {
        try await eventually("a session waits for a lock") {
            try await number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """) > 0
        }
    }

    func refusal(_ sql: String, _ parameters: [Parameter] = []) async throws -> String? {
        do throws(PostgresError) {
            _ = try await session.query(sql, parameters)
            return nil
        } catch { return error.sqlState }
    }
}
