import ErrandCrypto
import Errand
import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// What a person is answered who scans a receipt, or is invited.
struct Invited: Sendable, Equatable {
    var reason: String
    var invitation: Int64?
    var survey: Int64?
    var version: Int32?
    var expiresAt: String?

    init(_ row: Row) throws {
        reason = try row.text("reason")
        invitation = try row.optionalInt64("invitation_id")
        survey = try row.optionalInt64("survey_id")
        version = try row.optionalInt32("version")
        expiresAt = try row.optionalText("expires")
    }
}

/// What a person is answered who completes a survey.
struct Completed: Sendable, Equatable {
    var reason: String
    var reward: Int64?
    var currency: String?
    var coupon: Int64?

    init(_ row: Row) throws {
        reason = try row.text("reason")
        reward = try row.optionalInt64("reward")
        currency = try row.optionalText("currency")
        coupon = try row.optionalInt64("coupon_id")
    }
}

/// People in Toronto, branches 1 and 2 of establishment 1 and branch 3 of establishment 2, and the
/// keys of both.
struct SurveyGround: Sendable {
    let pool: Pool
    let session: Session
    /// The open keys, by establishment.
    let keys: [Int64: SecretBytes]
    /// Noon in Toronto on 15 June 2026, in seconds since 1970.
    static let noon: Int64 = 1_781_539_200
    static let day: Int64 = 86_400

    init(people: Int = 8, zone: String = "America/Toronto") async throws {
        let database = try TestDatabase.here()
        pool = database.pool(12)
        session = database.session()
        keys = [1: try .random(32), 2: try .random(32)]
        _ = try await session.query(
            """
            INSERT INTO people.people (id, birth_date, age_verified_at, time_zone, quiet_from,
                quiet_until)
            SELECT n, '1990-05-06', now(), $2, NULL, NULL FROM generate_series(1, $1) n
            """, [.int64(Int64(people)), .text(zone)])
        try await session.script(
            """
            INSERT INTO establishments.establishments VALUES (1, 'Café Un'), (2, 'Bar Deux');
            INSERT INTO establishments.branches
            SELECT n, (n + 1) / 2, 'Branch ' || n, 'SRID=4326;POINT(-73.5 45.5)'::geography
            FROM generate_series(1, 3) AS n;
            UPDATE missions.rules SET is_automatic = true
            """)
        for (establishment, key) in keys { try await open(key, of: establishment) }
    }

    /// Makes a key the current one of an establishment.
    func open(_ key: SecretBytes, of establishment: Int64, atOnce: Bool = false) async throws {
        let padded = key.reveal() + [UInt8](repeating: 0, count: 32)
        _ = try await session.query(
            """
            SELECT surveys.put_key($1, 1 + coalesce((SELECT max(k.version)
                FROM surveys.receipt_keys k WHERE k.establishment_id = $1), 0), '\\x00', $2, $3, $4)
            """,
            [
                .int64(establishment), .bytes(padded.map { $0 ^ 0x36 }),
                .bytes(padded.map { $0 ^ 0x5C }), .bool(atOnce),
            ])
    }

    // MARK: Surveys and receipts

    static let questions = """
        [{"kind": "rating", "label": "The service", "is_required": true},
         {"kind": "choice", "label": "The best", "options": ["Tea", "Coffee", "Cake"]},
         {"kind": "many", "label": "You had", "options": ["Tea", "Coffee", "Cake"]},
         {"kind": "yes_no", "label": "Again?"},
         {"kind": "text", "label": "What else?"}]
        """

    /// Puts a survey; `more` are further arguments by name.
    @discardableResult
    func put(
        _ id: Int64 = 1, of establishment: Int64 = 1, title: String = "Your visit",
        questions: String = SurveyGround.questions, _ more: String = ""
    ) async throws -> Int32 {
        try await session.query(
            """
            SELECT surveys.put_survey($1, $2, $3, 2, paid => 500, cut => 300,
                questions => $4::text::jsonb \(more.isEmpty ? "" : ", " + more))
            """, [.int64(id), .int64(establishment), .text(title), .text(questions)]
        ).int32(0, 0)
    }

