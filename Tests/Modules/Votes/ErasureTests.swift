import Errand
import ErrandPostgres
import ErrandTestServices
import ErrandVotes
import Testing

// "Nobody can be erased as a whole; only `votes.erase`."
@Suite("Erasing people from votes", .database) struct ErasureTests {
    /// What the erasure counts, without rows of none.
    private func erase(_ ground: VoteGround, _ person: Int64) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', object, action, rows) FROM votes.erase($1) WHERE rows > 0
            """, [.int64(person)])
    }

    /// The rows of votes with a text.
    private func rows(_ ground: VoteGround, with pattern: String) async throws -> Int64 {
        let tables = try await ground.texts(
            """
            SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
            WHERE schemaname = 'votes' ORDER BY 1
            """)
        var found: Int64 = 0
        for table in tables {
            found += try await ground.number(
                "SELECT count(*) FROM \(table) t WHERE t::text ~* $1", [.text(pattern)])
        }
        return found
    }

    @Test func `a person's name and address are gone at once, and the ballots count`() async throws
    {
        let ground = try await VoteGround()
        let (over, open, joined) = (
            try await ground.open(), try await ground.open(), try await ground.open()
        )
        for person in 2...5 as ClosedRange<Int64> {
            try await ground.vote(over, person, [1])
            try await ground.vote(open, person, [2])
            try await ground.join(joined, person)
        }
        try await ground.end(over)
        try await ground.work()
        let receipt = try await ground.vote(joined, 6, [3])
        #expect(try await rows(ground, with: "Person 3|Door 3") == 3)
        #expect(
            try await erase(ground, 3)
                == ["votes.participants deleted 1", "votes.participants anonymized 2"])
        #expect(try await erase(ground, 3) == [])
        #expect(try await rows(ground, with: "Person 3|Door 3") == 0)
        #expect(try await ground.number("SELECT count(*) FROM votes.history(3)") == 0)
        #expect(try await ground.names(over) == ["Person 2", "Person 4", "Person 5"])
        #expect(try await ground.totals(over) == [4, 0, 0])
        try await ground.check(over)
        // Nobody was waiting for an erased one.
        #expect(try await ground.cast(joined, 3).reason == "not_joined")
        try await ground.end(open)
        try await ground.end(joined)
        try await ground.work()
        #expect(try await ground.totals(open) == [0, 4, 0])
        #expect(try await ground.totals(joined) == [0, 0, 1])
        #expect(try await ground.verdict(receipt) == "ok")
        #expect(
            try await ground.number("SELECT count(*) FROM votes.participants WHERE person_id = 3")
                == 0)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM notification.notices WHERE person_id = 3 AND subject <> $1",
                [.text("vote:\(over)")]) == 0)
        try await ground.check(open)
    }

    @Test func `who votes twice and is erased can still be left out`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        var receipts: [String] = []
        for (person, name) in [(2, "Ann Lee"), (3, "ann  LEE"), (4, "Bob")] as [(Int64, String)] {
            receipts.append(try await ground.vote(vote, person, [1], as: name))
        }
        // Before the closing; and another one during the review.
        #expect(try await erase(ground, 3) == ["votes.participants anonymized 1"])
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote) == "review deadline")
        let entries = """
            SELECT concat_ws(' ', person_id, coalesce(name, 'none'))
            FROM votes.exceptions(\(vote), 1)
            """
        #expect(try await ground.texts(entries) == ["2 Ann Lee", "3 none"])
        _ = try await erase(ground, 2)
        #expect(try await rows(ground, with: "ann +lee") == 0)
        #expect(try await ground.texts(entries) == ["2 none", "3 none"])
        let key = try await ground.texts(
            "SELECT name_key FROM votes.exceptions(\(vote), 1) LIMIT 1")
        _ = try await ground.session.query(
            "SELECT votes.resolve($1, 1, $2, 'reject', '{3}', 'Ann Lee twice')",
            [.int64(vote), .text(key[0])])
        try await ground.work()
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.totals(vote) == [2, 0, 0])
        #expect(try await ground.verdict(receipts[1]) == "not_included")
        #expect(try await ground.names(vote) == ["Bob"])
        #expect(try await rows(ground, with: "ann +lee") == 0)
    }

    @Test func `an initiator is erased, and the votes of others go on`() async throws {
        let ground = try await VoteGround()
        func open(_ subject: String) async throws -> Int64 {
            try await ground.number(
                """
                SELECT votes.open($1, '{a,b}', 1, clock_timestamp() + interval '1 hour',
                    initiator_name => 'Zoë Roy')
                """, [.text(subject)])
        }
        let (alone, open1, reviewed, over) = (
            try await open("alone"), try await open("open"), try await open("reviewed"),
            try await open("over")
        )
        try await ground.join(alone, 1)
        try await ground.vote(open1, 2, as: "Max")
        try await ground.vote(open1, 3, as: "max")
        try await ground.vote(reviewed, 2, as: "Max")
        try await ground.vote(reviewed, 3, as: "max")
        try await ground.vote(over, 2)
        try await ground.end(over)
        try await ground.end(reviewed)
        try await ground.work()
        #expect(try await ground.state(reviewed) == "review deadline")
        _ = try await ground.session.query(
            "UPDATE people.people SET blocked_at = clock_timestamp() WHERE id = 1")
        _ = try await ground.session.query("SELECT votes.block(1)")
        #expect(try await ground.state(alone) == "cancelled")
        #expect(try await ground.state(open1) == "open")
        #expect(
            try await erase(ground, 1)
                == [
                    "votes.participants anonymized 1", "votes.votes anonymized 4",
                    "votes.options anonymized 2", "votes.votes kept 4",
                ])
        #expect(try await erase(ground, 1) == ["votes.votes kept 4"])
        #expect(try await rows(ground, with: "Zoë") == 0)
        // Nobody is left to look at equal names: they count, and the result says so.
        try await ground.work()
        #expect(try await ground.state(reviewed) == "published deadline")
        try await ground.end(open1)
        try await ground.work()
        #expect(try await ground.state(open1) == "published deadline")
        for vote in [reviewed, open1] {
            #expect(
                try await ground.texts(
                    "SELECT DISTINCT has_unresolved || ' ' || counted FROM votes.result($1)",
                    [.int64(vote)]) == ["true 2"])
        }
    }

    @Test func `who is to be erased opens and joins no vote`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        _ = try await ground.session.query(
            "UPDATE people.people SET blocked_at = clock_timestamp() WHERE id IN (1, 2)")
        #expect(try await ground.join(vote, 2).reason == "blocked")
        #expect(try await ground.join(vote, 3).reason == "ok")
        let open = "SELECT votes.open('S', '{a,b}', 1, clock_timestamp() + interval '1 hour')"
        #expect(try await ground.refusal(open) == "RU001")
    }

    @Test func `what votes know of a person is told, but for what is sealed`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(password: "geheim")
        try await ground.join(vote, 2, password: "geheim")
        try await ground.cast(vote, 2, [3], password: "geheim")
        try await ground.cast(vote, 2, [3], password: "falsch")
        _ = try await ground.join(vote, 3, password: "falsch")
        let data = "SELECT (votes.personal_data($1) #> $2::text[])::text"
        func told(_ person: Int64, _ path: String) async throws -> [String] {
            try await ground.texts(data, [.int64(person), .text(path)])
        }
        #expect(try await told(2, "{participants,0,name}") == ["\"Person 2\""])
        #expect(try await told(2, "{participants,0,address}") == ["\"Door 2\""])
        #expect(
            try await told(2, "{casts}") == ["[{\"sealed\": \"sealed\", \"vote_id\": \(vote)}]"])
        #expect(try await told(3, "{guesses,0,count}") == ["1"])
        #expect(try await told(1, "{votes,0,options}") == ["[\"Ann\", \"Bob\", \"Cy\"]"])
        #expect(
            try await told(9, "{}")
                == ["{\"casts\": [], \"votes\": [], \"guesses\": [], \"participants\": []}"])
        #expect(try await erase(ground, 3) == ["votes.guesses deleted 1"])
    }

    @Test func `a cast and an erasure at once leave either both or neither`() async throws {
        let rounds = 20
        let ground = try await VoteGround(people: rounds + 1, ready: 1)
        let vote = try await ground.open(expected: Int32(rounds))
        let accepted = Notebook<Int64>()
        for person in 2...Int64(rounds + 1) {
            try await ground.join(vote, person)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let answer = try await ground.cast(vote, person)
                    if answer.isAccepted { accepted.add(person) }
                    #expect(["ok", "not_joined"].contains(answer.reason))
                }
                group.addTask {
                    _ = try await ground.pool.withSession {
                        try await $0.query("SELECT * FROM votes.erase($1)", [.int64(person)])
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(try await rows(ground, with: "Person|Door") == 0)
        _ = try await ground.session.query("SELECT votes.close($1, true)", [.int64(vote)])
        try await ground.work()
        #expect(try await ground.state(vote).hasPrefix("published"))
        #expect(try await ground.totals(vote) == [Int32(accepted.count), 0, 0])
    }

    @Test func `old votes forget their people in batches, and keep their results`() async throws {
        let ground = try await VoteGround()
        let (old, recent, open) = (
            try await ground.open(), try await ground.open(), try await ground.open()
        )
        for vote in [old, recent, open] {
            for person in 2...6 as ClosedRange<Int64> { try await ground.vote(vote, person) }
        }
        for vote in [old, recent] { try await ground.end(vote) }
        try await ground.work()
        try await ground.session.script("ALTER TABLE votes.votes DISABLE TRIGGER guards_vote")
        _ = try await ground.session.query(
            """
            UPDATE votes.votes SET published_at = published_at - interval '25 months' WHERE id = $1
            """, [.int64(old)])
        try await ground.session.script("ALTER TABLE votes.votes ENABLE TRIGGER guards_vote")
        let rule = try await ground.texts(
            """
            SELECT module || '.' || routine || ' ' || keep FROM people.retention_rules
            WHERE name = 'votes.participants'
            """)
        #expect(rule == ["votes.forget_participants 2 years"])
        func run(_ rows: Int32, isDry: Bool = false) async throws -> Int64 {
            try await ground.number(
                "SELECT votes.forget_participants(now() - interval '2 years', $1, $2)",
                [.int32(rows), .bool(isDry)])
        }
        // Five participants and the vote itself; no more are counted than asked for.
        #expect(try await run(3, isDry: true) == 3)
        #expect(try await run(100, isDry: true) == 6)
        #expect(try await run(3) == 3)
        #expect(try await run(100, isDry: true) == 3)
        #expect(try await run(100) == 3)
        #expect(try await run(100) == 0)
        #expect(try await ground.names(old) == [])
        #expect(try await ground.totals(old) == [5, 0, 0])
        #expect(try await ground.names(recent).count == 5)
        #expect(try await ground.number("SELECT count(*) FROM votes.history(2)") == 2)
        try await ground.check(old)
    }

    @Test func `a person with ten thousand rows is erased by indexes`() async throws {
        let ground = try await VoteGround(people: 3, ready: 1)
        _ = try await ground.open()
        // As many votes, without opening each.
        try await ground.session.script(
            """
            INSERT INTO votes.keys (vote_id, sealed)
            SELECT 100 + n, '\\x00' FROM generate_series(1, 10000) n;
            INSERT INTO votes.votes (id, initiator, key_id, opens_at, closes_at, options,
                max_choices, subject) OVERRIDING SYSTEM VALUE
            SELECT k.vote_id, 1, k.id, now() - interval '1 day', now() + interval '1 day', 2, 1, 'S'
            FROM votes.keys k WHERE k.vote_id > 100;
            INSERT INTO votes.participants (vote_id, person_id, joined_on, has_cast, name, name_key)
            SELECT v.id, p, current_date, v.id % 2 = 0, 'Ann', 'ann'
            FROM votes.votes v, generate_series(2, 3) p WHERE v.id > 100;
            ALTER TABLE votes.votes DISABLE TRIGGER guards_vote;
            UPDATE votes.votes SET state = 'cancelled' WHERE id % 4 = 0;
            ALTER TABLE votes.votes ENABLE TRIGGER guards_vote;
            ANALYZE votes.votes, votes.participants
            """)
        #expect(
            try await erase(ground, 2)
                == ["votes.participants deleted 5000", "votes.participants anonymized 5000"])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM votes.participants WHERE person_id = 3 AND NOT is_erased")
                == 10_000)
    }
}
