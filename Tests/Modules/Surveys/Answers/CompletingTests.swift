import ErrandPostgres
import ErrandTestServices
import Testing

// "monetary reward and coupon offer … processed immediately"
@Suite("Completing surveys", .database) struct CompletingTests {
    private static let noon = SurveyGround.noon

    @Test func `answers, reward, coupon and badges in one transaction`() async throws {
        let ground = try await SurveyGround()
        try await ground.put(1, "coupon_title => 'A free tea', coupon_days => 9")
        let invitation = try #require(try await ground.scan(ground.code("A-1")).invitation)
        let answers = #"{"1": 4, "2": 2, "3": [1, 3], "4": false, "5": "More chairs"}"#
        let done = try await ground.complete(invitation, answers, seconds: 95)
        #expect(done.reason == "ok" && done.reward == 300 && done.currency == "CAD")
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', invitation_id, survey_id, version, establishment_id,
                    branch_id, person_id, extract(epoch FROM completed_at)::bigint, seconds_spent,
                    state, coupon_id, answers)
                FROM surveys.completions
                """) == [
                    "\(invitation) 1 1 1 1 1 \(Self.noon + 60) 95 counted \(done.coupon ?? 0) "
                        + #"{"1": 4, "2": 2, "3": [1, 3], "4": false, "5": "More chairs"}"#
                ])
        #expect(
            try await ground.texts(
                "SELECT state || ' ' || extract(epoch FROM ended_at)::bigint "
                    + "FROM surveys.invitations") == ["completed \(Self.noon + 60)"])
        // The person's share, the company's, and what the establishment owes.
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', a.kind, a.owner, p.amount,
                    regexp_replace(t.source, '[0-9a-f-]{36}$', '…'))
                FROM ledger.postings p JOIN ledger.accounts a ON a.id = p.account_id
                JOIN ledger.transactions t ON t.id = p.transaction_id ORDER BY 1
                """) == [
                    "commission 0 200 survey:1:…",
                    "establishment 1 -500 survey:1:…",
                    "person 1 300 survey:1:…",
                ])
        // Until the end of the ninth day from 15 June.
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', id, person_id, establishment_id, title,
                    origin = (SELECT source FROM ledger.transactions),
                    people.written(expires_at)) FROM coupons.coupons
                """) == [
                    "\(done.coupon ?? 0) 1 1 A free tea t 2026-06-25T04:00:00Z"
                ])
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', kind, establishment_id, deeds) FROM badges.counts "
                    + "ORDER BY kind") == ["regular 1 1", "surveys_done 0 1"])
    }

    @Test func `the same request is answered the same, whatever became of the person`()
        async throws
    {
        let ground = try await SurveyGround()
        try await ground.put(1, "coupon_title => 'A free tea'")
        let invitation = try await ground.invitation()
        let done = try await ground.complete(invitation, request: "r")
        #expect(done.reason == "ok")
        let late = Self.noon + 90 * SurveyGround.day
        #expect(try await ground.complete(invitation, request: "r", at: late) == done)
        #expect(try await ground.complete(invitation, request: "s").reason == "done")
        #expect(
            try await ground.failure(
                "SELECT surveys.complete(1, \(invitation), '{\"1\": 4}', 100, 'r')") == "23505")
        // Null is no answer, also when it is repeated.
        #expect(
            try await ground.complete(invitation, #"{"1": 5, "2": null}"#, request: "r") == done)
        try await ground.put(title: "Another", "coupon_title => 'A cake'")
        try await ground.force("UPDATE people.people SET blocked_at = now() WHERE id = 1")
        #expect(try await ground.complete(invitation, request: "r") == done)
        #expect(try await ground.number("SELECT count(*) FROM ledger.transactions") == 1)
        #expect(try await ground.number("SELECT count(*) FROM coupons.coupons") == 1)
        #expect(try await ground.number("SELECT count(*) FROM surveys.completions") == 1)
        #expect(
            try await ground.number(
                "SELECT deeds FROM badges.counts WHERE kind = 'surveys_done'") == 1)
    }

    @Test func `late is decided by the clock, whatever the sweep did`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let end = try seconds("2026-06-30T04:00:00Z")
        let first = try await ground.invitation()
        #expect(try await ground.complete(first, at: end).reason == "expired")
        #expect(try await ground.complete(first, at: end - 1).reason == "ok")
        // The sweep, by the real clock, is long past the end.
        let second = try await ground.invitation()
        #expect(try await ground.number("SELECT surveys.expire()") == 2)
        #expect(try await ground.complete(second, at: end + 1).reason == "expired")
        #expect(
            try await ground.texts("SELECT state::text FROM surveys.invitations ORDER BY id")
                == ["completed", "expired"])
    }

    @Test func `refusals credit nothing`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        var mine: [Int64] = [0]
        for person in 1...5 as ClosedRange<Int64> {
            mine.append(try await ground.invitation(of: person))
        }
        #expect(try await ground.complete(mine[1], by: 2).reason == "unknown")
        #expect(try await ground.complete(999, by: 2).reason == "unknown")
        #expect(try await ground.complete(mine[1], by: 99).reason == "unknown")
        try await ground.force(
            """
            UPDATE people.people SET birth_date = '2010-06-16' WHERE id = 1;
            UPDATE people.people SET birth_date = NULL WHERE id = 2;
            UPDATE people.people SET blocked_at = now() WHERE id = 3
            """)
        _ = try await ground.session.query("SELECT people.block(4)")
        for (person, reason) in [
            (1, "under_age"), (2, "no_birth_date"), (3, "blocked"), (4, "blocked"),
        ] {
            #expect(try await ground.complete(mine[person], by: Int64(person)).reason == reason)
        }
        #expect(try await ground.number("SELECT count(*) FROM ledger.transactions") == 0)
        #expect(try await ground.number("SELECT count(*) FROM badges.counts") == 0)
        for request in ["NULL", "''", "repeat('r', 101)"] {
            #expect(
                try await ground.failure(
                    "SELECT surveys.complete(5, \(mine[5]), '{\"1\": 5}', 100, \(request))")
                    == "22023")
        }
        // The day of the 16th birthday.
        let birthday = try seconds("2026-06-16T00:00:00-04:00")
        #expect(try await ground.complete(mine[1], at: birthday - 1).reason == "under_age")
        #expect(try await ground.complete(mine[1], at: birthday).reason == "ok")
    }

    @Test func `closed surveys are completed by those who were invited`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let invitation = try await ground.invitation()
        _ = try await ground.session.query("SELECT surveys.close_survey(1)")
        #expect(try await ground.complete(invitation).reason == "ok")
    }

    @Test func `invitations of one survey are rewarded each`() async throws {
        let ground = try await SurveyGround()
        try await ground.put(1, "coupon_title => 'A free tea'")
        for _ in 1...3 {
            #expect(try await ground.complete(ground.invitation()).reason == "ok")
        }
        #expect(try await ground.number("SELECT amount FROM ledger.reward_balance(1)") == 900)
        #expect(try await ground.number("SELECT count(*) FROM coupons.coupons") == 3)
        #expect(
            try await ground.number("SELECT level FROM badges.badges WHERE kind = 'regular'") == 3)
    }
}
