import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Who is hired", .database) struct HiringTests {
    /// Reviews of the same moment, so many of them good.
    private func review(
        _ ground: MissionGround, _ person: Int64, _ good: Int, of all: Int, daysAgo: Int = 1,
        as name: String = "survey"
    ) async throws {
        _ = try await ground.session.query(
            """
            SELECT missions.record_review($1, '\(name):' || n, n <= \(good),
                clock_timestamp() - interval '\(daysAgo) days')
            FROM generate_series(1, \(all)) n
            """, [.int64(person)])
    }

    private func assess(_ ground: MissionGround, _ more: String = "") async throws -> [String] {
        try await ground.texts(
            """
            SELECT a.person || ' ' || coalesce(a.before::text, 'none') || ' ' || a.after
                || ': ' || a.reason
            FROM missions.assess(ARRAY(SELECT id FROM people.people)\(more)) a ORDER BY person
            """)
    }

    @Test(
        "the lower bound of a share is Wilson's",
        arguments: [
            (0, 0, 0), (1, 1, 0.2065), (9, 10, 0.5958), (10, 10, 0.7225), (50, 100, 0.4038),
            (90, 100, 0.8256), (0, 7, 0),
        ])
    func bound(good: Int64, reviewed: Int64, expected: Double) async throws {
        let rows = try await TestDatabase.here().session().query(
            "SELECT missions.wilson($1, $2)", [.int64(good), .int64(reviewed)])
        #expect(abs(try rows.double(0, 0) - expected) < 0.00005)
    }

    @Test func `a source is reviewed once, and the last verdict counts`() async throws {
        let ground = try await MissionGround(hired: 0)
        for (call, expected) in [
            ("1, 'survey:1', true", "recorded"), ("1, 'survey:1', true", "same"),
            ("1, 'survey:1', false", "replaced"), ("2, 'survey:1', true", "recorded"),
        ] {
            #expect(
                try await ground.text("SELECT missions.record_review(\(call))") == expected)
        }
        #expect(
            try await ground.texts(
                "SELECT person_id || ' ' || is_good FROM missions.reviews ORDER BY person_id")
                == ["1 false", "2 true"])
        for (call, state) in [
            ("99, 'survey:1', true", "23503"), ("1, 'survey', true", "22023"),
            ("1, 'survey:1', NULL", "22023"), ("1, NULL, true", "22023"),
            ("1, 'survey:2', true, now() + interval '1 hour'", "22023"),
        ] {
            let refusal = try await ground.refusal("SELECT missions.record_review(\(call))")
            #expect(refusal == state, "\(call)")
        }
    }

    @Test func `the rules name who is good, lately and often, and grown-up`() async throws {
        let ground = try await MissionGround(people: 9, hired: 0)
        try await review(ground, 1, 10, of: 10)
        try await review(ground, 2, 9, of: 9)
        try await review(ground, 3, 9, of: 10)
        try await review(ground, 4, 30, of: 30, daysAgo: 61)
        try await review(ground, 5, 30, of: 30, daysAgo: 366)
        for person in [6, 7, 8, 9] as [Int64] { try await review(ground, person, 27, of: 30) }
        try await ground.session.script(
            """
            UPDATE people.people SET age_verified_at = NULL WHERE id = 6;
            UPDATE people.people SET birth_date = current_date - interval '15 years'
            WHERE id = 7;
            SELECT missions.raise_flag(8, 'a copied photo')
            """)
        #expect(
            try await assess(ground) == [
                "1 none candidate: 10 of 10 answers were good",
                "9 none candidate: 27 of 30 answers were good",
            ])
        #expect(try await assess(ground) == [])
        try await ground.session.script("UPDATE missions.rules SET is_automatic = true")
        #expect(
            try await assess(ground) == [
                "1 candidate active: 10 of 10 answers were good",
                "9 candidate active: 27 of 30 answers were good",
            ])
        #expect(
            try await ground.texts(
                """
                SELECT args ->> 'event' || ' ' || (args ->> 'person_id') FROM errand.jobs
                WHERE kind = 'missions.notify' ORDER BY id
                """) == ["hired 1", "hired 9"])
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM missions.shoppers
                WHERE hired_at IS NOT NULL AND waiting_since = hired_at
                """) == 2)
    }

    @Test func `who gets worse is suspended, and comes back when they are good again`() async throws
    {
        let ground = try await MissionGround(people: 3, hired: 3)
        // Too few to say anything, and few that say it all.
        try await review(ground, 1, 1, of: 3)
        try await review(ground, 2, 0, of: 9)
        try await review(ground, 3, 14, of: 20)
        #expect(
            try await assess(ground) == [
                "2 active suspended: 0 of 9 answers were good",
                "3 active suspended: 14 of 20 answers were good",
            ])
        // Above where one is suspended, and below where one is hired.
        try await review(ground, 3, 15, of: 15, as: "more")
        #expect(try await assess(ground) == [])
        #expect(try await ground.number("SELECT reviewed FROM missions.standing(3)") == 35)
        try await review(ground, 3, 40, of: 40, as: "yet")
        #expect(
            try await assess(ground) == ["3 suspended active: 69 of 75 answers were good"])
        // A year later nothing of it counts.
        #expect(try await assess(ground, ", now() + interval '2 years'") == [])
        #expect(try await ground.number("SELECT reviewed FROM missions.standing(3)") == 0)
    }

    @Test func `a suspicion suspends at once, and its end lifts it`() async throws {
        let ground = try await MissionGround(people: 3, hired: 2)
        let flag = try await ground.number("SELECT missions.raise_flag(1, 'a copied photo')")
        let other = try await ground.number("SELECT missions.raise_flag(1, 'another')")
        #expect(try await ground.standing(1) == "suspended: your account is under review")
        #expect(
            try await ground.refusal("SELECT missions.hire(1, 'Olga')") == "RU001")
        #expect(try await ground.text("SELECT missions.clear_flag(\(flag))") == "t")
        #expect(try await ground.text("SELECT missions.clear_flag(\(flag))") == "f")
        #expect(try await ground.standing(1).hasPrefix("suspended"))
        _ = try await ground.text("SELECT missions.clear_flag(\(other))")
        #expect(try await ground.standing(1) == "active: 0 of 0 answers were good")
        // Suspended by hand, they stay so.
        _ = try await ground.text("SELECT missions.suspend(2, 'Olga', 'rude')")
        let third = try await ground.number("SELECT missions.raise_flag(2, 'x')")
        _ = try await ground.text("SELECT missions.clear_flag(\(third))")
        #expect(try await ground.standing(2) == "suspended: rude")
        #expect(try await ground.refusal("SELECT missions.clear_flag(99)") == "P0002")
        #expect(try await ground.refusal("SELECT missions.raise_flag(99, 'x')") == "23503")
        #expect(try await ground.refusal("SELECT missions.raise_flag(1, '')") == "22023")
    }

    @Test func `operators hire, suspend and refuse whom they should`() async throws {
        let ground = try await MissionGround(people: 5, hired: 1)
        #expect(try await ground.text("SELECT missions.hire(1, 'Olga')") == "f")
        #expect(try await ground.text("SELECT missions.hire(2, 'Olga', 'known')") == "t")
        #expect(try await ground.text("SELECT missions.suspend(2, 'Olga', 'rude')") == "t")
        #expect(try await ground.text("SELECT missions.suspend(2, 'Paul', 'very')") == "f")
        #expect(
            try await ground.text("SELECT actor FROM missions.shoppers WHERE person_id = 2")
                == "Paul")
        #expect(try await ground.text("SELECT missions.refuse(2, 'Olga', 'no')") == "t")
        #expect(try await ground.standing(2) == "refused: no")
        #expect(try await ground.refusal("SELECT missions.suspend(2, 'Olga', 'x')") == "RU001")
        #expect(try await ground.text("SELECT missions.hire(2, 'Olga')") == "t")
        try await ground.session.script(
            "UPDATE people.people SET birth_date = current_date WHERE id = 3")
        for (call, state) in [
            ("hire(3, 'Olga')", "RU001"), ("hire(99, 'Olga')", "23503"),
            ("refuse(4, 'Olga')", "P0002"), ("suspend(4, 'Olga')", "P0002"),
            ("hire(4, '')", "22023"), ("hire(4, NULL)", "22023"),
            ("suspend(1, 'Olga', '')", "22023"),
        ] { #expect(try await ground.refusal("SELECT missions.\(call)") == state, "\(call)") }
        #expect(try await ground.standing(3) == "none")
    }

    @Test func `who leaves holds nothing, and comes back as what they were`() async throws {
        let ground = try await MissionGround(people: 4, hired: 3)
        let (first, second) = (try await ground.open(), try await ground.open(3))
        let offered = try await ground.given(first, 1)
        let accepted = try await ground.given(second, 1)
        _ = try await ground.accept(1, accepted)
        let done = try await ground.submitted(try await ground.open(), 2)
        #expect(try await ground.text("SELECT missions.leave(1)") == "t")
        #expect(try await ground.text("SELECT missions.leave(1)") == "f")
        #expect(try await ground.text("SELECT missions.leave(4)") == "f")
        #expect(try await ground.state(offered) == "withdrawn")
        #expect(try await ground.state(accepted) == "withdrawn")
        #expect(try await ground.told(accepted) == ["offered 0"])
        #expect(try await ground.seeks(first) == 1)
        _ = try await ground.text("SELECT missions.leave(2)")
        #expect(try await ground.state(done) == "submitted")
        #expect(try await ground.objections(first, 1) == ["not_active", "declined_before"])
        #expect(try await ground.refusal("SELECT missions.hire(1, 'Olga')") == "RU001")
        #expect(try await ground.text("SELECT missions.come_back(1)") == "t")
        #expect(try await ground.text("SELECT missions.come_back(1)") == "f")
        #expect(try await ground.standing(1) == "candidate")
        // Nobody gets rid of a suspension by leaving.
        _ = try await ground.text("SELECT missions.suspend(3, 'Olga', 'rude')")
        _ = try await ground.text("SELECT missions.leave(3)")
        _ = try await ground.text("SELECT missions.come_back(3)")
        #expect(try await ground.standing(3) == "suspended: rude")
    }

    @Test func `shoppers choose how far they go, and what makes no sense is refused`() async throws
    {
        let ground = try await MissionGround(people: 3, hired: 1)
        let call = "SELECT missions.set_shopper(1, "
        let all = "-73, 45, 5000, 3, 1500, '{2}', '2030-01-01Z')"
        #expect(try await ground.text(call + all) == "t")
        let wishes = """
            SELECT missions.longitude(home) || ' ' || radius_m || ' ' || daily_capacity || ' '
                || coalesce(expected_pay::text, 'any') || ' ' || works_for::text
                || ' ' || extract(year FROM away_until) FROM missions.shoppers WHERE person_id = 1
            """
        #expect(try await ground.text(wishes) == "-73 5000 3 1500 {2} 2030")
        #expect(try await ground.text(call + "expected_pay => 0)") == "t")
        #expect(try await ground.text(wishes) == "-73 5000 3 any {2} 2030")
        for (wish, state) in [
            ("-190, 0", "22003"), ("1", "22003"), ("latitude => 1", "22003"),
            ("radius_m => 99", "22023"), ("daily_capacity => 21", "22023"),
            ("expected_pay => -1", "22023"), ("works_for => '{1,NULL}'", "22023"),
        ] { #expect(try await ground.refusal(call + wish + ")") == state, "\(wish)") }
        #expect(try await ground.text("SELECT missions.set_shopper(2, radius_m => 500)") == "f")
    }
}
