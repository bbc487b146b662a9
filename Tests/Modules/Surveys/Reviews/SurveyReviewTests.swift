import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Reviews of answers", .database) struct SurveyReviewTests {
    /// Completed invitations of person 1, in order.
    private func answered(_ ground: SurveyGround, _ count: Int) async throws -> [Int64] {
        var all: [Int64] = []
        try await ground.put()
        for number in 0..<Int64(count) {
            let time = SurveyGround.noon + number * 60
            all.append(try await ground.invitation(at: time))
            #expect(
                try await ground.complete(all[Int(number)], at: time + 30).reason == "ok")
        }
        return all
    }

    private func review(
        _ ground: SurveyGround, _ invitation: Int64, _ verdict: String, _ actor: String = "Olga"
    ) async throws -> String? {
        try await ground.text(
            "SELECT surveys.review(\(invitation), '\(verdict)', '\(actor)', 'why')")
    }

    @Test func `a verdict counts for hiring, and keeps bad answers from reports`() async throws {
        let ground = try await SurveyGround()
        let all = try await answered(ground, 2)
        #expect(try await review(ground, all[0], "good") == "recorded")
        #expect(try await review(ground, all[0], "good") == "same")
        #expect(try await review(ground, all[1], "bad") == "recorded")
        #expect(
            try await ground.texts(
                """
                SELECT c.invitation_id || ' ' || m.is_good
                FROM missions.reviews m JOIN surveys.completions c ON c.origin = m.source
                ORDER BY 1
                """) == ["\(all[0]) true", "\(all[1]) false"])
        #expect(
            try await ground.texts(
                "SELECT state FROM surveys.completions ORDER BY invitation_id")
                == ["counted", "rejected"])
        #expect(
            try await ground.number(
                "SELECT deeds FROM badges.counts WHERE kind = 'surveys_done'") == 1)
        #expect(
            try await ground.texts(
                "SELECT person_id || ' ' || deeds FROM surveys.deeds('survey_done', 0, 9)")
                == ["1 1"])
        #expect(
            try await ground.number("SELECT count(*) FROM surveys.deeds('coupon_used', 0, 9)") == 0)
        #expect(try await review(ground, all[1], "good") == "replaced")
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.completions WHERE state = 'counted'") == 2)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM missions.reviews WHERE is_good") == 2)
        #expect(
            try await ground.number(
                "SELECT deeds FROM badges.counts WHERE kind = 'surveys_done'") == 2)
        // A reward stays until an operator reverses it.
        #expect(try await ground.number("SELECT amount FROM ledger.reward_balance(1)") == 600)
    }

    @Test(
        "two bad in a row with proof of fraud raise one flag",
        arguments: [
            (["good", "bad", "bad"], 0), (["fraud"], 0), (["fraud", "good", "fraud"], 0),
            (["bad", "good", "fraud"], 0), (["bad", "fraud"], 1), (["fraud", "bad"], 1),
            (["fraud", "fraud", "fraud"], 1), (["good", "fraud", "bad", "good"], 1),
            // Without a verdict in between, it is in a row.
            (["fraud", "", "bad"], 1),
        ] as [([String], Int64)], [false, true])
    func fraud(of: ([String], Int64), isBackwards: Bool) async throws {
        let (verdicts, flags) = of
        let ground = try await SurveyGround()
        let all = try await answered(ground, verdicts.count)
        let order = Array(zip(all, verdicts))
        for (invitation, verdict) in isBackwards ? order.reversed() : order where !verdict.isEmpty {
            _ = try await review(ground, invitation, verdict)
        }
        #expect(try await ground.number("SELECT count(*) FROM missions.flags") == flags)
    }

    @Test func `a corrected verdict raises the flag that the first one did not`() async throws {
        let ground = try await SurveyGround()
        let all = try await answered(ground, 2)
        for invitation in all { _ = try await review(ground, invitation, "bad") }
        #expect(try await ground.number("SELECT count(*) FROM missions.flags") == 0)
        #expect(try await review(ground, all[0], "fraud") == "replaced")
        #expect(try await ground.number("SELECT count(*) FROM missions.flags") == 1)
    }

    @Test func `answers of blocked and erased people can be reviewed`() async throws {
        let ground = try await SurveyGround()
        let all = try await answered(ground, 3)
        try await ground.force("UPDATE people.people SET blocked_at = now() WHERE id = 1")
        #expect(try await review(ground, all[0], "fraud") == "recorded")
        _ = try await ground.session.query("SELECT surveys.erase(1)")
        #expect(try await review(ground, all[1], "fraud") == "recorded")
        #expect(try await review(ground, all[1], "good") == "replaced")
        #expect(try await ground.number("SELECT count(*) FROM missions.reviews") == 0)
        #expect(try await ground.number("SELECT count(*) FROM missions.flags") == 0)
    }

    @Test func `what is no review is an error`() async throws {
        let ground = try await SurveyGround()
        let all = try await answered(ground, 1)
        let open = try await ground.invitation()
        for (call, state) in [
            ("99, 'good', 'Olga'", "P0002"), ("NULL, 'good', 'Olga'", "P0002"),
            ("\(open), 'good', 'Olga'", "P0002"), ("\(all[0]), 'fine', 'Olga'", "22023"),
            ("\(all[0]), NULL, 'Olga'", "22023"), ("\(all[0]), 'good', NULL", "22023"),
            ("\(all[0]), 'good', ''", "22023"), ("\(all[0]), 'bad', 'Olga'", "22023"),
            ("\(all[0]), 'bad', 'Olga', ''", "22023"),
            ("\(all[0]), 'good', 'Olga', repeat('x', 501)", "22023"),
            ("\(all[0]), 'good', 'person:1'", "42501"),
        ] {
            #expect(try await ground.failure("SELECT surveys.review(\(call))") == state, "\(call)")
        }
        #expect(
            try await ground.text("SELECT surveys.review(\(all[0]), 'good', 'Olga')") == "recorded")
    }
}
