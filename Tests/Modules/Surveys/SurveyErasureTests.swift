import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Erasure and retention of surveys", .database) struct SurveyErasureTests {
    /// Person 1 and 2 with an answer, an open invitation by the real clock, and a wrong code each.
    private func fill(_ ground: SurveyGround) async throws {
        try await ground.put(1, "coupon_title => 'A tea'")
        for person in [1, 2] as [Int64] {
            let done = try #require(
                try await ground.scan(ground.code("A-\(person)"), by: person).invitation)
            try await ground.scan(ground.code("B", key: ground.keys[2]), by: person)
            let answers = #"{"1": 2, "5": "Mail ada@example.org"}"#
            #expect(try await ground.complete(done, by: person, answers).reason == "ok")
            _ = try await ground.session.query(
                "SELECT surveys.invite($1, 1, 'for Ada', 'open')", [.int64(person)])
            _ = try await ground.session.query(
                "SELECT surveys.review($1, 'bad', 'Olga', 'Ada again')", [.int64(done)])
        }
    }

    @Test func `an erasure keeps answers without the person, and again nothing`() async throws {
        let ground = try await SurveyGround()
        try await fill(ground)
        let statement = "SELECT object || ' ' || action || ' ' || rows FROM surveys.erase(1)"
        #expect(
            try await ground.texts(statement) == [
                "surveys.completions anonymized 1", "surveys.invitations anonymized 2",
                "surveys.scan_days deleted 1", "notification.events anonymized 0",
            ])
        #expect(
            try await ground.texts(statement) == [
                "surveys.completions anonymized 0", "surveys.invitations anonymized 0",
                "surveys.scan_days deleted 0", "notification.events anonymized 0",
            ])
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', person_id, request_id, coupon_id IS NULL, answers)
                FROM surveys.completions ORDER BY invitation_id
                """) == [
                    #"t {"1": 2}"#,
                    #"2 r f {"1": 2, "5": "Mail ada@example.org"}"#,
                ])
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', person_id, request_id IS NULL, source, state)
                FROM surveys.invitations ORDER BY id
                """) == [
                    "t receipt completed", "t invited withdrawn", "2 f receipt completed",
                    "2 f for Ada open",
                ])
        #expect(
            try await ground.texts(
                "SELECT coalesce(note, 'none') FROM surveys.reviews ORDER BY invitation_id")
                == ["none", "Ada again"])
        // Nothing leads from the ledger and the coupons, which know the person, to the answers.
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', (c.completed_at AT TIME ZONE 'UTC')::time,
                    (i.purchased_at AT TIME ZONE 'UTC')::time,
                    (i.expires_at AT TIME ZONE 'UTC')::time, (i.ended_at AT TIME ZONE 'UTC')::time)
                FROM surveys.completions c JOIN surveys.invitations i ON i.id = c.invitation_id
                WHERE c.person_id IS NULL
                """) == ["00:00:00 00:00:00 00:00:00 00:00:00"])
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM surveys.completions c JOIN (
                    SELECT source, at FROM ledger.transactions
                    UNION ALL SELECT origin, valid_from FROM coupons.coupons
                ) AS k ON k.at = c.completed_at OR k.source ~ ('\\y' || c.invitation_id || '$')
                WHERE c.person_id IS NULL
                """) == 0)
        // Nobody scans the receipt again.
        #expect(try await ground.scan(ground.code("A-1"), by: 3).reason == "used")
        #expect(
            try await ground.text("SELECT surveys.personal_data(1)::text")
                == #"{"reviews": [], "scan_days": [], "completions": [], "invitations": []}"#)
    }

    @Test func `an export has every row of the person`() async throws {
        let ground = try await SurveyGround()
        try await fill(ground)
        let rows = try await ground.session.query(
            """
            SELECT jsonb_array_length(d -> 'invitations') AS invitations,
                d #>> '{invitations,1,source}' AS source, d #>> '{invitations,0,branch}' AS branch,
                d #>> '{completions,0,answers,1,answer}' AS answer,
                d #>> '{completions,0,answers,0,question}' AS question,
                d #>> '{reviews,0,verdict}' AS verdict, d #>> '{scan_days,0,wrong}' AS wrong,
                d::text LIKE '%again%' AS has_note
            FROM surveys.personal_data(1) AS d
            """)
        let row = try #require(rows.first)
        #expect(try row.int32("invitations") == 2)
        #expect(try row.text("source") == "for Ada")
        #expect(try row.text("branch") == "Branch 1")
        #expect(try row.text("answer") == "Mail ada@example.org")
        #expect(try row.text("question") == "The service")
        #expect(try row.text("verdict") == "bad")
        #expect(try row.text("wrong") == "1")
        #expect(try !row.bool("has_note"))
    }

    @Test func `invitations are withdrawn from a blocked person, and given back`() async throws {
        let ground = try await SurveyGround()
        try await fill(ground)
        _ = try await ground.session.query(
            "SELECT people.request_erasure(1, 'erase'), surveys.block(1)")
        #expect(
            try await ground.texts(
                "SELECT state::text FROM surveys.invitations WHERE person_id = 1 ORDER BY id")
                == ["completed", "withdrawn"])
        #expect(try await ground.number("SELECT count(*) FROM surveys.listing(1)") == 0)
        #expect(try await ground.number("SELECT count(*) FROM surveys.listing(2)") == 1)
        let open = try await ground.number(
            "SELECT id FROM surveys.invitations WHERE person_id = 1 AND state = 'withdrawn'")
        let call = "SELECT reason FROM surveys.complete(1, \(open), '{\"1\": 5}', 100, 'x')"
        #expect(try await ground.text(call) == "blocked")
        _ = try await ground.session.query("SELECT people.keep(1, 'Olga', 'a mistake')")
        #expect(try await ground.number("SELECT count(*) FROM surveys.listing(1)") == 1)
        #expect(try await ground.text(call) == "ok")
    }

    @Test func `what expired while the person was blocked is not given back`() async throws {
        let ground = try await SurveyGround()
        try await fill(ground)
        _ = try await ground.session.query("SELECT people.request_erasure(1, 'erase')")
        try await ground.session.script(
            """
            UPDATE surveys.invitations SET expires_at = now() - interval '1 minute',
                invited_at = now() - interval '9 days' WHERE state = 'withdrawn'
            """)
        _ = try await ground.session.query("SELECT people.keep(1, 'Olga', 'a mistake')")
        #expect(
            try await ground.texts(
                "SELECT state::text FROM surveys.invitations WHERE person_id = 1 ORDER BY id")
                == ["completed", "expired"])
    }

    @Test func `answers lose their person after thirteen months`() async throws {
        let ground = try await SurveyGround()
        try await fill(ground)
        for (rule, keep) in [
            ("answers", "1 year 1 mon"), ("invitations", "1 year 1 mon"), ("receipts", "30 days"),
        ] {
            #expect(
                try await ground.text(
                    "SELECT keep::text FROM people.retention_rules WHERE name = 'surveys.\(rule)'")
                    == keep)
        }
        let done = "to_timestamp(\(SurveyGround.noon + 60))"
        #expect(try await forget(ground, "people", done, true) == 0)
        #expect(try await forget(ground, "people", "\(done) + interval '1 second'", true) == 2)
        #expect(try await forget(ground, "people", "\(done) + interval '1 second'", false, 1) == 1)
        #expect(try await forget(ground, "people", "\(done) + interval '1 second'", false) == 1)
        #expect(try await forget(ground, "people", "\(done) + interval '1 second'", false) == 0)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.completions WHERE person_id IS NULL "
                    + "AND answers ->> '5' = 'Mail […]'") == 2)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.invitations WHERE person_id IS NULL") == 2)
        // Those that were never answered.
        let end = "(SELECT max(expires_at) FROM surveys.invitations)"
        #expect(try await forget(ground, "invited", end, true) == 0)
        #expect(try await forget(ground, "invited", "\(end) + interval '1 second'", false) == 2)
        #expect(
            try await ground.texts(
                "SELECT DISTINCT source || ' ' || state FROM surveys.invitations ORDER BY 1")
                == ["invited withdrawn", "receipt completed"])
    }

    @Test func `hashes of receipts are forgotten after their invitation`() async throws {
        let ground = try await SurveyGround()
        try await fill(ground)
        let end = "timestamptz '2026-06-30T04:00:00Z'"
        #expect(try await forget(ground, "receipts", end, false) == 0)
        #expect(try await forget(ground, "receipts", "\(end) + interval '1 second'", true) == 2)
        #expect(try await forget(ground, "receipts", "\(end) + interval '1 second'", false) == 2)
        let late = try seconds("2026-07-30T04:00:00Z")
        #expect(try await ground.scan(ground.code("A-1"), by: 3, at: late).reason == "too_old")
    }

    private func forget(
        _ ground: SurveyGround, _ what: String, _ before: String, _ onlyCount: Bool,
        _ rows: Int = 99
    ) async throws -> Int64 {
        try await ground.number("SELECT surveys.forget_\(what)(\(before), \(rows), \(onlyCount))")
    }
}
