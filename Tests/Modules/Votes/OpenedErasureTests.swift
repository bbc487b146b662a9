import Errand
import ErrandPostgres
import ErrandTestServices
import ErrandVotes
import Testing

@Suite("Erasing people who opened votes", .database) struct OpenedErasureTests {
    /// Opens a vote of the first person, whose words all have a mark.
    private func open(_ ground: VoteGround, _ request: String, by person: Int64 = 1) async throws
        -> Int64
    {
        try await ground.number(
            """
            SELECT votes.open('Secret subject', '{secret a,secret b}', $2,
                clock_timestamp() + interval '1 hour', longitude => 10.5, latitude => 50.5,
                place => 'secret home', initiator_name => 'Secret Roy',
                request_id => 'secret ' || $1)
            """, [.text(request), .int64(person)])
    }

    private func erase(_ ground: VoteGround, _ person: Int64 = 1) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', replace(object, 'votes.', ''), action, rows)
            FROM votes.erase($1) WHERE rows > 0 AND action <> 'kept'
            """, [.int64(person)])
    }

    /// What is left of a vote's words and of its place.
    private func words(_ ground: VoteGround, _ vote: Int64) async throws -> String {
        try await ground.texts(
            """
            SELECT concat_ws(', ', v.subject, (SELECT string_agg(o.label, '/' ORDER BY o.number)
                    FROM votes.options o WHERE o.vote_id = v.id),
                v.place_name, v.map_point[0], v.initiator_name, v.request_id)
            FROM votes.votes v WHERE v.id = $1
            """, [.int64(vote)])[0]
    }

    // "Votes that nobody else joined keep subject, options and the place after the erasure"
    @Test func `votes in which nobody else took part keep no word`() async throws {
        let ground = try await VoteGround(ready: 10)
        let (unjoined, alone, empty) = (
            try await open(ground, "1"), try await open(ground, "2"), try await open(ground, "3")
        )
        try await ground.join(unjoined, 1)
        let receipt = try await ground.vote(alone, 1, [2])
        for vote in [alone, empty] { try await ground.end(vote) }
        try await ground.work()
        #expect(try await ground.state(empty) == "published deadline")
        #expect(
            try await erase(ground)
                == ["participants anonymized 2", "votes anonymized 3", "options anonymized 6"])
        for vote in [unjoined, alone, empty] {
            #expect(try await words(ground, vote) == "Erased, Erased 1/Erased 2")
        }
        for table in try await ground.texts(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'votes'")
        {
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM votes.\(table) t WHERE t::text ~* 'secret'") == 0)
        }
        #expect(try await ground.state(unjoined) == "cancelled")
        #expect(try await ground.verdict(receipt) == "ok")
        try await ground.check(alone)
        #expect(try await erase(ground) == [])
    }

    @Test func `the words of votes that concern others stay, without the exact place`()
        async throws
    {
        let ground = try await VoteGround(ready: 10)
        let (over, cancelled, going) = (
            try await open(ground, "1"), try await open(ground, "2"), try await open(ground, "3")
        )
        // Of the one that is over, all others are erased before.
        try await ground.vote(over, 2)
        try await ground.vote(over, 3)
        for vote in [cancelled, going] { try await ground.join(vote, 4) }
        try await ground.join(going, 5)
        try await ground.end(over)
        try await ground.work()
        _ = try await ground.session.query("SELECT votes.cancel($1, 1)", [.int64(cancelled)])
        for person in [2, 3] as [Int64] { _ = try await erase(ground, person) }
        #expect(try await erase(ground) == ["votes anonymized 3"])
        let words = "Secret subject, secret a/secret b, secret home"
        #expect(try await self.words(ground, over) == words)
        #expect(try await self.words(ground, cancelled) == words)
        // Others find it by its place until it is over.
        #expect(try await self.words(ground, going) == words + ", 10.5")
        #expect(try await ground.number("SELECT count(*) FROM votes.nearby(10.5, 50.5, 9)") == 1)
        #expect(try await erase(ground) == [])
        try await ground.end(going)
        try await ground.work()
        #expect(try await erase(ground) == ["votes anonymized 1"])
        #expect(try await self.words(ground, going) == words)
        // Of a vote that was cancelled, nobody is left.
        _ = try await erase(ground, 4)
        #expect(
            try await erase(ground) == ["votes anonymized 1", "options anonymized 2"])
        #expect(try await self.words(ground, cancelled) == "Erased, Erased 1/Erased 2")
    }

    @Test func `words change by the erasure alone, and only when a vote is over`() async throws {
        let ground = try await VoteGround(ready: 10)
        let vote = try await open(ground, "1")
        let label = "UPDATE votes.options SET label = $2 WHERE vote_id = $1 AND number = 1"
        let subject = "UPDATE votes.votes SET subject = $2 WHERE id = $1"
        func refusal(_ sql: String, _ text: String) async throws -> String? {
            try await ground.refusal(sql, [.int64(vote), .text(text)])
        }
        #expect(try await refusal(label, "Erased 1") == "23001")
        #expect(try await refusal(subject, "Erased") == "23001")
        _ = try await ground.session.query("SELECT votes.cancel($1, 1)", [.int64(vote)])
        #expect(try await refusal(label, "Erased 2") == "23001")
        #expect(try await refusal(subject, "Other") == "23001")
        #expect(try await refusal(label, "Erased 1") == nil)
        #expect(try await refusal(subject, "Erased") == nil)
        #expect(try await refusal(subject, "Secret subject") == "23001")
    }

    // "`cancel_unjoined` may keep all gates of a vote that goes on"
    @Test func `a vote that somebody joins meanwhile goes on at once`() async throws {
        let ground = try await VoteGround()
        let vote = try await open(ground, "1")
        let (joining, erasing) = (
            try TestDatabase.here().session(), try TestDatabase.here().session()
        )
        try await joining.script("BEGIN")
        _ = try await joining.query("SELECT votes.join($1, 2, 'Ann')", [.int64(vote)])
        try await erasing.script("BEGIN")
        async let isEmpty = erasing.query("SELECT votes.block(1)").isEmpty
        try await eventually("the erasure waits for who is joining") {
            try await ground.number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """) == 1
        }
        try await joining.script("COMMIT")
        #expect(try await !isEmpty)
        // The request of the erasure is not committed yet.
        try await ground.session.script("SET lock_timeout = '5 s'")
        _ = try await ground.session.query("SELECT votes.join($1, 3, 'Bob')", [.int64(vote)])
        _ = try await ground.session.query("SELECT votes.cast($1, 2, '{1}')", [.int64(vote)])
        #expect(
            try await ground.texts(
                "SELECT votes.close($1, true)::text", [.int64(vote)]) == ["by_hand"])
        try await erasing.script("COMMIT")
        #expect(try await ground.state(vote) == "closed by_hand")
        await joining.close()
        await erasing.close()
    }
}
