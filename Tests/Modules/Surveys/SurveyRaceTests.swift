import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Surveys that several phones want at once", .database) struct SurveyRaceTests {
    private static let noon = SurveyGround.noon

    private func scan(_ code: String, by person: Int64, request: String) -> String {
        "SELECT reason FROM surveys.scan_at(\(person), '\(code)', '\(request)', "
            + "to_timestamp(\(Self.noon)))"
    }

    @Test func `of two people with one receipt the second waits, and finds it used`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let code = try ground.code("A-1")
        let answer = try await TestDatabase.here().overlap(
            scan(code, by: 1, request: "r"), scan(code, by: 2, request: "r"))
        #expect(answer == ["used"])
        #expect(try await ground.texts("SELECT person_id::text FROM surveys.invitations") == ["1"])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.scan_days WHERE person_id = 2") == 0)
    }

    @Test func `of the same request twice both are answered the same`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let code = try ground.code("A-1")
        let same = scan(code, by: 1, request: "r")
        #expect(try await TestDatabase.here().overlap(same, same) == ["ok"])
        #expect(try await ground.number("SELECT count(*) FROM surveys.invitations") == 1)
        #expect(
            try await ground.text("SELECT branches::text FROM surveys.scan_days") == "{1}")
    }

    @Test func `the last receipt of a day is one, and the other stays unused`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        for number in 1...2 { try await ground.scan(ground.code("A-\(number)")) }
        let (third, fourth) = (try ground.code("A-3"), try ground.code("A-4"))
        let answer = try await TestDatabase.here().overlap(
            scan(third, by: 1, request: "3"), scan(fourth, by: 1, request: "4"))
        #expect(answer == ["too_many"])
        #expect(try await ground.number("SELECT count(*) FROM surveys.receipts") == 3)
        #expect(try await ground.scan(fourth, by: 2).reason == "ok")
    }

    @Test func `many people with few receipts`() async throws {
        let ground = try await SurveyGround(people: 24)
        try await ground.put()
        let codes = try (1...6).map { try ground.code("A-\($0)") }
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for person in 1...24 as ClosedRange<Int64> {
                for code in codes.shuffled() {
                    group.addTask {
                        try await ground.pool.withSession { session in
                            try await ground.scan(code, by: person, on: session).reason
                        }
                    }
                }
            }
            return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(answers["ok"] == 6)
        #expect(
            try await ground.number("SELECT count(DISTINCT purchased_at) FROM surveys.invitations")
                == 1)
        #expect(try await ground.number("SELECT count(*) FROM surveys.invitations") == 6)
        #expect(try await ground.number("SELECT count(*) FROM surveys.receipts") == 6)
        #expect(
            try await ground.number(
                "SELECT sum(cardinality(branches)) FROM surveys.scan_days") == 6)
    }

    private func complete(_ invitation: Int64, request: String) -> String {
        "SELECT reason FROM surveys.complete_at(1, \(invitation), '{\"1\": 5}', 100, '\(request)', "
            + "to_timestamp(\(Self.noon + 60)))"
    }

    @Test("completing twice at once is done once", arguments: [("r", "ok"), ("s", "done")])
    func completions(request: String, reason: String) async throws {
        let ground = try await SurveyGround()
        try await ground.put(1, "coupon_title => 'A tea'")
        let invitation = try await ground.invitation()
        let answer = try await TestDatabase.here().overlap(
            complete(invitation, request: "r"), complete(invitation, request: request))
        #expect(answer == [reason])
        #expect(
            try await ground.number("SELECT amount FROM ledger.reward_balance(1)") == 300)
        for table in ["surveys.completions", "coupons.coupons"] {
            #expect(try await ground.number("SELECT count(*) FROM \(table)") == 1)
        }
        #expect(
            try await ground.number(
                "SELECT deeds FROM badges.counts WHERE kind = 'surveys_done'") == 1)
    }

    @Test func `a completion and a block agree on who was first`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        // By the real clock, which a block follows.
        let invitation = try await ground.number(
            "SELECT invitation_id FROM surveys.invite(1, 1, 'x', 'r')")
        let answer = try await TestDatabase.here().overlap(
            "SELECT people.block(1)",
            "SELECT reason FROM surveys.complete(1, \(invitation), '{\"1\": 5}', 100, 'r')")
        #expect(answer == ["blocked"])
        #expect(try await ground.number("SELECT count(*) FROM surveys.completions") == 0)
    }

    @Test func `the sweep leaves what is completed meanwhile`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let invitation = try await ground.invitation()
        let answer = try await TestDatabase.here().overlap(
            complete(invitation, request: "r"), "SELECT surveys.expire()::text")
        #expect(answer == ["1"])
        #expect(
            try await ground.texts("SELECT state::text FROM surveys.invitations") == ["completed"])
    }
}
