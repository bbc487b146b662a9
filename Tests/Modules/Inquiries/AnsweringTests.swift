import ErrandInquiries
import ErrandPostgres
import ErrandTestServices
import Testing

/// The answers of agents, alerts, and the end of threads.
@Suite("Inquiries: answering", .database) struct AnsweringTests {
    @Test func `an answer notifies the person, without its text`() async throws {
        let ground = try await InquiryGround()
        _ = try await ground.ask(2, "1")
        let message = try await ground.changes.answer(1, "On Mondays.", request: "a")
        #expect(try await ground.changes.answer(1, "On Mondays.", request: "a") == message)
        #expect(try await ground.messages(1, 2) == ["Where is it?", "> On Mondays."])
        #expect(try await ground.notices(2) == ["inquiry.answered"])
        #expect(try await ground.thread(1).state == "answered")
        let traces = try await ground.number(
            """
            SELECT (SELECT count(*) FROM notification.notices WHERE data::text LIKE '%Mondays%')
                + (SELECT count(*) FROM errand.audit a WHERE a::text LIKE '%Mondays%')
                + (SELECT count(*) FROM errand.jobs j WHERE j::text LIKE '%Mondays%')
            """)
        #expect(traces == 0)
        var repeated = false
        let again = try await ground.refusal {
            do {
                _ = try await ground.changes.answer(1, "On Tuesdays.", request: "a")
            } catch ThreadError.repeated { repeated = true }
        }
        #expect(again == nil)
        #expect(repeated == true)
    }

    @Test func `without a request the same text is one answer, until the person writes again`()
        async throws
    {
        let ground = try await InquiryGround()
        _ = try await ground.ask(2, "1")
        func answer(_ text: String, by agent: String = "Olga") async throws -> Int64 {
            try await ground.pool.withSession { session in
                try await ThreadChanges(session: session, actor: agent)
                    .answer(1, text, request: nil)
            }
        }
        let first = try await answer("On Mondays.")
        #expect(try await answer("On Mondays.") == first)
        #expect(try await answer("At noon.") == first + 1)
        #expect(try await answer("On Mondays.") == first)
        #expect(try await answer("On Mondays.", by: "Ann") == first + 2)
        #expect(try await ground.notices(2).count == 3)
        // The same text to a closed thread opens it again.
        _ = try await ground.session.query("SELECT inquiries.close(1, 'Olga')")
        #expect(try await answer("On Mondays.") == first + 3)
        #expect(try await ground.thread(1).state == "answered")
        _ = try await ground.say(1, 2, "2", "Really?")
        let again = try await answer("On Mondays.")
        #expect(again > first + 4)
        let both = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 1...4 { group.addTask { try await answer("Yes.") } }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(both.count == 1)
    }

    @Test func `it is urgent while the person is on the mission, and only then`() async throws {
        let ground = try await InquiryGround()
        func answer() async throws -> String? {
            let number = try await ground.number("SELECT count(*) FROM inquiries.messages")
            _ = try await ground.changes.answer(1, "Left.", request: "\(number)")
            return try await ground.notices(1).last
        }
        _ = try await ground.ask(1, "1", mission: 1)
        #expect(try await answer() == "inquiry.answered", "it is offered")
        _ = try await ground.session.query("SELECT missions.accept(1, 1)")
        #expect(try await answer() == "inquiry.answered_now")
        func shift(_ interval: String) async throws {
            try await ground.session.script(
                """
                BEGIN; SET LOCAL session_replication_role = replica;
                UPDATE missions.missions SET opens_at = opens_at + interval '\(interval)',
                    closes_at = closes_at + interval '\(interval)'; COMMIT
                """)
        }
        try await shift("2 hours")
        #expect(try await answer() == "inquiry.answered", "it has not begun")
        try await shift("-2 hours")
        _ = try await ground.session.query("SELECT missions.arrive(1, 1, -73.5, 45.5, 10)")
        #expect(try await answer() == "inquiry.answered_now")
        _ = try await ground.ask(1, "2")
        _ = try await ground.changes.answer(2, "Yes.", request: "x")
        #expect(try await ground.notices(1).last == "inquiry.answered", "of another question")
        // Who completes a submission that was returned has left.
        try await ground.session.script(
            """
            SELECT missions.finish_step(1, 1, n, '{}') FROM generate_series(1, 3) n;
            SELECT missions.submit(1, 1, 'r'), missions.review(1, 'Olga', 'return', 'no')
            """)
        #expect(try await answer() == "inquiry.answered", "it was returned")
    }

