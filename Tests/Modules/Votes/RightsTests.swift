import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

@Suite("Who may do what to votes", .database) struct RightsTests {
    private func sqlState(_ statement: String, _ session: Session) async throws -> String? {
        do throws(PostgresError) {
            _ = try await session.query(statement)
            return nil
        } catch { return error.sqlState }
    }

    @Test func `the app's servers call functions, and read no table`() async throws {
        let ground = try await VoteGround()
        let (session, _) = try await TestDatabase.here().login(as: "errand_app")
        for statement in [
            "SELECT votes.open('S', '{a,b}', 1, clock_timestamp() + interval '1 hour', "
                + "expected => 2, password => 'p', longitude => 1, latitude => 1)",
            "SELECT votes.join(1, 2, 'Ann', NULL, 'p')", "SELECT votes.cast(1, 2, '{1}', 'p')",
            "SELECT * FROM votes.nearby(1, 1, 10)", "SELECT * FROM votes.show(1)",
            "SELECT * FROM votes.history(2)", "SELECT * FROM votes.result(1)",
            "SELECT * FROM votes.names(1)", "SELECT * FROM votes.proof(1, '\\x00')",
            "SELECT * FROM votes.verify_receipt('v1')", "SELECT * FROM votes.exceptions(1, 1)",
            "SELECT votes.erase(2)", "SELECT votes.cancel(1, 1)",
        ] { #expect(try await sqlState(statement, session) == nil, "\(statement)") }
        for table in [
            "votes", "keys", "open_keys", "participants", "casts", "cast_counts", "ballots",
            "nodes", "options", "exceptions", "guesses", "rules",
        ] {
            #expect(try await sqlState("SELECT * FROM votes.\(table)", session) == "42501")
        }
        for call in [
            "close(1)", "take_back(1)", "count_ballots(1)", "publish(1)", "end_review(1, now())",
            "decide(1, 'Ann', '{}', 'x', 'x')", "forget_links(1)", "erase_requested(1)", "sweep()",
        ] {
            #expect(try await sqlState("SELECT votes.\(call)", session) == "42501", "\(call)")
        }
        #expect(try await sqlState("SELECT notification.release('vote:1')", session) == "42501")
        let (till, _) = try await TestDatabase.here().login(as: "errand_till")
        #expect(try await sqlState("SELECT * FROM votes.show(1)", till) == "42501")
        _ = ground
        await session.close()
        await till.close()
    }

    @Test func `nobody changes what came of a vote, or leaps over a state`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.vote(vote, 2)
        for state in ["review", "counted", "published"] {
            let sqlState = try await ground.refusal(
                "UPDATE votes.votes SET state = '\(state)'")
            #expect(sqlState == "55000")
        }
        let ballot = """
            INSERT INTO votes.ballots
            SELECT 1, 9, '{1}', votes.random_bytes(32), votes.random_bytes(32)
            """
        #expect(try await ground.refusal(ballot) == "23001")
        try await ground.end(vote)
        try await ground.work()
        for statement in [
            ballot, "INSERT INTO votes.nodes VALUES (1, 0, 1, '\\x00')",
            "UPDATE votes.ballots SET choice = '{2}'", "DELETE FROM votes.ballots",
            "TRUNCATE votes.ballots", "DELETE FROM votes.nodes", "DELETE FROM votes.votes",
            "UPDATE votes.votes SET root = sha256('')", "UPDATE votes.votes SET ballots = 2",
            "UPDATE votes.votes SET published_at = now()", "UPDATE votes.votes SET subject = 'T'",
            "UPDATE votes.votes SET closed_at = now()", "UPDATE votes.options SET ballots = 2",
            "UPDATE votes.options SET label = 'X'", "DELETE FROM votes.options",
        ] { #expect(try await ground.refusal(statement) == "23001", "\(statement)") }
        #expect(try await ground.refusal("UPDATE votes.votes SET state = 'counted'") == "55000")
    }

    @Test func `a person is erased, and neither totals nor root change`() async throws {
        let ground = try await VoteGround()
        let (vote, open) = (try await ground.open(), try await ground.open())
        var receipts: [String] = []
        for person in 2...6 as ClosedRange<Int64> {
            receipts.append(try await ground.vote(vote, person, [Int32(person % 3 + 1)]))
            try await ground.vote(open, person)
        }
        // Asked for before it is out.
        #expect(try await ground.number("SELECT votes.erase(6, $1)", [.int64(vote)]) == 1)
        #expect(try await ground.number("SELECT count(*) FROM votes.history(6)") == 2)
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.number("SELECT count(*) FROM votes.history(6)") == 1)
        let before = try await ground.totals(vote)
        #expect(try await ground.number("SELECT votes.erase(3)") == 2)
        #expect(try await ground.number("SELECT votes.erase(9)") == 0)
        #expect(try await ground.names(vote) == ["Person 2", "Person 4", "Person 5"])
        #expect(try await ground.totals(vote) == before)
        #expect(
            try await ground.session.query(
                "SELECT voters FROM votes.result($1)", [.int64(vote)]
            ).int32(0, 0) == 5)
        for receipt in receipts { #expect(try await ground.verdict(receipt) == "ok") }
        try await ground.check(vote)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM votes.participants p WHERE p::text ~ 'Person [36]|Door [36]'"
            ) == 2)
        try await ground.end(open)
        try await ground.work()
        #expect(try await ground.number("SELECT count(*) FROM votes.history(3)") == 0)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM votes.participants p WHERE p::text ~ 'Person 3|Door 3'")
                == 0)
        #expect(try await ground.totals(open) == [5, 0, 0])
    }
}
