import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What is held, and what becomes of it", .database) struct HoldTests {
    private let quiet = (from: "11:00", until: "20:00")
    /// The end of quiet hours.
    private let eight = Ground.noon.addingTimeInterval(8 * 3_600)

    @Test func `in quiet hours a notice is held, its job comes within five minutes of their end`()
        async throws
    {
        let ground = try await Ground()
        for _ in 0..<40 {
            let person = try await ground.person(quiet: quiet)
            try await ground.notify(ground.intent(TestNotices.note, person))
        }
        #expect(Set(try await ground.statuses()) == ["held"])
        #expect(try await ground.number("SELECT count(*) FROM notification.deliveries") == 0)
        let late = try await ground.session.query(
            """
            SELECT extract(epoch FROM j.run_at - n.hold_until)::float8
            FROM errand.jobs j
            JOIN notification.notices n ON n.id = (j.args ->> 'notice_id')::bigint
            WHERE j.kind = 'notification.decide' AND n.hold_until = $1
              AND n.hold_reason = 'quiet hours until 2098-06-15T20:00:00Z'
            """, [.timestamp(Instant(date: eight))]
        ).map { try $0.double(0) }
        #expect(late.count == 40)
        #expect(late.allSatisfy { (0..<300).contains($0) })
        #expect(Set(late).count > 20)
    }

    @Test func `urgent notices are not held`() async throws {
        let ground = try await Ground()
        let person = try await ground.person(quiet: quiet)
        try await ground.notify(ground.intent(TestNotices.code, person))
        #expect(try await ground.statuses() == ["pending"])
    }

    @Test func `a notice that is of no use after quiet hours is not held`() async throws {
        let ground = try await Ground()
        let person = try await ground.person(quiet: quiet)
        try await ground.notify(
            ground.intent(TestNotices.note, person, expires: Instant(date: eight)))
        #expect(try await ground.statuses() == ["expired"])
    }

    @Test func `one that was held is told when it is released`() async throws {
        let ground = try await Ground()
        let person = try await ground.person(quiet: quiet)
        try await ground.notify(ground.intent(TestNotices.note, person))
        // Too early: it stays.
        try await ground.decide(now: eight.addingTimeInterval(-1))
        #expect(try await ground.statuses() == ["held"])
        try await ground.decide(now: eight)
        #expect(try await ground.statuses() == ["pending"])
        #expect(try await ground.number("SELECT count(*) FROM notification.deliveries") == 1)
        // Its second job finds nothing to decide.
        let id = try await ground.number("SELECT id FROM notification.notices")
        _ = try await ground.pool.transaction {
            try await ground.planner.decide([id], now: eight, in: $0)
        }
        #expect(try await ground.number("SELECT count(*) FROM notification.deliveries") == 1)
    }

    @Test func `several that were held become one digest`() async throws {
        let ground = try await Ground()
        let (ada, bob) = (
            try await ground.person(quiet: quiet), try await ground.person(quiet: quiet)
        )
        for subject in ["milk", "bread", "eggs"] {
            try await ground.notify(ground.intent(TestNotices.note, ada, of: subject))
        }
        try await ground.notify(
            ground.intent(TestNotices.note, bob, of: "soap", key: "0"),
            // One of them will be over by then.
            ground.intent(
                TestNotices.note, ada, of: "ice", key: "1",
                expires: Instant(date: eight).adding(.seconds(1))),
            ground.intent(TestNotices.nudge, ada, of: "rent", key: "2"))
        // The job of one of them brings all of the person's.
        let first = try await ground.number("SELECT min(id) FROM notification.notices")
        _ = try await ground.pool.transaction {
            try await ground.planner.decide(
                [first], now: eight.addingTimeInterval(2), in: $0)
        }
        let rows = try await ground.texts(
            """
            SELECT concat_ws(' ', person_id - $1, kind, status, merged_into IS NOT NULL, data)
            FROM notification.notices ORDER BY id
            """, [.int64(ada)])
        #expect(
            rows == [
                #"0 t.note merged t {"title": "milk"}"#, #"0 t.note merged t {"title": "bread"}"#,
                #"0 t.note merged t {"title": "eggs"}"#, #"1 t.note held f {"title": "soap"}"#,
                #"0 t.note expired f {"title": "ice"}"#, #"0 t.nudge held f {"title": "rent"}"#,
                #"0 t.note.digest pending f {"count": 3, "items": ["milk", "bread", "eggs"]}"#,
            ])
        let mail = ScriptedChannel(.delivered(reply: "250 kept"))
        try await ground.deliver([Provider.mail: mail])
        #expect(mail.sent.all.map(\.words.title).contains(#"["milk", "bread", "eggs"]"#))
    }

    @Test(
        "what changed while it was held is heeded",
        arguments: [
            (
                "UPDATE people.people SET muted_until = 'infinity'", "dropped",
                "the person has muted all notices until infinity"
            ),
            (
                "UPDATE people.people SET location_consent_at = NULL", "dropped",
                "the person has not agreed to notices by place"
            ),
            (
                "UPDATE people.people SET age_verified_at = NULL", "dropped",
                "the person's age is not verified"
            ),
            ("UPDATE notification.devices SET disabled_at = now()", "dropped", nil),
            ("UPDATE people.people SET quiet_until = '21:00'", "held", nil),
            ("UPDATE notification.notices SET expires_at = '2098-06-15T20:00Z'", "expired", nil),
            (
                """
                INSERT INTO notification.cooldowns (person_id, subject, since, until, forget_at)
                SELECT id, 'subject', '2098-06-15Z', '2098-06-16Z', '2098-06-17Z'
                FROM people.people
                """, "dropped",
                "notified of the same before; the cooldown ends at 2098-06-16T00:00:00Z"
            ),
            ("SELECT 1", "pending", nil),
        ] as [(String, String, String?)])
    func changed(sql: String, status: String, reason: String?) async throws {
        let ground = try await Ground()
        let person = try await ground.person(quiet: quiet)
        try await ground.device(of: person, "token", app: "survey")
        try await ground.notify(ground.intent(TestNotices.near, person))
        #expect(try await ground.statuses() == ["held"])
        try await ground.run(sql)
        try await ground.decide(now: eight)
        #expect(try await ground.statuses() == [status])
        if let reason { #expect(try await ground.reasons() == [reason]) }
    }

    @Test func `of several workers that release the same notices each tells once`() async throws {
        let ground = try await Ground()
        for _ in 0..<10 {
            let person = try await ground.person(quiet: quiet)
            for number in 0..<3 {
                try await ground.notify(
                    ground.intent(TestNotices.note, person, of: "note \(number)"))
            }
        }
        let ids = try await ground.session.query("SELECT id FROM notification.notices")
            .map { try $0.int64(0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for turn in 0..<6 {
                group.addTask {
                    let part = ids.enumerated().filter { $0.offset % 3 == turn % 3 }
                        .map(\.element)
                    _ = try await ground.pool.transaction {
                        try await ground.planner.decide(part, now: eight, in: $0)
                    }
                }
            }
            try await group.waitForAll()
        }
        let statuses = try await ground.statuses()
        #expect(statuses.count { $0 == "merged" } == 30)
        #expect(statuses.count { $0 == "pending" } == 10)
        #expect(statuses.count == 40)
    }
}
