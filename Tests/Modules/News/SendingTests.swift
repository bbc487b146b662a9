import ErrandNews
import ErrandPostgres
import ErrandTestServices
import Testing

/// What operators do with sendings, and what becomes of their jobs.
@Suite("Sendings", .database) struct SendingTests {
    private func jobs(_ ground: NewsGround) async throws -> Int64 {
        try await ground.number("SELECT count(*) FROM errand.jobs WHERE kind = 'news.send'")
    }

    @Test func `the job of a sending notifies all and ends with it`() async throws {
        let ground = try await NewsGround(people: 5)
        let id = try await ground.draft()
        #expect(try await jobs(ground) == 0)
        try await ground.changes.start(id)
        #expect(try await jobs(ground) == 1)
        try await ground.work()
        #expect(try await ground.sending(id).state == .done)
        #expect(try await jobs(ground) == 0)
        #expect(try await ground.notified() == Array(1...5))
    }

    @Test func `paused it notifies nobody, and resumed it goes on behind the last person`()
        async throws
    {
        let ground = try await NewsGround()
        let id = try await ground.draft()
        try await ground.changes.start(id)
        try await ground.chunk(id)
        try await ground.changes.change(id, .pause)
        try await ground.work()
        #expect(try await jobs(ground) == 0)
        #expect(try await ground.notified() == [1, 2, 3, 4])
        #expect(try await ground.sending(id).left == 6)
        try await ground.changes.change(id, .resume)
        #expect(try await jobs(ground) == 1)
        try await ground.work()
        #expect(try await ground.notified() == Array(1...10))
        #expect(try await ground.sending(id).state == .done)
    }

    @Test func `a resume before the paused job has ended uses that job`() async throws {
        let ground = try await NewsGround(people: 3)
        let id = try await ground.draft()
        try await ground.changes.start(id)
        try await ground.changes.change(id, .pause)
        try await ground.changes.change(id, .resume)
        #expect(try await jobs(ground) == 1)
        try await ground.work()
        #expect(try await ground.sending(id).state == .done)
    }

    @Test func `cancelled it notifies nobody else`() async throws {
        let ground = try await NewsGround()
        let id = try await ground.draft()
        try await ground.changes.start(id)
        try await ground.chunk(id)
        try await ground.changes.change(id, .cancel)
        try await ground.work()
        let sending = try await ground.sending(id)
        #expect(sending.state == .cancelled && sending.notified == 4 && sending.left == 6)
        #expect(try await ground.notified() == [1, 2, 3, 4])
    }

    @Test func `each change needs its state, and says which it met`() async throws {
        let ground = try await NewsGround(people: 3)
        let (changes, id) = (ground.changes, try await ground.draft())
        func refusal(_ action: SendingChanges.Action) async throws -> SendingError? {
            try await ground.refusal { try await changes.change(id, action) }
        }
        #expect(try await refusal(.pause) == .state(id, "draft"))
        #expect(try await refusal(.resume) == .state(id, "draft"))
        try await changes.start(id)
        #expect(try await ground.refusal { try await changes.start(id) } == .state(id, "running"))
        #expect(try await refusal(.resume) == .state(id, "running"))
        try await changes.change(id, .pause)
        #expect(try await refusal(.pause) == .state(id, "paused"))
        try await changes.change(id, .cancel)
        #expect(try await refusal(.cancel) == .state(id, "cancelled"))
        #expect(try await refusal(.resume) == .state(id, "cancelled"))
        #expect(try await ground.refusal { try await changes.start(99) } == .unknown(99))
        let lines = try await ground.texts("SELECT action FROM errand.audit ORDER BY id")
        #expect(lines == ["news draft", "news send", "news pause", "news cancel"])
    }

