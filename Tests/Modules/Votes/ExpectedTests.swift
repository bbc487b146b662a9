import Errand
import ErrandPostgres
import ErrandTestServices
import ErrandVotes
import Testing

// "a vote never counts more ballots than `expected`, also when the last ones race"
@Suite("Expected ballots", .database) struct ExpectedTests {
    /// Casts at the same moment from eight connections, each for its own people; returns the
    /// answers by reason.
    private func race(
        _ ground: VoteGround, _ vote: Int64, people: ClosedRange<Int64>, _ options: [Int32]
    ) async throws -> [String: Int] {
        let reasons = Notebook<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 as Range<Int64> {
                group.addTask {
                    for person in stride(
                        from: people.lowerBound + lane, through: people.upperBound, by: 8)
                    {
                        reasons.add(try await ground.cast(vote, person, options).reason)
                    }
                }
            }
            try await group.waitForAll()
        }
        return Dictionary(grouping: reasons.all, by: \.self).mapValues(\.count)
    }

    // "8 persons join, all 8 `votes.cast` at once from 8 connections: 8 × `ok`"
    @Test(
        "eight at once never count more than the vote expects",
        arguments: [(1, [1]), (2, [1]), (3, [1]), (1, [1, 3]), (2, [1, 3]), (3, [1, 3])]
            as [(Int32, [Int32])])
    func race(expected: Int32, options: [Int32]) async throws {
        let rounds = 5
        let ground = try await VoteGround(people: 9, ready: rounds)
        var votes: [Int64] = []
        for _ in 0..<rounds {
            let vote = try await ground.open(expected: expected, atMost: Int32(options.count))
            for person in 2...9 as ClosedRange<Int64> { try await ground.join(vote, person) }
            let reasons = try await race(ground, vote, people: 2...9, options)
            #expect(reasons == ["ok": Int(expected), "closed": 8 - Int(expected)])
            votes.append(vote)
        }
        // Publishing asks again, a second later, if the key is not yet destroyed.
        try await eventually("all votes are counted") {
            try await ground.work()
            return try await ground.number(
                "SELECT count(*) FROM votes.votes WHERE state = 'published'") == rounds
        }
        for vote in votes {
            let state = try await ground.state(vote)
            #expect(state == "published complete", "vote \(vote) of \(votes)")
            let totals = try await ground.totals(vote)
            #expect(totals == [expected, 0, options.count == 1 ? 0 : expected])
        }
    }

    @Test(
        "a large vote, which has many gates, takes exactly the expected ballots",
        arguments: [(257, [1]), (300, [1, 2]), (320, [2])] as [(Int32, [Int32])])
    func large(expected: Int32, options: [Int32]) async throws {
        let ground = try await VoteGround(people: 341)
        let vote = try await ground.open(expected: expected, atMost: 2)
        _ = try await ground.session.query(
            "SELECT count(votes.join($1, n, 'Person ' || n)) FROM generate_series(2, 341) n",
            [.int64(vote)])
        let reasons = try await race(ground, vote, people: 2...341, options)
        #expect(reasons == ["ok": Int(expected), "closed": 340 - Int(expected)])
        // Each gate has its part.
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM votes.gates
                WHERE number >= 0 AND casts <> votes.room_of($1, number)
                """, [.int32(expected)]) == 0)
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
        let counted = "SELECT counted::bigint FROM votes.result($1) LIMIT 1"
        #expect(try await ground.number(counted, [.int64(vote)]) == Int64(expected))
    }

    @Test func `who is refused for another reason takes nobody's place`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(expected: 2, atMost: 2)
        try await ground.vote(vote, 2)
        for _ in 0..<3 {
            #expect(try await ground.cast(vote, 2).reason == "already_cast")
            #expect(try await ground.cast(vote, 2, [1, 2]).reason == "already_cast")
            #expect(try await ground.cast(vote, 3).reason == "not_joined")
            #expect(try await ground.cast(vote, 3, [1, 2]).reason == "not_joined")
            #expect(try await ground.cast(vote, 3, [9]).reason == "invalid_choice")
        }
        try await ground.vote(vote, 3, [1, 2])
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
    }

    @Test func `an expected ballot that is taken back leaves its place to another`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(expected: 1)
        for person in 2...3 as ClosedRange<Int64> { try await ground.join(vote, person) }
        let other = try TestDatabase.here().session()
        try await other.script("BEGIN")
        let first = try await other.query(
            "SELECT reason FROM votes.cast($1, 2, '{1}')", [.int64(vote)])
        #expect(try first.text(0, 0) == "ok")
        async let second = ground.cast(vote, 3)
        try await eventually("the second waits") {
            try await ground.number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """) == 1
        }
        try await other.script("ROLLBACK")
        #expect(try await second.reason == "ok")
        await other.close()
    }

    @Test func `the same person at once, with one option and with two, casts once`() async throws {
        let ground = try await VoteGround(people: 9)
        let vote = try await ground.open(expected: 300, atMost: 2)
        for person in 2...9 as ClosedRange<Int64> {
            try await ground.join(vote, person)
            let reasons = Notebook<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<8 {
                    group.addTask {
                        let options: [Int32] = lane % 2 == 0 ? [1] : [1, 2]
                        reasons.add(try await ground.cast(vote, person, options).reason)
                    }
                }
                try await group.waitForAll()
            }
            #expect(reasons.all.sorted() == Array(repeating: "already_cast", count: 7) + ["ok"])
        }
        let counted = "SELECT sum(casts)::bigint FROM votes.gates WHERE number >= 0"
        #expect(try await ground.number(counted) == 8)
    }
}
