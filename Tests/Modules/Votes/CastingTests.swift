import ErrandCrypto
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

@Suite("Opening, joining and casting", .database) struct CastingTests {
    @Test func `a vote is opened, found, joined and cast at, once each`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.session.query(
            """
            SELECT votes.open('Lunch?', '{Soup,Pasta}', 1, clock_timestamp() + interval '1 hour',
                longitude => -73.57, latitude => 45.5, place => 'Room 12')
            """
        ).int64(0, 0)
        let near = "SELECT id FROM votes.nearby(-73.571, 45.5, $1::int)"
        #expect(
            try await ground.session.query(near, [.int32(100)]).map { try $0.int64(0) } == [vote])
        #expect(try await ground.session.query(near, [.int32(50)]).isEmpty)
        let shown = try await ground.session.query(
            "SELECT subject, options, state::text FROM votes.show($1)", [.int64(vote)])
        #expect(try shown.text(0, 0) == "Lunch?")
        #expect(try shown.textArray(0, 1) == ["Soup", "Pasta"])
        #expect(try await ground.cast(vote, 2).reason == "not_joined")
        #expect(try await ground.join(vote, 2).reason == "ok")
        #expect(try await ground.join(vote, 2, as: "Another").reason == "ok")
        let answer = try await ground.cast(vote, 2, [2])
        #expect(answer.isAccepted && answer.reason == "ok")
        let receipt = try #require(Receipt(answer.receipt ?? ""))
        #expect(receipt.vote == vote && receipt.choice == [2] && receipt.nonce.count == 32)
        #expect(try await ground.cast(vote, 2, [1]).reason == "already_cast")
        #expect(try await ground.join(vote, 2, as: "A third").reason == "already_cast")
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 1)
        #expect(
            try await ground.texts("SELECT subject || has_cast FROM votes.history(2)")
                == ["Lunch?true"])
        #expect(try await ground.cast(99, 2).reason == "unknown")
        #expect(try await ground.join(99, 2).reason == "unknown")
    }

    @Test(
        "choices that are none are refused",
        arguments: [[], [0], [4], [-1], [1, 1], [1, 2, 3], [70_000]] as [[Int32]])
    func choices(options: [Int32]) async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(atMost: 2)
        try await ground.join(vote, 2)
        #expect(try await ground.cast(vote, 2, options).reason == "invalid_choice")
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 0)
        let answer = try await ground.cast(vote, 2, [3, 1])
        #expect(Receipt(answer.receipt ?? "")?.choice == [1, 3])
    }

    @Test func `early and late ballots are refused by the database`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.join(vote, 2)
        _ = try await ground.session.query(
            "UPDATE votes.votes SET opens_at = clock_timestamp() + interval '1 minute'")
        #expect(try await ground.cast(vote, 2).reason == "too_early")
        _ = try await ground.session.query(
            """
            UPDATE votes.votes SET opens_at = clock_timestamp() - interval '2 minutes',
                closes_at = clock_timestamp() - interval '1 minute'
            """)
        // No worker has closed it.
        #expect(try await ground.state(vote) == "open")
        #expect(try await ground.cast(vote, 2).reason == "closed")
        #expect(try await ground.join(vote, 3).reason == "closed")
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 0)
    }

    @Test func `the clock is looked at within the transaction, and the snapshot with it`()
        async throws
    {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.join(vote, 2)
        let state = try await ground.pool.withSession { session -> String? in
            try await session.script("BEGIN ISOLATION LEVEL REPEATABLE READ")
            var state: String?
            do throws(PostgresError) {
                _ = try await session.query(
                    "SELECT votes.cast($1, 2, '{1}')", [.int64(vote)])
            } catch { state = error.sqlState }
            try await session.script("ROLLBACK")
            return state
        }
        #expect(state == "25000")
    }

    @Test func `wrong passwords are limited by vote and person`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(password: "geheim")
        let other = try await ground.open(password: "geheim")
        #expect(try await ground.join(vote, 2).reason == "wrong_password")
        #expect(try await ground.join(vote, 2, password: "geheim").reason == "ok")
        #expect(try await ground.cast(vote, 2, password: "Geheim").reason == "wrong_password")
        _ = try await ground.session.query(
            "UPDATE votes.guesses SET count = 9 WHERE vote_id = $1", [.int64(vote)])
        #expect(try await ground.cast(vote, 2, password: "").reason == "wrong_password")
        #expect(try await ground.cast(vote, 2, password: "geheim").reason == "too_many_guesses")
        #expect(try await ground.join(vote, 3, password: "geheim").reason == "ok")
        #expect(try await ground.join(other, 2, password: "geheim").reason == "ok")
        _ = try await ground.session.query(
            "UPDATE votes.guesses SET period = period - interval '5 minutes'")
        #expect(try await ground.cast(vote, 2, password: "geheim").reason == "ok")
        let hash = try await ground.texts("SELECT password_hash FROM votes.votes LIMIT 1")
        #expect(hash.allSatisfy { $0.hasPrefix("$2a$10$") })
    }

    @Test func `who guesses at many connections at once guesses no more`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(password: "geheim")
        let reasons = Notebook<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                group.addTask {
                    reasons.add(try await ground.join(vote, 2, password: "\(number)").reason)
                }
            }
            try await group.waitForAll()
        }
        #expect(reasons.all.count { $0 == "wrong_password" } == 10)
        #expect(reasons.all.count { $0 == "too_many_guesses" } == 20)
    }

    @Test func `the same request again gets the same receipt, and nobody else does`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.join(vote, 2)
        let nonce = try randomBytes(32)
        let first = try await ground.cast(vote, 2, [2], nonce: nonce)
        #expect(first.isAccepted)
        #expect(try await ground.cast(vote, 2, [2], nonce: nonce) == first)
        #expect(try await ground.cast(vote, 2, [1], nonce: nonce).reason == "already_cast")
        let other = try randomBytes(32)
        #expect(try await ground.cast(vote, 2, [2], nonce: other).reason == "already_cast")
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 1)
        #expect(Receipt(first.receipt ?? "")?.nonce == nonce)
    }

    @Test(
        "names are compared as people read them",
        arguments: [
            ("José Núñez", " JOSE\u{301}  nunez ", true), ("Straße", "STRASSE", true),
            ("Ａｎｎ", "ann", true), ("Νίκος", "ΝΙΚΟΣ", true), ("Ann\u{200B}a", "Anna", true),
            ("Ann\u{A0}Lee", "ann lee", true), ("Ann Lee", "Annlee", false),
            ("Ann", "Anne", false), ("Jon", "John", false), ("İpek", "ipek", true),
        ])
    func names(one: String, other: String, isSame: Bool) async throws {
        let session = try TestDatabase.here().session()
        let keys = try await session.query(
            "SELECT votes.name_key($1), votes.name_key($2)", [.text(one), .text(other)])
        #expect(try (keys.text(0, 0) == keys.text(0, 1)) == isSame)
    }

    @Test func `what makes no sense is refused before anything is written`() async throws {
        let ground = try await VoteGround()
        let later = "clock_timestamp() + interval '1 hour'"
        for (statement, state) in [
            ("votes.open('', '{a,b}', 1, \(later))", "22023"),
            ("votes.open('S', '{a}', 1, \(later))", "22023"),
            ("votes.open('S', '{a,A}', 1, \(later))", "22023"),
            ("votes.open('S', '{a,b}', 1, clock_timestamp())", "22023"),
            ("votes.open('S', '{a,b}', 1, NULL)", "22023"),
            ("votes.open('S', '{a,b}', 1, \(later), opens_at => '-infinity')", "22023"),
            ("votes.open('S', '{a,b}', 1, \(later), expected => 0)", "22023"),
            ("votes.open('S', '{a,b}', 1, \(later), max_choices => 3)", "22023"),
            ("votes.open('S', '{a,b}', 1, \(later), longitude => 1)", "22023"),
            ("votes.open('S', '{a,b}', 1, \(later), password => '')", "22023"),
            ("votes.open('S', '{a,b}', 99, \(later))", "23503"),
            ("votes.join(1, 1, ' ')", "22023"), ("votes.join(1, 99, 'Ann')", "23503"),
            ("votes.cast(1, 1, '{1}', nonce => '\\x00')", "22023"),
        ] { #expect(try await ground.refusal("SELECT \(statement)") == state, "\(statement)") }
        #expect(try await ground.number("SELECT count(*) FROM votes.votes") == 0)
    }
}