    @Test func `of operators who start it at once, one does`() async throws {
        let ground = try await NewsGround(people: 3)
        let id = try await ground.draft()
        let started = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 1...6 {
                group.addTask {
                    let session = try TestDatabase.here().session()
                    let changes = SendingChanges(session: session, actor: "Olga \(number)")
                    do {
                        try await changes.start(id)
                        return true
                    } catch SendingError.state(id, "running") { return false }
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(started == 1)
        #expect(try await jobs(ground) == 1)
    }

    @Test func `the same text for the same people is not sent again within 7 days`()
        async throws
    {
        let ground = try await NewsGround(people: 3)
        let ids = [try await ground.draft(), try await ground.draft()]
        let answers = try await withThrowingTaskGroup(of: SendingError?.self) { group in
            for id in ids {
                group.addTask {
                    let session = try TestDatabase.here().session()
                    return try await ground.refusal {
                        try await SendingChanges(session: session, actor: "Olga").start(id)
                    }
                }
            }
            return try await group.reduce(into: [SendingError?]()) { $0.append($1) }
        }
        #expect(answers.count { $0 == nil } == 1)
        let refusals = answers.compactMap(\.self)
        #expect(refusals == [.same(as: ids[0])] || refusals == [.same(as: ids[1])])
        let other = try await ground.draft(headline: "Three cities more")
        try await ground.changes.start(other)
        // One that has run for longer has not reached everybody yet.
        try await ground.session.script(
            "UPDATE news.sendings SET started_at = started_at - interval '8 days'")
        let again = try await ground.draft()
        #expect(try await ground.refusal { try await ground.changes.start(again) } != nil)
        try await ground.session.script(
            """
            UPDATE news.sendings SET state = 'done', ended_at = now() WHERE started_at IS NOT NULL
            """)
        try await ground.changes.start(again)
    }

    @Test func `what cannot be sent cannot be drafted`() async throws {
        let ground = try await NewsGround(people: 1)
        for (kind, audience, version, headline) in [
            ("coupon.nearby", "all", nil, "x"), ("company.terms", "all", nil, "x"),
            ("company.news", "all", "1", "x"), ("company.news", "some", nil, "x"),
            ("company.news", "list", nil, "x"), ("company.news", "all", nil, ""),
            ("company.news", "all", nil, "two\nlines"),
        ] as [(String, String, String?, String)] {
            let refusal = try await ground.refusal {
                try await ground.draft(
                    kind, to: audience, version: version, headline: headline)
            }
            guard case .invalid = refusal else {
                Issue.record("\(kind) \(audience): \(String(describing: refusal))")
                continue
            }
            // A dry run says the same.
            let draft = SendingDraft(
                kind: kind, audience: audience, headline: headline, summary: "Halifax and Laval.",
                body: "We are in two cities more.", version: version)
            let dry = try await ground.refusal {
                _ = try await SendingRows(session: ground.session)
                    .check(draft, sending: nil, now: .now())
            }
            #expect(dry == refusal)
        }
        #expect(try await ground.number("SELECT count(*) FROM news.sendings") == 0)
    }

    @Test func `a text that is too long for its people is not sent`() async throws {
        let ground = try await NewsGround(people: 3)
        let id = try await ground.draft()
        let bytes = "We are in two cities more.".utf8.count
        try await ground.session.script(
            "UPDATE news.rules SET most_bytes = \(3 * bytes - 1)")
        func refused(_ body: () async throws -> Void) async throws -> Bool {
            guard case .invalid(let words) = try await ground.refusal(body) else { return false }
            return words.contains("shorten the text, and link to the rest")
        }
        #expect(try await refused { try await ground.changes.start(id) })
        #expect(try await ground.sending(id).state == .draft)
        #expect(try await jobs(ground) == 0)
        let draft = SendingDraft(
            kind: "company.news", audience: "all", headline: "x", summary: "x",
            body: "We are in two cities more.")
        let rows = SendingRows(session: ground.session)
        #expect(try await refused { _ = try await rows.check(draft, sending: nil, now: .now()) })
        try await ground.session.script("UPDATE news.rules SET most_bytes = \(3 * bytes)")
        #expect(try await rows.check(draft, sending: nil, now: .now()) == 3)
        try await ground.changes.start(id)
    }

    @Test func `a sending that lost its job or stays paused is stuck, and can be resumed`()
        async throws
    {
        let ground = try await NewsGround(people: 3)
        let id = try await ground.draft()
        let rows = SendingRows(session: ground.session)
        func stuck(_ after: Double) async throws -> [Bool] {
            try await rows.stuck(now: Instant.now().adding(.seconds(after))).map(\.isRunning)
        }
        try await ground.changes.start(id)
        #expect(try await stuck(0) == [])
        #expect(try await stuck(660) == [true])
        // As a dead letter is no live job.
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        try await ground.changes.change(id, .pause)
        #expect(try await stuck(660) == [])
        #expect(try await stuck(90_000) == [false])
        try await ground.changes.change(id, .resume)
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        try await ground.changes.change(id, .resume)
        #expect(try await jobs(ground) == 1)
        try await ground.work()
        #expect(try await ground.sending(id).state == .done)
    }

    @Test func `lists are forgotten with their person, and 90 days after the end`() async throws {
        let ground = try await NewsGround(people: 5)
        let ids = [
            try await ground.draft(to: "list", people: [1, 2, 3]),
            try await ground.draft(to: "list", people: [1, 4]),
        ]
        try await ground.changes.start(ids[0])
        try await ground.sendAll(ids[0])
        let known = try await ground.texts(
            "SELECT jsonb_array_length(news.personal_data(1) -> 'recipients')::text")
        #expect(known == ["2"])
        for count in ["2", "0"] {
            let erased = try await ground.texts(
                "SELECT object || ' ' || action || ' ' || rows FROM news.erase(1)")
            #expect(erased == ["news.recipients deleted \(count)"])
        }
        func forget(_ age: String, _ counting: Bool) async throws -> Int64 {
            try await ground.number(
                "SELECT news.forget_recipients(now() + $1::text::interval - keep, 10, $2) "
                    + "FROM people.retention_rules WHERE name = 'news.recipients'",
                [.text(age), .bool(counting)])
        }
        #expect(try await forget("89 days", true) == 0)
        #expect(try await forget("91 days", true) == 3)
        #expect(try await forget("91 days", false) == 3)
        #expect(try await forget("91 days", true) == 0)
        // Nobody is left whom the draft could be sent to.
        #expect(try await ground.sending(ids[1]).state == .cancelled)
    }
}
