import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("From an intent to jobs", .database) struct TellTests {
    @Test func `a notice gets a delivery for each device and address, and each of these a job`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", platform: "apns")
        try await ground.device(of: ada, "token-2")
        try await ground.device(of: ada, "token-3", app: "vote")
        let answers = try await ground.notify(ground.intent(TestNotices.note, ada))
        #expect(answers.map(\.decision) == [.send([.push, .email, .inbox])])
        #expect(try await ground.statuses() == ["pending"])
        let jobs = try await ground.texts(
            """
            SELECT j.queue || ' ' || j.kind || ' ' || j.args || ' ' || j.priority
            FROM errand.jobs j ORDER BY j.queue
            """)
        let ids = try await ground.texts(
            "SELECT id::text FROM notification.deliveries ORDER BY provider")
        #expect(
            jobs == [
                #"apns notification.push {"delivery_id": \#(ids[0])} 1"#,
                #"fcm notification.push {"delivery_id": \#(ids[1])} 1"#,
                #"mail notification.email {"delivery_id": \#(ids[2])} 1"#,
            ])
        let items = try await ground.texts(
            "SELECT title || ', ' || body FROM notification.inbox_items")
        #expect(items == ["subject, t.note by inbox"])
    }

    @Test func `what goes to the inbox alone is sent at once`() async throws {
        let ground = try await Ground()
        try await ground.notify(ground.intent(TestNotices.nudge, try await ground.person()))
        #expect(try await ground.statuses() == ["sent"])
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
    }

    @Test func `urgent notices go before the others`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.notify(ground.intent(TestNotices.code, ada))
        #expect(try await ground.number("SELECT priority::bigint FROM errand.jobs") == 0)
    }

    @Test func `the same event tells once, in one batch and in several`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        let intent = ground.intent(TestNotices.note, ada, key: "event-1")
        let first = try await ground.notify(intent, intent)
        #expect(first.map(\.isKept) == [true, false])
        let second = try await ground.notify(intent)
        #expect(second.map(\.noticeID) == [nil])
        #expect(second.map(\.decision) == [nil])
        #expect(try await ground.statuses() == ["pending"])
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 1)
    }

    @Test func `within a batch the later see the earlier, and a known event counts for nothing`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.notify(ground.intent(TestNotices.news, ada, key: "known"))
        let keys = ["known", "1", "2", "3", "4"]
        let answers = try await ground.notify(
            all: keys.map { ground.intent(TestNotices.news, ada, key: $0) })
        #expect(answers.map(\.isKept) == [false, true, true, false, false])
        #expect(answers[4].objection == "the cap of 3 promotional notices in 24 hours is reached")
        #expect(try await ground.statuses() == ["sent", "sent", "sent", "dropped", "dropped"])
        // The window rolls: a day after the first there is room for all three.
        let later = Ground.noon.addingTimeInterval(86_400)
        let next = try await ground.notify(
            all: (0..<4).map { _ in ground.intent(TestNotices.news, ada) }, now: later)
        #expect(next.map(\.isKept) == [true, true, true, false])
    }

    @Test func `a reminder is refused with the time of the next, by sender and subject`()
        async throws
    {
        let ground = try await Ground()
        let (ada, bob, eve) = (
            try await ground.person(), try await ground.person(), try await ground.person()
        )
        func nudge(_ sender: Int64, _ subject: String, day: Double) async throws -> NoticeDecision?
        {
            try await ground.notify(
                ground.intent(TestNotices.nudge, ada, of: subject, from: sender),
                now: Ground.noon.addingTimeInterval(day * 86_400)
            ).first?.decision
        }
        #expect(try await nudge(bob, "rent", day: 0) == .send([.inbox]))
        guard case .refuse(let until, _) = try await nudge(bob, "rent", day: 0.5) else {
            Issue.record("a second reminder within a day was not refused")
            return
        }
        #expect(until.description == "2098-06-16T12:00:00Z")
        #expect(try await nudge(eve, "rent", day: 0.5) == .send([.inbox]))
        #expect(try await nudge(bob, "milk", day: 0.5) == .send([.inbox]))
        #expect(try await nudge(bob, "rent", day: 1) == .send([.inbox]))
        #expect(try await nudge(bob, "rent", day: 2) == .send([.inbox]))
        guard case .refuse(let week, _) = try await nudge(bob, "rent", day: 4) else {
            Issue.record("a fourth reminder within a week was not refused")
            return
        }
        #expect(week.description == "2098-06-22T12:00:00Z")
        #expect(try await nudge(bob, "rent", day: 7) == .send([.inbox]))
        #expect(try await ground.statuses().filter { $0 == "refused" }.count == 2)
    }

    @Test func `what is dropped is a row with its reason`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.run(
            """
            INSERT INTO notification.preferences (person_id, kind, channel, is_on)
            SELECT $1, '*', c, false FROM unnest('{push,email,inbox}'::text[]) AS c
            """, [.int64(ada)])
        try await ground.notify(
            ground.intent(TestNotices.note, ada, key: "1"),
            ground.intent(TestNotices.note, ada, key: "2", expires: Instant(date: Ground.noon)))
        #expect(try await ground.statuses() == ["dropped", "expired"])
        #expect(
            try await ground.reasons()
                == ["the person has switched this kind off", "the notice has expired"])
        try await ground.run(
            """
            INSERT INTO notification.preferences (person_id, kind, channel, is_on)
            VALUES ($1, 't.note', 'inbox', true)
            """, [.int64(ada)])
        let answers = try await ground.notify(ground.intent(TestNotices.note, ada))
        #expect(answers.map(\.decision) == [.send([.inbox])])
    }

    @Test func `a kind that nobody declared is an error, and nobody is no person`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        let strange = NoticeKind("t.strange", app: .vote, channels: [.push], fields: [:])
        await #expect(throws: JobError.invalid("t.strange is not a declared kind of notice")) {
            try await ground.notify(ground.intent(strange, ada))
        }
        let answers = try await ground.notify(ground.intent(TestNotices.note, 999))
        #expect(answers.map(\.objection) == ["no person has the id 999"])
        #expect(try await ground.statuses().isEmpty)
    }

    @Test func `what is told goes with the caller's transaction`() async throws {
        struct Interrupted: Error {}
        let ground = try await Ground()
        let ada = try await ground.person()
        await #expect(throws: Interrupted.self) {
            try await ground.pool.transaction { transaction in
                try await ground.planner.notify(
                    [ground.intent(TestNotices.note, ada)], now: Ground.noon, in: transaction)
                throw Interrupted()
            }
        }
        #expect(try await ground.statuses().isEmpty)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
    }
}
