import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Samples of answers", .database) struct SamplingTests {
    private static let noon = SurveyGround.noon

    /// A survey of two minutes with five ratings and a required text, and no random sample.
    private func prepare() async throws -> SurveyGround {
        let ground = try await SurveyGround()
        let ratings = (1...5).map {
            #"{"kind": "rating", "label": "\#($0)", "is_required": \#($0 < 5)}"#
        }
        try await ground.put(
            questions: "[" + ratings.joined(separator: ",")
                + #", {"kind": "text", "label": "Why?", "is_required": true}]"#)
        try await ground.session.script("UPDATE surveys.rules SET sampled = 0")
        return ground
    }

    /// The flags of an answer, as the nightly sample finds them.
    private func flags(
        _ ground: SurveyGround, of person: Int64 = 1, _ answers: String, seconds: Int32 = 100
    ) async throws -> String? {
        let invitation = try await ground.invitation(of: person)
        #expect(
            try await ground.complete(invitation, by: person, answers, seconds: seconds).reason
                == "ok")
        _ = try await ground.session.query("SELECT * FROM surveys.sample(1)")
        return try await ground.text(
            "SELECT array_to_string(flags, ' ') FROM surveys.reviews "
                + "WHERE invitation_id = \(invitation)")
    }

    private static let mixed = #""1": 5, "2": 4, "3": 5, "4": 5, "5": 5"#
    private static let equal = #""1": 4, "2": 4, "3": 4, "4": 4, "5": 4"#

    @Test func `each flag`() async throws {
        let ground = try await prepare()
        let good = "{\(Self.mixed), \"6\": \"The tea was cold\"}"
        #expect(try await flags(ground, good, seconds: 30) == nil)
        #expect(try await flags(ground, of: 2, good, seconds: 29) == "hasty")
        #expect(
            try await flags(ground, "{\(Self.equal), \"6\": \"It was all the same\"}")
                == "equal_ratings")
        // Four ratings are too few.
        #expect(
            try await flags(
                ground, #"{"1": 4, "2": 4, "3": 4, "4": 4, "6": "Four are not enough"}"#) == nil)
        #expect(try await flags(ground, "{\(Self.mixed), \"6\": \"ok\"}") == "short_text")
        #expect(try await flags(ground, "{\(Self.mixed), \"6\": \"12345 ..!\"}") == "short_text")
        #expect(try await flags(ground, "{\(Self.mixed), \"6\": \"bon\"}") == nil)
        #expect(try await flags(ground, "{\(Self.mixed), \"6\": \"été\"}") == nil)
        // As before, but for spaces and the case; of the same person.
        let same = "{\(Self.mixed), \"6\": \" the TEA  was cold\\n\"}"
        #expect(try await flags(ground, same) == "same_text")
        #expect(try await flags(ground, of: 3, same) == nil)
        #expect(try await flags(ground, "{\(Self.mixed), \"6\": \"Good\"}") == nil)
        #expect(try await flags(ground, "{\(Self.mixed), \"6\": \"Good\"}") == nil)
        #expect(
            try await flags(ground, "{\(Self.equal), \"6\": \"no\"}", seconds: 0)
                == "hasty equal_ratings short_text")
        #expect(
            try await ground.texts(
                "SELECT DISTINCT c.state FROM surveys.completions c "
                    + "JOIN surveys.reviews r USING (invitation_id)") == ["review"])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.completions WHERE state = 'counted'") == 7)
    }

    @Test func `a tenth is in the sample, the same whenever it is asked`() async throws {
        let ground = try await SurveyGround()
        let shares = try await ground.session.query(
            """
            SELECT count(*) FILTER (WHERE surveys.is_sampled(n, 10, key)) AS ten,
                count(*) FILTER (WHERE surveys.is_sampled(n, 0, key)) AS none,
                count(*) FILTER (WHERE surveys.is_sampled(n, 100, key)) AS every,
                bool_and(surveys.is_sampled(n, 10, key) = surveys.is_sampled(n, 10, key)
                    AND surveys.is_sampled(n, 10, key) <= surveys.is_sampled(n, 20, key)) AS same
            FROM generate_series(1, 20000) n
            CROSS JOIN (VALUES (decode(repeat('a7', 32), 'hex'))) AS k (key)
            """)
        let ten = try shares.first?.int64("ten") ?? 0
        #expect((1_800...2_200).contains(ten))
        #expect(try shares.first?.int64("none") == 0)
        #expect(try shares.first?.int64("every") == 20_000)
        #expect(try shares.first?.bool("same") == true)
    }

    @Test func `a run continues where the last one ended, in batches`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        try await ground.session.script("UPDATE surveys.rules SET sampled = 100")
        for _ in 1...7 { try await ground.complete(ground.invitation()) }
        var looked: [Int64] = []
        for _ in 1...4 {
            looked.append(
                try await ground.session.query("SELECT looked_at FROM surveys.sample(3)")
                    .int64(0, 0))
        }
        #expect(looked == [3, 3, 1, 0])
        #expect(try await ground.number("SELECT count(*) FROM surveys.reviews") == 7)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.sweeps "
                    + "WHERE sweep = 'sample' AND ended_at IS NOT NULL"
            ) == 1)
        // Answers of the last ten minutes wait: an open transaction may have earlier ones.
        let invitation = try await ground.number(
            "SELECT invitation_id FROM surveys.invite(2, 1, 'x', 'now')")
        _ = try await ground.session.query(
            "SELECT surveys.complete(2, $1, '{\"1\": 5}', 100, 'r')", [.int64(invitation)])
        #expect(
            try await ground.session.query("SELECT looked_at FROM surveys.sample(9)").int64(0, 0)
                == 0)
    }

    @Test func `expired invitations are swept in batches, once`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        for person in 1...7 as ClosedRange<Int64> { try await ground.invite(person) }
        let done = try await ground.invitation(of: 8)
        #expect(try await ground.complete(done, by: 8).reason == "ok")
        try await ground.invite(2, at: ground.number("SELECT extract(epoch FROM now())::bigint"))
        let early = "'2026-06-30T04:09:59Z'"
        #expect(try await ground.number("SELECT surveys.expire(3, \(early))") == 0)
        var looked: [Int64] = []
        for _ in 1...4 { looked.append(try await ground.number("SELECT surveys.expire(3)")) }
        #expect(looked == [3, 3, 2, 0])
        #expect(
            try await ground.texts(
                "SELECT state || ' ' || count(*) FROM surveys.invitations GROUP BY state "
                    + "ORDER BY state") == ["open 1", "completed 1", "expired 7"])
    }
}