    @Test func `operators are alerted after 10 minutes or 4 hours, once for each message`()
        async throws
    {
        let ground = try await InquiryGround()
        try await ground.takeAlerts()
        _ = try await ground.ask(1, "1", "Private", mission: 1)
        _ = try await ground.say(1, 1, "2")
        _ = try await ground.ask(2, "1")
        #expect(try await ground.sweep(after: .seconds(590)) == [:])
        #expect(try await ground.sweep(after: .seconds(660)) == ["alert": 2])
        #expect(try await ground.sweep(after: .seconds(720)) == [:])
        #expect(try await ground.thread(1).isLate)
        #expect(try await !ground.thread(2).isLate)
        let rows = ThreadRows(session: ground.session)
        #expect(try await rows.late(now: .now()).waiting == 1)
        let later = try await rows.late(now: .now().adding(.seconds(15_060)))
        #expect(later.waiting == 2 && later.notAlerted == [2] && later.takesAlerts)
        #expect(try await ground.sweep(after: .seconds(14_300)) == [:])
        #expect(try await ground.sweep(after: .seconds(14_460)) == ["alert": 1])
        // A new message waits on its own.
        _ = try await ground.say(1, 1, "3")
        #expect(try await ground.sweep(after: .seconds(660)) == ["alert": 1])
        _ = try await ground.changes.answer(1, "Left.", request: "a")
        #expect(try await !ground.thread(1).isLate)
        #expect(try await rows.late(now: .now()).waiting == 1)
    }

    @Test func `what is answered or closed in time alerts nobody`() async throws {
        let ground = try await InquiryGround()
        try await ground.takeAlerts()
        _ = try await ground.ask(1, "1", mission: 1)
        _ = try await ground.ask(2, "1")
        _ = try await ground.changes.answer(1, "Left.", request: "a")
        #expect(try await ground.changes.close(2, reason: "spam"))
        #expect(try await !ground.changes.close(2, reason: "spam"))
        #expect(try await ground.sweep(after: .seconds(86_400)) == [:])
        #expect(try await ground.thread(2).state == "unanswered")
        #expect(try await ThreadRows(session: ground.session).late(now: .now()).unanswered == 1)
        #expect(try await ground.say(2, 2, "2").reason == "closed")
        // The agent has thought better of it.
        _ = try await ground.changes.answer(2, "On Mondays.", request: "b")
        #expect(try await ground.thread(2).state == "answered")
        #expect(try await ground.say(2, 2, "2").reason == "ok")
        #expect(try await ground.sweep(after: .seconds(14_460)) == ["alert": 1])
    }

    @Test func `an alert is an event for operators, without the text`() async throws {
        let ground = try await InquiryGround()
        try await ground.takeAlerts()
        _ = try await ground.ask(1, "1", "Private", mission: 1)
        try await ground.sweep(after: .seconds(660))
        let events = try await ground.texts(
            "SELECT owner || ' ' || (data - 'waiting_since') FROM notification.events")
        #expect(events == [#"operator {"thread": "1", "mission": "1"}"#])
    }

    @Test func `without an endpoint nobody was alerted, and the first endpoint gets the alerts`()
        async throws
    {
        let ground = try await InquiryGround()
        _ = try await ground.ask(1, "1", mission: 1)
        _ = try await ground.ask(2, "1")
        #expect(try await ground.sweep(after: .seconds(15_060)) == [:])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM inquiries.messages WHERE alerted_at IS NOT NULL") == 0)
        let rows = ThreadRows(session: ground.session)
        let late = try await rows.late(now: .now().adding(.seconds(15_060)))
        #expect(late.waiting == 2 && late.notAlerted == [1, 2] && !late.takesAlerts)
        #expect(try await !ground.thread(1).isLate)
        try await ground.session.script(
            "UPDATE inquiries.messages SET alert_at = now() - interval '1 minute' WHERE id = 1")
        #expect(try await ground.thread(1).isLate)
        try await ground.takeAlerts()
        #expect(try await ground.sweep(after: .seconds(15_060)) == ["alert": 2])
        #expect(try await rows.late(now: .now().adding(.seconds(15_060))).notAlerted == [])
    }

