import Foundation
import Errand
import ErrandPostgres
import ErrandSurveys
import ErrandTestServices
import Testing

@Suite("The jobs of surveys", .database) struct SurveySweepTests {
    /// Invitations that ended long ago and will end, half of the first completed.
    private func fill(_ ground: SurveyJobGround) async throws {
        try await ground.survey(1)
        let person = try await ground.person()
        try await ground.session.script(
            """
            INSERT INTO surveys.invitations (survey_id, version, establishment_id, person_id,
                source, purchased_at, invited_at, expires_at, state, ended_at)
            SELECT 1, 1, 1, \(person), 'test', '2026-01-01Z', '2026-01-01Z',
                CASE WHEN n <= 50 THEN timestamptz '2026-02-01Z' + n % 7 * interval '1 day'
                    ELSE '2099-01-01Z' END,
                CASE WHEN n % 2 = 0 AND n <= 50 THEN 'completed' ELSE 'open' END
                    ::surveys.invitation_state,
                CASE WHEN n % 2 = 0 AND n <= 50 THEN timestamptz '2026-01-02Z' END
            FROM generate_series(1, 60) AS n
            """)
    }

    private let states = """
        SELECT state || ' ' || count(*) FROM surveys.invitations GROUP BY state ORDER BY state
        """

    @Test(arguments: [1, 7, 50, 1_000])
    func `invitations that are over are ended in batches, and no others`(batch: Int) async throws {
        let ground = try await SurveyJobGround()
        try await fill(ground)
        #expect(
            try await ExpireInvitations.run(in: ground.pool, now: .now(), batch: batch) == 50)
        #expect(
            try await ground.texts(states) == ["open 10", "completed 25", "expired 25"])
        // Again there is nothing left.
        #expect(try await ExpireInvitations.run(in: ground.pool, now: .now(), batch: batch) == 0)
    }

    @Test func `several sweeps at once end each invitation once`() async throws {
        let ground = try await SurveyJobGround()
        try await fill(ground)
        let passed = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await ExpireInvitations.run(in: ground.pool, now: .now(), batch: 3)
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(passed == 50)
        #expect(
            try await ground.texts(states) == ["open 10", "completed 25", "expired 25"])
    }

    @Test func `the doctor counts what a sweep has left for too long`() async throws {
        let ground = try await SurveyJobGround()
        try await fill(ground)
        #expect(try await SurveyHealth.read(ground.session, now: .now()).late == 25)
        try await ExpireInvitations.run(in: ground.pool, now: .now())
        #expect(try await SurveyHealth.read(ground.session, now: .now()).late == 0)
    }

    @Test func `a worker runs the scheduled jobs`() async throws {
        let ground = try await SurveyJobGround()
        try await fill(ground)
        let person = try await ground.person(noticed: "00:00")
        _ = try await ground.invitation(of: person, until: "2099-01-01T00:00:00Z")
        // It registers the kinds.
        try await ground.work()
        for kind in ["surveys.expire", "surveys.remind", "surveys.sample", "surveys.keys"] {
            _ = try await ground.session.query("SELECT errand.enqueue($1)", [.text(kind)])
        }
        try await ground.work()
        #expect(
            try await ground.number("SELECT count(*) FROM errand.jobs WHERE queue = 'surveys'")
                == 0)
        #expect(
            try await ground.texts(states) == ["open 11", "completed 25", "expired 25"])
        #expect(try await ground.number("SELECT count(*) FROM surveys.open_receipt_keys") == 1)
    }

    @Test func `answers with a flag go to review, in batches`() async throws {
        let ground = try await SurveyJobGround()
        try await ground.survey(1)
        let person = try await ground.person()
        // No sample: only flags count. Every third is hasty, and all were completed an hour ago.
        try await ground.session.script(
            """
            UPDATE surveys.rules SET sampled = 0;
            SELECT surveys.invite(\(person), 1, 'test', 'r' || n) FROM generate_series(1, 30) AS n;
            SELECT surveys.complete(\(person), i.id,
                jsonb_build_object('1', 3, '2', 'word' || i.id),
                CASE WHEN i.id % 3 = 0 THEN 29 ELSE 30 END, 'r')
            FROM surveys.invitations i;
            UPDATE surveys.completions SET completed_at = completed_at - interval '1 hour'
            """)
        #expect(try await ground.number("SELECT count(*) FROM surveys.completions") == 30)
        #expect(try await SampleAnswers.run(in: ground.pool, now: .now(), batch: 7) == 10)
        #expect(
            try await ground.texts(
                "SELECT DISTINCT flags::text FROM surveys.reviews WHERE verdict IS NULL")
                == ["{hasty}"])
        #expect(try await SampleAnswers.run(in: ground.pool, now: .now()) == 0)
        #expect(
            try await SurveyHealth.read(
                ground.session, now: .now().adding(.seconds(8 * 86_400))
            ).overdue == 10)
    }

    @Test func `who is invited without a receipt is told, once`() async throws {
        let ground = try await SurveyJobGround()
        try await ground.survey(1)
        let person = try await ground.person(in: "Asia/Tokyo")
        for _ in 0..<2 {
            _ = try await ground.session.query(
                "SELECT surveys.invite($1, 1, 'beta', 'r1')", [.int64(person)])
        }
        let told = try await ground.session.query(
            """
            SELECT n.data ->> 'title' AS title, n.data ->> 'establishment' AS establishment,
                n.data -> 'reward' = '{"minor": 300, "currency": "CAD"}' AS is_reward,
                (n.data ->> 'last_day')::date = (now() AT TIME ZONE 'Asia/Tokyo')::date + 14
                    AS is_last, n.expires_at = i.expires_at AS is_same
            FROM notification.notices n JOIN surveys.invitations i ON i.person_id = n.person_id
            WHERE n.kind = 'survey.invited'
            """)
        #expect(told.count == 1)
        #expect(try told.text(0, 0) == "Your visit" && told.text(0, 1) == "Cafe 1")
        for column in 2...4 { #expect(try told.bool(0, column)) }
    }
}
