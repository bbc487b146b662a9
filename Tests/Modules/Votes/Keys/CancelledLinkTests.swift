import Errand
import ErrandPostgres
import ErrandTestServices
import ErrandVotes
import Testing

/// A vote that is cancelled is as secret as one that is published.
@Suite("Links of cancelled votes", .database) struct CancelledLinkTests {
    @Test func `no page has a link of a cancelled vote after the next sweep`() async throws {
        let ground = try await VoteGround(people: 6)
        let search = try await LinkSearch()
        let (vote, other) = (try await ground.open(), try await ground.open())
        var choices: [Int64: Int32] = [:]
        for person in 2...4 as ClosedRange<Int64> {
            choices[person] = Int32.random(in: 1...3)
            try await ground.vote(vote, person, [choices[person] ?? 1])
            try await ground.vote(other, person, [1])
        }
        let secrets = try await search.secrets(of: vote)
        #expect(try await search.links(of: vote) == choices)
        #expect(try await search.rejoined(vote, with: secrets) == choices)
        _ = try await ground.session.query("SELECT votes.cancel($1, 1)", [.int64(vote)])
        #expect(try await ground.state(vote).hasPrefix("cancelled"))
        // The sweep is a job of each minute.
        _ = try await ground.session.query("SELECT errand.enqueue('votes.sweep')")
        try await ground.work()
        let gone = secrets.wrapping + [secrets.share, secrets.linkKey]
        for step in ["SELECT 1", "VACUUM votes.casts, votes.open_keys, votes.key_shares"] {
            try await search.script(step)
            #expect(try await search.links(of: vote) == [:], "\(step)")
            #expect(try await search.places(of: gone) == [], "\(step)")
            #expect(try await search.rejoined(vote, with: secrets) == [:], "\(step)")
        }
        #expect(
            try await ground.number(
                """
                SELECT (SELECT count(*) FROM votes.key_shares WHERE vote_id = \(vote))
                    + (SELECT count(*) FROM votes.keys WHERE vote_id = \(vote)
                        AND sealed IS NOT NULL)
                    + (SELECT count(*) FROM votes.open_keys o JOIN votes.keys k ON k.id = o.key_id
                        WHERE k.vote_id = \(vote))
                """) == 0)
        // The other one goes on.
        #expect(try await search.links(of: other) == [2: 1, 3: 1, 4: 1])
        await search.close()
    }
}