    /// The code of a receipt, with a MAC that Swift has computed.
    func code(
        _ number: String, of establishment: Int64 = 1, branch: Int64 = 1,
        at time: Int64 = SurveyGround.noon, key: SecretBytes? = nil
    ) throws -> String {
        let message = "ER1.\(establishment).\(branch).\(number).\(time)"
        let key = try #require(key ?? keys[establishment])
        let mac = HMACSHA256.code(of: Array(message.utf8), key: key).prefix(10)
        return message + "." + mac.map { String(format: "%02X", $0) }.joined()
    }

    /// Scans at a time in seconds since 1970.
    @discardableResult
    func scan(
        _ code: String?, by person: Int64 = 1, request: String = UUID().uuidString,
        at time: Int64 = SurveyGround.noon, on session: Session? = nil
    ) async throws -> Invited {
        let rows = try await (session ?? self.session).query(
            """
            SELECT a.*, people.written(a.expires_at) AS expires
            FROM surveys.scan_at($1, $2, $3, to_timestamp($4)) AS a
            """, [.int64(person), .optional(code), .text(request), .double(Double(time))])
        return try Invited(try #require(rows.first))
    }

    @discardableResult
    func invite(
        _ person: Int64 = 1, to survey: Int64 = 1, source: String = "welcome",
        request: String = UUID().uuidString, at time: Int64 = SurveyGround.noon
    ) async throws -> Invited {
        let rows = try await session.query(
            """
            SELECT a.*, people.written(a.expires_at) AS expires
            FROM surveys.invite_at($1, $2, $3, $4, to_timestamp($5)) AS a
            """,
            [
                .int64(person), .int64(survey), .text(source), .text(request),
                .double(Double(time)),
            ])
        return try Invited(try #require(rows.first))
    }

    /// A new invitation of a person.
    func invitation(of person: Int64 = 1, to survey: Int64 = 1, at time: Int64 = SurveyGround.noon)
        async throws -> Int64
    {
        try #require(try await invite(person, to: survey, at: time).invitation)
    }

    @discardableResult
    func complete(
        _ invitation: Int64, by person: Int64 = 1, _ answers: String? = #"{"1": 5}"#,
        seconds: Int32? = 100, request: String = "r", at time: Int64 = SurveyGround.noon + 60,
        on session: Session? = nil
    ) async throws -> Completed {
        let rows = try await (session ?? self.session).query(
            """
            SELECT * FROM surveys.complete_at(
                $1, $2, $3::text::jsonb, $4, $5, to_timestamp($6))
            """,
            [
                .int64(person), .int64(invitation), .optional(answers), .optional(seconds),
                .text(request), .double(Double(time)),
            ])
        return try Completed(try #require(rows.first))
    }

    // MARK: Reading

    func number(_ sql: String) async throws -> Int64 { try await session.query(sql).int64(0, 0) }

    func text(_ sql: String) async throws -> String? {
        try await session.query(sql).first?.optionalText(0)
    }

    func texts(_ sql: String) async throws -> [String] {
        try await session.query(sql).map { try $0.text(0) }
    }

    /// The SQLSTATE of the error that a statement raises.
    func failure(_ sql: String) async throws -> String? {
        do throws(PostgresError) {
            _ = try await session.query(sql)
            return nil
        } catch { return error.sqlState }
    }

    /// Writes what no function would, such as times that have passed.
    func force(_ sql: String) async throws {
        try await session.script(
            "BEGIN; SET LOCAL session_replication_role = replica; \(sql); COMMIT")
    }
}

/// A time as RFC 3339, in seconds since 1970.
func seconds(_ text: String) throws -> Int64 {
    Int64(try #require(ISO8601DateFormatter().date(from: text)).timeIntervalSince1970)
}
