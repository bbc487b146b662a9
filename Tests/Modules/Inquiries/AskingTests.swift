import ErrandInquiries
import ErrandPostgres
import ErrandTestServices
import Testing

/// What people ask.
@Suite("Inquiries: asking", .database) struct AskingTests {
    @Test func `a question opens a thread, and further words belong to it`() async throws {
        let ground = try await InquiryGround()
        let asked = try await ground.ask(2, "1", "When are rewards paid?")
        #expect(asked.reason == "ok" && asked.thread == 1 && asked.message == 1)
        #expect(try await ground.say(1, 2, "2", "Those of surveys.").reason == "ok")
        #expect(
            try await ground.messages(1, 2) == ["When are rewards paid?", "Those of surveys."])
        #expect(try await ground.messages(1, 3) == [])
        let listed = try await ground.texts(
            """
            SELECT concat_ws(' ', thread, mission, is_open, is_answered)
            FROM inquiries.of_person(2)
            """)
        #expect(listed == ["1 t f"])
        #expect(try await ground.texts("SELECT 1::text FROM inquiries.of_person(3)") == [])
    }

    @Test func `a repeated request answers the same, another text is refused`() async throws {
        let ground = try await InquiryGround()
        let first = try await ground.ask(2, "1")
        #expect(try await ground.ask(2, "1") == first)
        let next = try await ground.say(1, 2, "2")
        #expect(try await ground.say(1, 2, "2") == next)
        // After a thread is closed, too.
        _ = try await ground.changes.close(1, reason: nil)
        #expect(try await ground.say(1, 2, "2") == next)
        #expect(try await ground.number("SELECT count(*) FROM inquiries.messages") == 2)
        for refusal in [
            try await ground.refusal { try await ground.ask(2, "1", "Else?") },
            try await ground.refusal { try await ground.say(1, 2, "1") },
            try await ground.refusal { try await ground.say(1, 2, "2", "Else?") },
            try await ground.refusal { try await ground.ask(2, "2", "And when?") },
        ] { #expect(refusal == "23505") }
        // Of another person it is another request.
        #expect(try await ground.ask(3, "1").thread == 2)
        // A thread's request is not one about a mission.
        #expect(try await ground.ask(1, "1", mission: 1).reason == "ok")
        #expect(try await ground.refusal { try await ground.ask(1, "1") } == "23505")
    }

    @Test func `one request from two phones at once is one thread`() async throws {
        let ground = try await InquiryGround()
        let threads = try await withThrowingTaskGroup(of: Int64?.self) { group in
            for _ in 1...6 { group.addTask { try await ground.ask(2, "1").thread } }
            return try await group.reduce(into: Set<Int64?>()) { $0.insert($1) }
        }
        #expect(threads.count == 1)
        #expect(try await ground.number("SELECT count(*) FROM inquiries.threads") == 1)
    }

    @Test func `only a mission that was offered to the person may be named`() async throws {
        let ground = try await InquiryGround()
        #expect(try await ground.ask(1, "1", mission: 1).reason == "ok")
        // Whatever became of it.
        _ = try await ground.session.query("SELECT missions.decline(1, 1)")
        #expect(try await ground.ask(1, "2", mission: 1).reason == "ok")
        for (person, mission) in [(2, 1), (1, 99)] as [(Int64, Int64)] {
            let answer = try await ground.ask(person, "3", mission: mission)
            #expect(answer.reason == "not_yours")
            #expect(answer.thread == nil && answer.message == nil)
        }
    }

    @Test func `after 20 messages in an hour a person waits, by any number of phones`()
        async throws
    {
        let ground = try await InquiryGround()
        let reasons = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 1...24 {
                group.addTask { try await ground.ask(2, "\(number)", "Question").reason }
            }
            return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(reasons == ["ok": 20, "too_many": 4])
        let thread = try await ground.number("SELECT min(id) FROM inquiries.threads")
        let refused = try await ground.say(thread, 2, "x")
        #expect(refused.reason == "too_many" && refused.message == nil)
        let first = try await ground.session.query("SELECT min(at) FROM inquiries.messages")
            .timestamp(0, 0)
        #expect(refused.askAgainAt == first.adding(.seconds(3_600)))
        // Answers of agents do not count, and others may write.
        _ = try await ground.changes.answer(thread, "Patience", request: "a")
        #expect(try await ground.ask(3, "1").reason == "ok")
        #expect(try await ground.say(thread, 2, "x", after: "61 minutes").reason == "ok")
    }

    @Test func `who is blocked or under 16 cannot write, who has no birth date can`()
        async throws
    {
        let ground = try await InquiryGround()
        _ = try await ground.ask(2, "1")
        try await ground.session.script(
            """
            UPDATE people.people SET blocked_at = now() WHERE id = 2;
            UPDATE people.people SET birth_date = current_date - 3650 WHERE id = 3;
            UPDATE people.people SET birth_date = NULL, age_verified_at = NULL WHERE id = 4;
            """)
        #expect(try await ground.ask(2, "2").reason == "blocked")
        #expect(try await ground.say(1, 2, "3").reason == "blocked")
        #expect(try await ground.ask(3, "1").reason == "under_age")
        #expect(try await ground.ask(4, "1").reason == "ok")
    }

    @Test func `bad texts, unknown people and threads of others are errors`() async throws {
        let ground = try await InquiryGround()
        _ = try await ground.ask(2, "1")
        #expect(try await ground.ask(2, "2", String(repeating: "é", count: 4_000)).reason == "ok")
        for text in ["", "  \n", String(repeating: "x", count: 4_001)] {
            #expect(try await ground.refusal { try await ground.ask(2, "3", text) } == "22023")
            #expect(try await ground.refusal { try await ground.say(1, 2, "3", text) } == "22023")
        }
        #expect(try await ground.refusal { try await ground.ask(2, "") } == "22023")
        #expect(try await ground.refusal { try await ground.ask(99, "3") } == "23503")
        #expect(try await ground.refusal { try await ground.say(1, 3, "3") } == "23503")
        #expect(try await ground.refusal { try await ground.say(99, 2, "3") } == "23503")
    }

    @Test func `apps may call these functions, and read no table`() async throws {
        let ground = try await InquiryGround()
        try await ground.session.script("SET ROLE errand_app")
        let reasons = try await ground.texts(
            "SELECT reason FROM inquiries.ask(2, 'Where?', NULL, '1')")
        #expect(reasons == ["ok"])
        #expect(try await ground.messages(1, 2) == ["Where?"])
        for sql in [
            "SELECT FROM inquiries.messages m", "SELECT inquiries.answer(1, 'x', 'x', 'x')",
            "SELECT inquiries.close(1, 'x')", "SELECT inquiries.ask_at(2, 'x', NULL, 'x', now())",
        ] {
            let refusal = try await ground.refusal {
                _ = try await ground.session.query(sql)
            }
            #expect(refusal == "42501", "\(sql)")
        }
        try await ground.session.script("RESET ROLE; SET ROLE errand_inspector")
        let refusal = try await ground.refusal {
            _ = try await ground.session.query("SELECT text FROM inquiries.messages m")
        }
        #expect(refusal == "42501")
        #expect(try await ground.number("SELECT count(thread_id) FROM inquiries.messages m") == 1)
    }
}
