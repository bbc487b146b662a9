import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

@Suite("Equal names", .database) struct ReviewTests {
    /// A vote of five, two of one name, that is closed and waits.
    private func reviewed(_ ground: VoteGround) async throws -> (vote: Int64, receipts: [String]) {
        let vote = try await ground.open()
        var receipts: [String] = []
        for (person, name) in [(2, "Ann Lee"), (3, "ann  LEE"), (4, "Bob"), (5, "Cy")] {
            receipts.append(
                try await ground.vote(vote, Int64(person), [Int32(person % 3 + 1)], as: name))
        }
        // Who has not cast is in nobody's way.
        try await ground.join(vote, 6, as: "Bob")
        try await ground.end(vote)
        try await ground.work()
        return (vote, receipts)
    }

    private func resolve(
        _ ground: VoteGround, _ vote: Int64, _ decision: String, _ rejected: [Int64] = [],
        name: String = "Ann Lee", by person: Int64 = 1
    ) async throws -> String? {
        try await ground.refusal(
            "SELECT votes.resolve($1, $2, $3, $4, $5, 'looked at')",
            [
                .int64(vote), .int64(person), .text(name), .text(decision), .int64Array(rejected),
            ])
    }

    @Test func `the result waits, and the initiator is told and sees the entries`() async throws {
        let ground = try await VoteGround()
        let (vote, receipts) = try await reviewed(ground)
        #expect(try await ground.state(vote) == "review deadline")
        #expect(try await ground.told("vote.review") == [1])
        #expect(try await ground.told("vote.published") == [])
        let rows = try await ground.session.query(
            "SELECT name_key, state::text, person_id, name, address FROM votes.exceptions($1, 1)",
            [.int64(vote)])
        #expect(try rows.map { try $0.int64(2) } == [2, 3])
        #expect(try rows.map { try $0.text(3) } == ["Ann Lee", "ann  LEE"])
        #expect(try rows.map { try $0.text(4) } == ["Door 2", "Door 3"])
        #expect(try rows.map { try $0.text(1) } == ["open", "open"])
        #expect(
            try await ground.refusal("SELECT * FROM votes.exceptions($1, 2)", [.int64(vote)])
                == "P0002")
        #expect(try await ground.verdict(receipts[0]) == "not_published")
        // A count that comes too early does nothing.
        #expect(
            try await ground.session.query(
                "SELECT votes.count_ballots($1) IS NULL", [.int64(vote)]
            ).bool(0, 0))
    }

    @Test func `validated entries count`() async throws {
        let ground = try await VoteGround()
        let (vote, receipts) = try await reviewed(ground)
        #expect(try await resolve(ground, vote, "validate") == nil)
        // Again, as the answer may be lost; but not otherwise.
        #expect(try await resolve(ground, vote, "validate") == nil)
        #expect(try await resolve(ground, vote, "reject", [3]) == "RU001")
        try await ground.work()
        #expect(try await resolve(ground, vote, "validate") == nil)
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.totals(vote) == [1, 1, 2])
        #expect(try await ground.names(vote) == ["Ann Lee", "ann  LEE", "Bob", "Cy"])
        for receipt in receipts { #expect(try await ground.verdict(receipt) == "ok") }
        #expect(try await ground.told("vote.published") == [1, 2, 3, 4, 5, 6])
        try await ground.check(vote)
    }

    @Test func `rejected ballots leave the count`() async throws {
        let ground = try await VoteGround()
        let (vote, receipts) = try await reviewed(ground)
        for (person, decision, rejected, name, state) in [
            (1, "reject", [], "Ann Lee", "22023"), (1, "reject", [4], "Ann Lee", "22023"),
            (1, "reject", [2, 6], "Ann Lee", "22023"), (1, "validate", [2], "Ann Lee", "22023"),
            (1, "merge", [2], "Ann Lee", "22023"), (2, "validate", [], "Ann Lee", "P0002"),
            (1, "validate", [], "Bob", "P0002"),
        ] as [(Int64, String, [Int64], String, String)] {
            #expect(
                try await resolve(ground, vote, decision, rejected, name: name, by: person)
                    == state)
        }
        #expect(try await resolve(ground, vote, "reject", [3], name: "ANN LEE ") == nil)
        try await ground.work()
        #expect(try await ground.totals(vote) == [0, 1, 2])
        let result = try await ground.session.query(
            "SELECT counted, rejected, has_unresolved FROM votes.result($1)", [.int64(vote)])
        #expect(try result.int32(0, 0) == 3)
        #expect(try result.int32(0, 1) == 1)
        #expect(try !result.bool(0, 2))
        #expect(try await ground.names(vote) == ["Ann Lee", "Bob", "Cy"])
        #expect(try await ground.verdict(receipts[0]) == "ok")
        #expect(try await ground.verdict(receipts[1]) == "not_included")
        try await ground.check(vote)
    }

    // "An erased voter who was rejected has another `person_id` (…), so the repeated `resolve` that
    // once answered 0 is refused"
    @Test func `a decision is repeated after people of the name were erased`() async throws {
        let ground = try await VoteGround()
        let (vote, _) = try await reviewed(ground)
        func erase(_ person: Int64) async throws {
            _ = try await ground.session.query(
                "SELECT count(*) FROM votes.erase($1)", [.int64(person)])
        }
        #expect(try await resolve(ground, vote, "reject", [3]) == nil)
        for publishes in [false, true] {
            if publishes { try await ground.work() }
            #expect(try await resolve(ground, vote, "reject", [3]) == nil)
            try await erase(3)
            #expect(try await resolve(ground, vote, "reject", [3]) == nil)
            for rejected in [[2], [2, 3], [3, 4], []] as [[Int64]] {
                #expect(
                    try await resolve(
                        ground, vote, rejected.isEmpty ? "validate" : "reject", rejected)
                        == "RU001", "\(rejected) \(publishes)")
            }
        }
        #expect(try await ground.state(vote) == "published deadline")
        // Nobody has the name any more.
        try await erase(2)
        #expect(try await resolve(ground, vote, "reject", [3]) == "P0002")
    }

    @Test func `a name is decided about when all people of it were erased`() async throws {
        let ground = try await VoteGround()
        let (vote, receipts) = try await reviewed(ground)
        for person in [2, 3] {
            _ = try await ground.session.query("SELECT count(*) FROM votes.erase(\(person))")
        }
        #expect(try await resolve(ground, vote, "reject", [2], name: "ann lee") == nil)
        #expect(try await resolve(ground, vote, "reject", [2], name: "ann lee") == nil)
        try await ground.work()
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.verdict(receipts[0]) == "not_included")
        #expect(try await ground.verdict(receipts[1]) == "ok")
    }

    @Test func `the initiator is reminded, and in the end it is published and said`()
        async throws
    {
        let ground = try await VoteGround()
        let (vote, receipts) = try await reviewed(ground)
        for (hours, told) in [(24, 2), (48, 3)] {
            try await pass(ground, vote, hours: hours)
            #expect(try await ground.told("vote.review").count == told)
            #expect(try await ground.state(vote) == "review deadline")
        }
        try await pass(ground, vote, hours: 72)
        #expect(try await ground.told("vote.review").count == 3)
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.totals(vote) == [1, 1, 2])
        let result = try await ground.session.query(
            "SELECT has_unresolved FROM votes.result($1)", [.int64(vote)])
        #expect(try result.bool(0, 0))
        #expect(
            try await ground.texts("SELECT state::text FROM votes.exceptions") == ["unresolved"])
        #expect(try await ground.verdict(receipts[1]) == "ok")
        #expect(try await resolve(ground, vote, "validate") == "RU001")
    }

    /// Lets the next step come, as if the vote had closed so many hours ago.
    private func pass(_ ground: VoteGround, _ vote: Int64, hours: Int) async throws {
        try await ground.session.script("ALTER TABLE votes.votes DISABLE TRIGGER guards_vote")
        _ = try await ground.session.query(
            """
            UPDATE votes.votes SET closed_at = clock_timestamp() - make_interval(hours => $2),
                review_until = clock_timestamp() + interval '72 hours' - make_interval(hours => $2)
            WHERE id = $1
            """, [.int64(vote), .int32(Int32(hours))])
        try await ground.session.script("ALTER TABLE votes.votes ENABLE TRIGGER guards_vote")
        let due = try await ground.session.query(
            """
            UPDATE errand.jobs SET run_at = clock_timestamp() WHERE kind = 'votes.review'
            RETURNING id
            """)
        #expect(due.count == 1)
        try await ground.work()
    }

    @Test func `a step that comes after the decision does nothing`() async throws {
        let ground = try await VoteGround()
        let (vote, _) = try await reviewed(ground)
        #expect(try await resolve(ground, vote, "validate") == nil)
        let client = try await JobClient(pool: ground.pool)
        try await client.enqueue(ReviewVote(voteID: vote))
        try await ground.work()
        try await client.enqueue(ReviewVote(voteID: vote))
        try await ground.work()
        #expect(try await ground.told("vote.review") == [1])
        #expect(try await ground.state(vote) == "published deadline")
    }

    @Test func `no argument of a job ends a worker, or brings the initiator more notices`()
        async throws
    {
        let ground = try await VoteGround()
        let (vote, _) = try await reviewed(ground)
        let kinds = [
            "votes.close", "votes.count", "votes.prepare", "votes.publish", "votes.review",
        ]
        for number in [Int64.min, -1, 0, vote, .max] {
            for step in ["9223372036854775807", "-9223372036854775808", "1e400", "\"1\"", "null"] {
                for kind in kinds {
                    _ = try await ground.session.query(
                        """
                        SELECT errand.enqueue($1, $2::text::jsonb, max_attempts => 1)
                        """,
                        [.text(kind), .text("{\"vote_id\": \(number), \"step\": \(step)}")])
                }
            }
        }
        try await ground.work()
        #expect(try await ground.state(vote) == "review deadline")
        #expect(try await ground.told("vote.review") == [1])
        // One chain of reminders.
        let waiting = "SELECT count(*) FROM errand.jobs WHERE unique_key = 'vote:\(vote)'"
        #expect(try await ground.number(waiting) == 1)
    }
}