    @Test func `several sweeps at once alert once`() async throws {
        let ground = try await InquiryGround()
        try await ground.takeAlerts()
        for person in 2...4 as ClosedRange<Int64> {
            for number in 1...5 { _ = try await ground.ask(person, "\(number)") }
        }
        let alerts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...4 {
                group.addTask { try await ground.sweep(after: .seconds(14_460))["alert"] ?? 0 }
            }
            return try await group.reduce(0, +)
        }
        #expect(alerts == 15)
    }

    @Test func `a thread closes after 7 days without a word, by the clock`() async throws {
        let ground = try await InquiryGround()
        try await ground.takeAlerts()
        _ = try await ground.ask(2, "1")
        _ = try await ground.changes.answer(1, "On Mondays.", request: "a")
        _ = try await ground.ask(3, "1")
        let (before, after) = (Duration.seconds(7 * 86_400 - 60), Duration.seconds(7 * 86_400 + 60))
        #expect(try await ground.sweep(after: before) == ["alert": 1])
        #expect(try await ground.say(1, 2, "2", after: "6 days 23 hours").reason == "ok")
        #expect(try await ground.say(2, 3, "2", after: "7 days 1 minute").reason == "closed")
        #expect(try await ground.sweep(after: after) == ["close_silent": 1])
        #expect(try await ground.thread(1).state == "waiting")
        #expect(try await ground.thread(2).state == "unanswered")
        #expect(try await ground.thread(2).closedBy == nil)
    }

    @Test func `pages of those who wait neither skip nor repeat, whatever is answered meanwhile`()
        async throws
    {
        let ground = try await InquiryGround()
        for number in 1...6 { _ = try await ground.ask(2, "\(number)") }
        let rows = ThreadRows(session: ground.session)
        func page(behind: Int64?) async throws -> [ThreadRecord] {
            var filter = ThreadFilter()
            filter.isWaiting = true
            filter.behind = behind
            filter.limit = 2
            return try await rows.page(filter, now: .now())
        }
        let first = try await page(behind: nil)
        #expect(first.map(\.id) == [1, 2])
        // The last thread of the page is answered, and another asks again.
        _ = try await ground.changes.answer(2, "Yes.", request: "a")
        _ = try await ground.changes.answer(1, "Yes.", request: "a")
        _ = try await ground.say(1, 2, "x")
        let second = try await page(behind: first.last?.waitingFrom)
        #expect(second.map(\.id) == [3, 4])
        _ = try await ground.changes.answer(4, "Yes.", request: "a")
        _ = try await ground.say(4, 2, "y")
        let third = try await page(behind: second.last?.waitingFrom)
        #expect(third.map(\.id) == [5, 6])
        // These two wait as of their new words.
        #expect(try await page(behind: third.last?.waitingFrom).map(\.id) == [1, 4])
    }

    @Test func `a person who is to be erased gets no answer`() async throws {
        let ground = try await InquiryGround()
        _ = try await ground.ask(2, "1")
        _ = try await ground.session.query(
            "UPDATE people.people SET blocked_at = now() WHERE id = 2")
        await #expect(throws: ThreadError.refused(1, "blocked")) {
            _ = try await ground.changes.answer(1, "On Mondays.", request: "a")
        }
        await #expect(throws: ThreadError.unknown(9)) {
            _ = try await ground.changes.answer(9, "On Mondays.", request: "a")
        }
        await #expect(throws: ThreadError.self) {
            _ = try await ground.changes.answer(1, " ", request: "a")
        }
    }

    @Test func `erasure deletes what a person asked, and the answers`() async throws {
        let ground = try await InquiryGround()
        _ = try await ground.ask(2, "1")
        _ = try await ground.changes.answer(1, "On Mondays.", request: "a")
        _ = try await ground.ask(3, "1")
        let data = try await ground.texts("SELECT inquiries.personal_data(2)::text")
        #expect(data[0].contains("Where is it?") && data[0].contains("On Mondays."))
        #expect(!data[0].contains("Olga"))
        for count in [(2, 1), (0, 0)] {
            let erased = try await ground.texts(
                "SELECT object || ' ' || rows FROM inquiries.erase(2)")
            #expect(erased == ["inquiries.messages \(count.0)", "inquiries.threads \(count.1)"])
        }
        #expect(try await ground.messages(2, 3) == ["Where is it?"])
    }

    @Test func `messages are deleted after 12 months, and then their thread`() async throws {
        let ground = try await InquiryGround()
        _ = try await ground.ask(2, "1")
        _ = try await ground.changes.answer(1, "On Mondays.", request: "a")
        func forget(_ age: String, _ most: Int32, _ counting: Bool) async throws -> Int64 {
            try await ground.number(
                """
                SELECT inquiries.forget_messages(now() + $1::text::interval - keep, $2, $3)
                FROM people.retention_rules WHERE name = 'inquiries.messages'
                """, [.text(age), .int32(most), .bool(counting)])
        }
        #expect(try await forget("364 days", 10, true) == 0)
        #expect(try await forget("367 days", 10, true) == 2)
        #expect(try await forget("367 days", 1, false) == 1)
        #expect(try await ground.number("SELECT count(*) FROM inquiries.threads") == 1)
        #expect(try await forget("367 days", 10, false) == 1)
        #expect(try await ground.number("SELECT count(*) FROM inquiries.threads") == 0)
        #expect(try await forget("367 days", 10, false) == 0)
    }
}
