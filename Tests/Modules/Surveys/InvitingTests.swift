import ErrandPostgres
import ErrandTestServices
import Testing

// "Nothing gives a survey to an account, lists it, expires it, reminds of it".
@Suite("Inviting people, and what they can answer", .database) struct InvitingTests {
    private static let noon = SurveyGround.noon

    @Test func `the days begin with the invitation, and a request is one invitation`() async throws
    {
        let ground = try await SurveyGround()
        try await ground.put()
        let given = try await ground.invite(request: "r")
        #expect(given.reason == "ok" && given.expiresAt == "2026-06-30T04:00:00Z")
        #expect(try await ground.invite(request: "r") == given)
        #expect(try await ground.invite(request: "s").invitation != given.invitation)
        #expect(try await ground.invite(2, request: "r").invitation != given.invitation)
        for other in [
            "surveys.invite(1, 1, 'other', 'r')", "surveys.invite(1, 2, 'welcome', 'r')",
            "surveys.scan(1, '\(try ground.code("A"))', 'r')",
        ] {
            try await ground.put(2, of: 2)
            #expect(try await ground.failure("SELECT \(other)") == "23505")
        }
    }

    @Test func `a person is notified of an invitation without a receipt`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        try await ground.scan(ground.code("A-1"))
        #expect(try await ground.number("SELECT count(*) FROM notification.notices") == 0)
        try await ground.invite(request: "r")
        try await ground.invite(request: "r")
        #expect(
            try await ground.texts(
                "SELECT kind || ' ' || (data ->> 'last_day') FROM notification.notices")
                == ["survey.invited 2026-06-29"])
    }

    @Test func `refusals`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        try await ground.put(2, of: 2)
        _ = try await ground.session.query("SELECT surveys.close_survey(2)")
        #expect(try await ground.invite(to: 2).reason == "closed")
        try await ground.force(
            """
            UPDATE people.people SET birth_date = '2010-06-16' WHERE id = 1;
            UPDATE people.people SET birth_date = NULL WHERE id = 2;
            UPDATE people.people SET blocked_at = now() WHERE id = 3
            """)
        #expect(try await ground.invite(1).reason == "under_age")
        #expect(try await ground.invite(2).reason == "no_birth_date")
        #expect(try await ground.invite(3).reason == "blocked")
        #expect(try await ground.number("SELECT count(*) FROM surveys.invitations") == 0)
        for (call, state) in [
            ("99, 1, 'x', 'r'", "23503"), ("4, 99, 'x', 'r'", "23503"),
            ("4, 1, 'receipt', 'r'", "22023"), ("4, 1, '', 'r'", "22023"),
            ("4, 1, NULL, 'r'", "22023"), ("4, 1, E'a\\nb', 'r'", "22023"),
            ("4, 1, 'x', NULL", "22023"), ("4, 1, 'x', ''", "22023"),
        ] {
            #expect(try await ground.failure("SELECT surveys.invite(\(call))") == state, "\(call)")
        }
    }

    /// The listing of a person at a time.
    private func listing(_ ground: SurveyGround, _ person: Int64, _ time: String) async throws
        -> [String]
    {
        try await ground.texts(
            "SELECT title || ' ' || days_left FROM surveys.listing_at(\(person), 200, '\(time)')")
    }

    @Test func `soonest first, with the days that are left in the person's calendar`() async throws
    {
        let ground = try await SurveyGround()
        try await ground.put(1, title: "Long", "expires_days => 20")
        try await ground.put(2, of: 2, title: "Short", "expires_days => 1")
        for survey in [1, 2] as [Int64] { try await ground.invite(to: survey) }
        try await ground.invite(2, to: 1)
        #expect(
            try await listing(ground, 1, "2026-06-15T12:00:00-04:00") == ["Short 1", "Long 20"])
        #expect(
            try await listing(ground, 1, "2026-06-16T00:00:00-04:00") == ["Short 0", "Long 19"])
        #expect(
            try await listing(ground, 1, "2026-06-16T23:59:59-04:00") == ["Short 0", "Long 19"])
        #expect(try await listing(ground, 1, "2026-06-17T00:00:00-04:00") == ["Long 18"])
        #expect(try await listing(ground, 2, "2026-07-05T23:59:59-04:00") == ["Long 0"])
        #expect(try await listing(ground, 2, "2026-07-06T00:00:00-04:00") == [])
        #expect(try await listing(ground, 99, "2026-06-15T12:00:00-04:00") == [])
    }

    @Test(
        "days are counted through changes of the clocks",
        arguments: [
            // 23 and 25 hours; the survey ends at the midnight after its last day.
            ("America/Toronto", "2026-03-07T12:00:00-05:00", "2026-03-08T23:30:00-04:00"),
            ("America/Toronto", "2026-10-31T12:00:00-04:00", "2026-11-01T23:30:00-05:00"),
            ("Asia/Beirut", "2026-03-27T12:00:00+02:00", "2026-03-28T23:30:00+02:00"),
            ("America/St_Johns", "2026-10-31T12:00:00-02:30", "2026-11-01T23:30:00-03:30"),
        ])
    func clocks(zone: String, invited: String, last: String) async throws {
        let ground = try await SurveyGround(people: 1, zone: zone)
        try await ground.put(1, title: "A", "expires_days => 1")
        let given = try await ground.invite(at: seconds(invited))
        #expect(try await listing(ground, 1, invited) == ["A 1"])
        #expect(try await listing(ground, 1, last) == ["A 0"])
        let end = try seconds(last) + 1_800
        #expect(try seconds(given.expiresAt ?? "") == end)
        let invitation = try #require(given.invitation)
        #expect(try await ground.complete(invitation, at: end).reason == "expired")
        #expect(try await ground.complete(invitation, at: end - 1).reason == "ok")
    }

    @Test func `each row says what the person gets, and where`() async throws {
        let ground = try await SurveyGround()
        try await ground.put(1, title: "Your visit", "coupon_title => 'A tea', coupon_days => 9")
        try await ground.put(
            2, of: 2, title: "Your night", "expires_days => 20, for_receipts => false")
        for survey in [1, 2] as [Int64] { try await ground.invite(to: survey) }
        let statement = """
            SELECT concat_ws('|', survey_id, version, title, establishment_id, establishment,
                coupon, reward, currency, minutes)
            FROM surveys.listing_at(1, 200, to_timestamp(\(Self.noon)))
            """
        #expect(
            try await ground.texts(statement) == [
                "1|1|Your visit|1|Café Un|A tea|300|CAD|2",
                "2|1|Your night|2|Bar Deux|300|CAD|2",
            ])
        // Nobody can use a coupon of an establishment that is closed.
        _ = try await ground.session.query("SELECT establishments.close_establishment(1)")
        #expect(
            try await ground.texts(statement).first == "1|1|Your visit|1|Café Un|300|CAD|2")
        let first = try await ground.number("SELECT min(id) FROM surveys.invitations")
        let done = try await ground.complete(first)
        #expect(done.reason == "ok" && done.reward == 300 && done.coupon == nil)
        #expect(try await ground.texts(statement).count == 1)
    }
}
