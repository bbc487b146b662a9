import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Webhooks of completions", .database) struct CompletionWebhookTests {
    private func subscribe(_ ground: SurveyGround) async throws {
        try await ground.session.script(
            """
            INSERT INTO notification.endpoints (owner, url, events, secret) VALUES
                ('establishment:1', 'https://one.example/', '{survey.completed}', ''),
                ('establishment:2', 'https://two.example/', '{*}', '')
            """)
    }

    @Test func `only who shares their answers is in one`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        try await subscribe(ground)
        for person in [1, 2] as [Int64] {
            _ = try await ground.session.query(
                "SELECT people.record_consent($1, 'sharing', '2026-01')", [.int64(person)])
        }
        _ = try await ground.session.query("SELECT people.withdraw_consent(2, 'sharing')")
        for person in 1...3 as ClosedRange<Int64> {
            let done = try await ground.complete(ground.invitation(of: person), by: person)
            #expect(done.reason == "ok" && done.reward == 300)
        }
        #expect(try await ground.number("SELECT count(*) FROM notification.events") == 1)
        #expect(
            try await ground.text("SELECT data ->> 'respondent' FROM notification.events")
                == ground.text("SELECT surveys.respondent(1, 1)"))
    }

    @Test func `of an erased person it leads from the ledger to no answers`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        try await subscribe(ground)
        _ = try await ground.session.query("SELECT people.record_consent(1, 'sharing', '2026-01')")
        #expect(try await ground.complete(ground.invitation()).reason == "ok")
        _ = try await ground.session.query("SELECT count(*) FROM surveys.erase(1)")
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', data -> 'answers', data -> 'respondent',
                    data -> 'answers_left_out', dedupe_key = 'erased:' || id)
                FROM notification.events
                """) == "null true t")
    }

    @Test func `it has the answers, and nothing of the person`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        try await subscribe(ground)
        _ = try await ground.session.query("SELECT people.record_consent(1, 'sharing', '2026-01')")
        let invitation = try #require(try await ground.scan(ground.code("A-1")).invitation)
        let answers = #"{"1": 4, "3": [2], "4": true, "5": "Call 514 555 0100"}"#
        let time = SurveyGround.noon + 1_234
        #expect(try await ground.complete(invitation, answers, at: time).reason == "ok")
        #expect(try await ground.complete(invitation, answers, at: time).reason == "ok")
        #expect(
            try await ground.texts("SELECT (data - 'respondent')::text FROM notification.events")
                == [
                    #"{"answers": {"1": 4, "3": [2], "4": true, "5": "Call […]"}, "version": 1, "#
                        + #""branch_id": 1, "survey_id": 1, "completed_hour": "#
                        + #""2026-06-15T16:00:00Z", "establishment_id": 1}"#
                ])
        // The time that the webhook is sent with says no more.
        #expect(
            try await ground.text("SELECT occurred_at::text FROM notification.events")
                == "2026-06-15 16:00:00+00")
    }

    @Test func `a respondent is one for an establishment, and another for each other`()
        async throws
    {
        let ground = try await SurveyGround()
        let all = try await ground.texts(
            "SELECT surveys.respondent(e, p) FROM generate_series(1, 30) e, "
                + "generate_series(1, 30) p"
        )
        #expect(Set(all).count == 900)
        #expect(all.allSatisfy { $0.count == 32 })
        // HMAC as others compute it.
        #expect(
            try await ground.text(
                """
                SELECT encode(substr(sha256(\(Self.padded("5c")) || sha256(\(Self.padded("36"))
                    || int8send(7::bigint) || int8send(9::bigint))), 1, 16), 'hex')
                FROM surveys.respondent_keys
                """) == ground.text("SELECT surveys.respondent(7, 9)"))
    }

    /// The key block of HMAC as SQL, byte by byte.
    private static func padded(_ pad: String) -> String {
        """
        (SELECT decode(string_agg(lpad(to_hex(CASE WHEN n < 32 THEN get_byte(key, n) ELSE 0 END
            # x'\(pad)'::int), 2, '0'), '' ORDER BY n), 'hex') FROM generate_series(0, 63) AS n)
        """
    }

    @Test func `texts that are too long for a webhook are left out`() async throws {
        let ground = try await SurveyGround()
        let texts = (1...30).map { #"{"kind": "text", "label": "Text \#($0)"}"# }
        try await ground.put(
            questions: "[" + (texts + [#"{"kind": "rating", "label": "x"}"#]).joined(separator: ",")
                + "]")
        try await subscribe(ground)
        _ = try await ground.session.query("SELECT people.record_consent(1, 'sharing', '2026-01')")
        let long = String(repeating: "é", count: 1_000)
        let answers =
            "{" + (1...30).map { "\"\($0)\": \"\(long)\"" }.joined(separator: ",") + #", "31": 2}"#
        #expect(try await ground.complete(ground.invitation(), answers).reason == "ok")
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', data -> 'answers', data -> 'texts_left_out') "
                    + "FROM notification.events") == [#"{"31": 2} true"#])
        #expect(
            try await ground.number(
                "SELECT length(answers ->> '7') FROM surveys.completions") == 1_000)
    }
}
