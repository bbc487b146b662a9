import ErrandCrypto
import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

@Suite("Receipts", .database) struct ReceiptTests {
    private static let noon = SurveyGround.noon
    private static let day = SurveyGround.day

    @Test func `the documented test vector`() async throws {
        let ground = try await SurveyGround()
        let bytes = (0..<32).map { UInt8($0) }
        try await ground.session.script(
            """
            INSERT INTO establishments.establishments VALUES (7, 'Rachel');
            INSERT INTO establishments.branches VALUES (3000, 7, 'x', 'POINT(0 0)');
            UPDATE establishments.branches SET id = 4000 WHERE id = 3;
            UPDATE establishments.branches SET id = 3 WHERE id = 3000
            """)
        try await ground.open(SecretBytes(bytes), of: 7)
        try await ground.put(of: 7)
        let time: Int64 = 1_764_115_200
        // Computed with hmac and hashlib of Python.
        let code = "ER1.7.3.A-1042.1764115200.081DBD337F398D2CF330"
        #expect(try await ground.scan(code, at: time).reason == "ok")
    }

    @Test func `a receipt gives one invitation, to the end of a day in the person's zone`()
        async throws
    {
        let ground = try await SurveyGround()
        try await ground.put()
        let code = try ground.code("A-1")
        let given = try await ground.scan(code, request: "one")
        #expect(given.reason == "ok" && given.survey == 1 && given.version == 1)
        // Day 15 and 14 more, until midnight in Toronto.
        #expect(given.expiresAt == "2026-06-30T04:00:00Z")
        #expect(try await ground.scan(code, request: "one") == given)
        var again = given
        again.reason = "used"
        #expect(try await ground.scan(code, request: "two") == again)
        let other = try await ground.scan(code, by: 2, request: "one")
        #expect(other.reason == "used" && other.invitation == nil)
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', id, person_id, branch_id, source, state) "
                    + "FROM surveys.invitations") == ["\(given.invitation ?? 0) 1 1 receipt open"])
    }

    @Test func `spaces and the case of letters do not matter`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let code = try ground.code("A-1")
        #expect(try await ground.scan(" \(code.lowercased())\r\n").reason == "ok")
        #expect(try await ground.scan(code, by: 2).reason == "used")
    }

    @Test(
        "what is no code of a receipt is malformed",
        arguments: [
            nil, "", " ", "hello", "EC10123456789ABCDEF0123456789ABCDEF0123", "https://x.example/",
            "ER1", "ER1.1.1.A.1781539200", "ER1.1.1.A.1781539200.", "ER1.1.1.A.1781539200.0011",
            "ER2.1.1.A.1781539200.00112233445566778899",
            "ER1.01.1.A.1781539200.00112233445566778899",
            "ER1.0.1.A.1781539200.00112233445566778899",
            "ER1.-1.1.A.1781539200.00112233445566778899",
            "ER1.1.1..1781539200.00112233445566778899",
            "ER1.1.1.A_1.1781539200.00112233445566778899",
            "ER1.1.1.Ä.1781539200.00112233445566778899",
            "ER1.1.1.A.01781539200.00112233445566778899",
            "ER1.1.1.A.178153920000.00112233445566778899",
            "ER1.1.1.A.1781539200.0011223344556677889G",
            "ER1.1.1.A.1781539200.001122334455667788990",
            "ER1.9999999999999999999.1.A.1781539200.00112233445566778899",
            "ER1.1.1.\(String(repeating: "A", count: 41)).1781539200.00112233445566778899",
            "ER1.1.1.A.1781539200.00112233445566778899.X", String(repeating: "ER1.", count: 9_999),
            "ER1.1.1.A\u{0}".replacing("\u{0}", with: "\u{1}"),
            "'; DROP TABLE surveys.receipts; --",
        ])
    func malformed(code: String?) async throws {
        let ground = try await SurveyGround(people: 1)
        try await ground.put()
        #expect(try await ground.scan(code).reason == "malformed")
        #expect(try await ground.number("SELECT count(*) FROM surveys.scan_days") == 0)
    }

    @Test func `forged, foreign and unknown codes are unknown, and counted`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let code = try ground.code("A-1")
        let last = code.hasSuffix("0") ? "1" : "0"
        for wrong in [
            String(code.dropLast()) + last,
            code.replacing("A-1", with: "A-2"),
            code.replacing("ER1.1.1.", with: "ER1.1.2."),
            code.replacing("\(Self.noon)", with: "\(Self.noon - 1)"),
            // The key of another establishment, a branch of another, and one that is not known.
            try ground.code("A-1", key: ground.keys[2]),
            try ground.code("A-1", branch: 3), try ground.code("A-1", branch: 99),
            try ground.code("A-1", of: 99, key: ground.keys[1]),
        ] { #expect(try await ground.scan(wrong).reason == "unknown", "\(wrong)") }
        #expect(try await ground.number("SELECT wrong FROM surveys.scan_days") == 8)
        #expect(try await ground.number("SELECT count(*) FROM surveys.invitations") == 0)
        #expect(try await ground.number("SELECT count(*) FROM surveys.receipts") == 0)
        #expect(try await ground.scan(code).reason == "ok")
    }

    @Test func `a till's clock may be ten minutes ahead`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let early = try ground.code("A-1", at: Self.noon + 601)
        #expect(try await ground.scan(early).reason == "from_future")
        #expect(try await ground.scan(early, at: Self.noon + 1).reason == "ok")
        #expect(
            try await ground.scan(ground.code("A-2", at: Self.noon + 600)).reason == "ok")
        #expect(
            try await ground.scan(ground.code("A-3", at: 99_999_999_999)).reason == "from_future")
    }

    @Test(
        "a receipt is too old from the end of its last day on",
        arguments: [
            ("America/Toronto", "2026-06-15T12:00:00-04:00", "2026-06-30T00:00:00-04:00"),
            ("America/Toronto", "2026-06-15T00:00:00-04:00", "2026-06-30T00:00:00-04:00"),
            ("America/Toronto", "2026-06-15T23:59:59-04:00", "2026-06-30T00:00:00-04:00"),
            // The clocks change in between: the day still ends at midnight.
            ("America/Toronto", "2026-10-25T12:00:00-04:00", "2026-11-09T00:00:00-05:00"),
            ("America/Toronto", "2026-03-01T12:00:00-05:00", "2026-03-16T00:00:00-04:00"),
            // The last day ends at the change itself; that midnight does not exist in Beirut.
            ("Asia/Beirut", "2026-03-14T12:00:00+02:00", "2026-03-29T01:00:00+03:00"),
            ("Pacific/Kiritimati", "2026-06-15T00:30:00+14:00", "2026-06-30T00:00:00+14:00"),
            ("Asia/Kathmandu", "2026-06-15T23:50:00+05:45", "2026-06-30T00:00:00+05:45"),
        ])
    func tooOld(zone: String, bought: String, end: String) async throws {
        let ground = try await SurveyGround(people: 2, zone: zone)
        try await ground.put()
        let end = try seconds(end)
        let code = try ground.code("A-1", at: seconds(bought))
        #expect(try await ground.scan(code, at: end).reason == "too_old")
        let given = try await ground.scan(code, by: 2, at: end - 1)
        #expect(given.reason == "ok")
        #expect(try seconds(given.expiresAt ?? "") == end)
        // Used or not, it is too old afterwards: its hash may be forgotten.
        #expect(try await ground.scan(code, at: end).reason == "too_old")
    }

    @Test func `longer surveys do not revive receipts whose hashes may be forgotten`() async throws
    {
        let ground = try await SurveyGround()
        try await ground.put(1, "expires_days => 5")
        let code = try ground.code("A-1")
        #expect(try await ground.scan(code).reason == "ok")
        _ = try await ground.session.query(
            "SELECT surveys.forget_receipts(to_timestamp($1), 1000, false)",
            [.double(Double(Self.noon + 6 * Self.day))])
        #expect(try await ground.number("SELECT count(*) FROM surveys.receipts") == 0)
        try await ground.put(1, "expires_days => 90")
        try await ground.force(
            "UPDATE surveys.surveys SET long_from = to_timestamp(\(Self.noon + 9 * Self.day))")
        let late = Self.noon + 36 * Self.day
        #expect(try await ground.scan(code, by: 2, at: late).reason == "too_old")
        let old = try ground.code("A-2", at: Self.noon + 8 * Self.day)
        #expect(try await ground.scan(old, at: late).reason == "ok")
        #expect(try await ground.scan(old, at: late + 20 * Self.day).reason == "too_old")
        let new = try ground.code("A-3", at: Self.noon + 10 * Self.day)
        #expect(try await ground.scan(new, at: late + 60 * Self.day).reason == "ok")
    }

    @Test func `closed surveys and establishments invite nobody`() async throws {
        let ground = try await SurveyGround()
        #expect(try await ground.scan(ground.code("A-1")).reason == "closed")
        try await ground.put(3, "for_receipts => false")
        #expect(try await ground.scan(ground.code("A-1")).reason == "closed")
        try await ground.put()
        _ = try await ground.session.query("SELECT surveys.close_survey(1)")
        #expect(try await ground.scan(ground.code("A-1")).reason == "closed")
        try await ground.put()
        #expect(try await ground.scan(ground.code("A-1")).reason == "ok")
        _ = try await ground.session.query("SELECT establishments.close_establishment(1)")
        #expect(try await ground.scan(ground.code("A-2")).reason == "closed")
        // A branch that has closed since the purchase is no obstacle.
        _ = try await ground.session.query(
            "SELECT establishments.put_establishment(1, 'Café Un'), establishments.close_branch(2)")
        #expect(try await ground.scan(ground.code("A-3", branch: 2)).reason == "ok")
    }

    @Test func `who may not be invited learns why`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let code = try ground.code("A-1")
        try await ground.force(
            """
            UPDATE people.people SET birth_date = '2010-06-16' WHERE id = 1;
            UPDATE people.people SET birth_date = '2010-06-15' WHERE id = 2;
            UPDATE people.people SET birth_date = NULL WHERE id = 3;
            UPDATE people.people SET blocked_at = now() WHERE id = 4
            """)
        for (person, reason) in [(1, "under_age"), (3, "no_birth_date"), (4, "blocked"), (2, "ok")]
        {
            #expect(try await ground.scan(code, by: Int64(person)).reason == reason)
        }
        #expect(
            try await ground.failure("SELECT surveys.scan(99, '\(code)', 'r')") == "23503")
        for request in ["NULL", "''", "repeat('r', 101)"] {
            #expect(
                try await ground.failure("SELECT surveys.scan(1, '\(code)', \(request))") == "22023"
            )
        }
    }

    @Test func `a request with another code is an error`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let given = try await ground.scan(ground.code("A-1"), request: "r")
        for code in [
            try ground.code("A-2"), try ground.code("A-1", branch: 2), "hello",
            try ground.code("A-1", at: Self.noon - 1),
        ] {
            await #expect(throws: PostgresError.self) {
                try await ground.scan(code, request: "r")
            }
        }
        #expect(try await ground.scan(ground.code("A-1"), request: "r") == given)
    }
}
