import ErrandCrypto
import Foundation
import Errand
import ErrandKeys
import ErrandPostgres
import ErrandSealing
import ErrandTestServices
import Testing
import ErrandVotes

@Suite("Keys of votes", .database) struct KeyTests {
    @Test func `as many are ready as the rules say, and a vote takes one`() async throws {
        let ground = try await VoteGround(ready: 3)
        #expect(try await ground.number("SELECT count(*) FROM votes.open_keys") == 3)
        #expect(try await ground.prepare() == PreparedKeys())
        _ = try await ground.open()
        #expect(try await ground.prepare() == PreparedKeys(made: 1))
        _ = try await ground.session.query("UPDATE votes.rules SET keys_ahead = 1203")
        #expect(try await ground.prepare() == PreparedKeys(made: 1_200))
        #expect(
            try await ground.number("SELECT count(DISTINCT cipher_key) FROM votes.open_keys")
                == 1_204)
    }

    @Test func `without a key no vote is opened, and it is said to be tried again`() async throws {
        let ground = try await VoteGround(ready: 0)
        let open = "SELECT votes.open('S', '{a,b}', 1, clock_timestamp() + interval '1 hour')"
        #expect(try await ground.refusal(open) == "RU002")
        try await ground.prepare()
        #expect(try await ground.refusal(open) == nil)
    }

    @Test func `after a crash of the server they are opened again, with what was cast`()
        async throws
    {
        let ground = try await VoteGround()
        let vote = try await ground.open(password: "geheim")
        try await ground.join(vote, 2, password: "geheim")
        try await ground.join(vote, 3, password: "geheim")
        try await ground.cast(vote, 2, [3], password: "geheim")
        // As PostgreSQL does with unlogged tables.
        try await ground.session.script("TRUNCATE votes.open_keys, votes.guesses")
        #expect(try await ground.cast(vote, 3, password: "geheim").reason == "not_ready")
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 1)
        let asked = "SELECT count(*) FROM errand.jobs WHERE kind = 'votes.keys'"
        #expect(try await ground.number(asked) == 1)
        #expect(try await ground.refusal("SELECT votes.count_ballots(1)") == nil)
        #expect(try await ground.prepare() == PreparedKeys(made: 1, opened: 5))
        #expect(try await ground.cast(vote, 3, password: "falsch").reason == "wrong_password")
        #expect(try await ground.cast(vote, 3, [3], password: "geheim").reason == "ok")
        #expect(try await ground.cast(vote, 2, password: "geheim").reason == "already_cast")
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.totals(vote) == [0, 0, 2])
    }

    @Test func `a count waits for its key`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.vote(vote, 2, [2])
        try await ground.end(vote)
        _ = try await ground.session.query("SELECT votes.close($1)", [.int64(vote)])
        try await ground.session.script("TRUNCATE votes.open_keys")
        let count = "SELECT votes.count_ballots($1)"
        #expect(try await ground.refusal(count, [.int64(vote)]) == "RU002")
        try await ground.prepare()
        #expect(try await ground.refusal(count, [.int64(vote)]) == nil)
    }

    @Test func `a key is gone with the count, and does not come back`() async throws {
        let ground = try await VoteGround(ready: 2)
        let vote = try await ground.open()
        try await ground.vote(vote, 2)
        let sealed = try await ground.session.query(
            "SELECT sealed FROM votes.keys WHERE vote_id = $1", [.int64(vote)]
        ).first?.bytes(0)
        #expect(sealed != nil)
        try await ground.end(vote)
        try await ground.work()
        let left = """
            SELECT count(*) FROM votes.keys k LEFT JOIN votes.open_keys o ON o.key_id = k.id
            WHERE k.vote_id = $1 AND (k.sealed IS NOT NULL OR o.key_id IS NOT NULL)
            """
        #expect(try await ground.number(left, [.int64(vote)]) == 0)
        try await ground.prepare()
        #expect(try await ground.number(left, [.int64(vote)]) == 0)
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 0)
    }

    @Test func `other workers open what one has no key for, and damaged ones are said`()
        async throws
    {
        let ground = try await VoteGround(ready: 2)
        let vote = try await ground.open()
        try await ground.session.script("TRUNCATE votes.open_keys")
        let other = try SealingKeys(current: SealingKey(id: "other", secret: .random(32)))
        await #expect(throws: CryptoError.self) { try await ground.prepare(by: other) }
        // It has made as many as are wanted: nobody can take what is sealed and not open.
        #expect(try await ground.number("SELECT count(*) FROM votes.open_keys") == 2)
        #expect(try await ground.refusal("SELECT votes.show($1)", [.int64(vote)]) == nil)
        _ = try await ground.session.query(
            "DELETE FROM votes.keys WHERE vote_id IS NULL")
        _ = try await ground.session.query(
            """
            UPDATE votes.keys SET sealed = set_byte(sealed, length(sealed) - 1,
                get_byte(sealed, length(sealed) - 1) # 1)
            """
        )
        let result = try await ground.prepare()
        #expect(result == PreparedKeys(made: 2, damaged: 1))
    }

    @Test func `they are sealed anew by another key like all that is sealed`() async throws {
        let ground = try await VoteGround(ready: 3)
        let next = try SealingKey(id: "next", secret: .random(32))
        let column = try #require(VoteKinds.sealed.first)
        let resealing = Resealing(session: ground.session)
        #expect(
            try await resealing.counts(of: [column])
                == [SealedCount(column: "votes.keys.sealed", key: "mine", count: 3)])
        let both = try SealingKeys(current: next, older: [ground.first])
        #expect(try await resealing.reseal(column, with: both, note: nil) == Resealed(done: 3))
        try await ground.session.script("TRUNCATE votes.open_keys")
        #expect(
            try await ground.prepare(by: SealingKeys(current: next)) == PreparedKeys(opened: 3))
    }
}
