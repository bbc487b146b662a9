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
            "SELECT * FROM votes.standing(1, 2)", "SELECT * FROM votes.joined_names(1, 2)",
            "SELECT votes.forget(2)", "SELECT votes.cancel(1, 1)",
        ] { #expect(try await sqlState(statement, session) == nil, "\(statement)") }
        for table in [
            "votes", "keys", "open_keys", "key_shares", "participants", "casts", "gates", "ballots",
            "nodes", "options", "exceptions", "guesses", "rules", "wrapping", "locks",
        ] {
            #expect(try await sqlState("SELECT * FROM votes.\(table)", session) == "42501")
        }
        for call in [
            "close(1)", "take_back(1)", "count_ballots(1)", "publish(1)", "end_review(1, now())",
            "decide(1, 'Ann', '{}', 'x', 'x')", "forget_links(1)", "forget_ids('{1}')", "sweep()",
            "erase(2)", "block(2)", "personal_data(2)", "forget_participants(now(), 1, true)",
            "link_keys(1)", "wrapping_key(0::smallint)", "open_key(1, '', '')",
            "rotate_wrapping_key()", "destroy_keys()", "closed_keys(0, 1)",
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

    /// The tables that lead from a person to a choice, and those that are locks.
    private static let closedTables = [
        "casts", "open_keys", "key_shares", "gates", "guesses", "wrapping", "locks",
    ]

    @Test func `while a vote is open, a worker and an operator neither read nor change a ballot`()
        async throws
    {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        for person in 2...4 as ClosedRange<Int64> { try await ground.vote(vote, person) }
        let attacks: [String] =
            Self.closedTables.flatMap { table in
                ["SELECT 1 FROM votes.\(table)", "DELETE FROM votes.\(table)"]
            } + [
                // As once they did.
                """
                SELECT c.person_id, votes.open_link(c.sealed, o.cipher_key) FROM votes.casts c
                JOIN votes.votes v ON v.id = c.vote_id JOIN votes.open_keys o ON o.key_id = v.key_id
                """,
                """
                UPDATE votes.casts SET sealed = votes.encrypt_link(votes.random_bytes(32), '{1}',
                    1, votes.random_bytes(32), votes.random_bytes(16))
                """,
                // The same without a function.
                "UPDATE votes.casts SET sealed = '\\x00'", "UPDATE votes.casts SET person_id = 5",
                "INSERT INTO votes.casts VALUES (1, 5, '\\x00')",
                "INSERT INTO votes.open_keys (key_id) VALUES (1)",
                "SELECT * FROM votes.link_keys(1)", "SELECT votes.wrapping_key(0::smallint)",
                "SELECT last_value FROM votes.wrapping_0_high",
                "SELECT pg_sequence_last_value('votes.wrapping_0_low')",
                "SELECT setval('votes.wrapping_0_low', 1)",
                "ALTER SEQUENCE votes.wrapping_0_low RESTART",
                "SELECT votes.answer_again(1, 2, '{1}', '\\x00')",
                "SELECT votes.cast(1, 2, '{1}')", "SELECT votes.forget_links(1)",
                "UPDATE votes.participants SET has_cast = false",
                "UPDATE votes.participants SET is_rejected = true",
                "UPDATE votes.votes SET state = 'closed', closed_for = 'by_hand'",
                "INSERT INTO votes.ballots VALUES (1, 0, '{1}', '', '')",
                "INSERT INTO votes.exceptions (vote_id, name_key) VALUES (1, 'x')",
            ]
        for group in ["errand_worker", "errand_inspector"] {
            let (session, _) = try await TestDatabase.here().login(as: group)
            for attack in attacks {
                let state = try await sqlState(attack, session)
                #expect(state == "42501", "\(group): \(attack)")
            }
            await session.close()
        }
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 3)
    }

    @Test func `a worker takes every step of a vote by functions`() async throws {
        let ground = try await VoteGround(ready: 0)
        let (session, _) = try await TestDatabase.here().login(as: "errand_worker")
        _ = try await session.query(
            """
            SELECT count(votes.add_key(k, '\\x00', decode(repeat('01', 32), 'hex'),
                decode(repeat('02', 32), 'hex')))
            FROM votes.missing_keys(5) k
            """)
        let vote = try await ground.open()
        for person in 2...4 as ClosedRange<Int64> { try await ground.vote(vote, person, [2]) }
        for step in [
            "SELECT votes.sweep()", "SELECT votes.ask_for_news()",
            "SELECT votes.close_free('{1}')", "SELECT votes.close(1, true)",
            "SELECT * FROM votes.review_step(1, now())", "SELECT votes.end_review(1, now())",
            "SELECT * FROM votes.may_notify(1)", "SELECT votes.count_ballots(1)",
            "SELECT votes.has_counted_key(1)", "SELECT votes.rotate_wrapping_key()",
            "SELECT votes.destroy_keys()", "SELECT votes.publish(1)",
            "SELECT * FROM votes.closed_keys(0, 10)", "SELECT votes.forget_key(2)",
            "SELECT * FROM votes.key_counts()", "SELECT votes.forget(2)",
        ] { #expect(try await sqlState(step, session) == nil, "\(step)") }
        #expect(try await ground.state(vote) == "published by_hand")
        #expect(try await ground.totals(vote) == [0, 3, 0])
        await session.close()
    }

    @Test func `no login locks what a vote waits for`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(password: "geheim")
        for group in [
            "errand_worker", "errand_scheduler", "errand_app", "errand_till", "errand_inspector",
            "errand_autoscaler",
        ] {
            let (session, _) = try await TestDatabase.here().login(as: group)
            for table in Self.closedTables + ["votes"] {
                for lock in [
                    "SELECT 1 FROM votes.\(table) FOR KEY SHARE",
                    "DO 'BEGIN LOCK TABLE votes.\(table) IN ROW EXCLUSIVE MODE; END'",
                ] {
                    #expect(try await sqlState(lock, session) == "42501", "\(group): \(lock)")
                }
            }
            await session.close()
        }
        // Advisory locks are anyone's, and nobody waits for them: these once stopped every vote.
        let (login, _) = try await TestDatabase.here().login(as: "errand_autoscaler")
        for key in [
            "8534167796030898176 | \(vote)", "7954895652624793600 | \(vote)",
            "hashtextextended('votes.keys', 0)", "hashtextextended('votes.ask_for_keys', 0)",
            "hashtextextended('votes.guess:2', \(vote))",
        ] { _ = try await login.query("SELECT pg_advisory_lock(\(key))") }
        try await ground.prepare()
        try await ground.session.script("SET lock_timeout = '5s'")
        #expect(try await ground.join(vote, 2, password: "falsch").reason == "wrong_password")
        #expect(try await ground.join(vote, 2, password: "geheim").reason == "ok")
        #expect(try await ground.cast(vote, 2, [2], password: "geheim").reason == "ok")
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.totals(vote) == [0, 1, 0])
        // Nor does a lock keep keys from being asked for.
        let asked = "SELECT count(*) FROM errand.jobs WHERE kind = 'votes.keys'"
        #expect(try await ground.number(asked) == 0)
        _ = try await ground.session.query("SELECT votes.ask_for_keys()")
        #expect(try await ground.number(asked) == 1)
        await login.close()
    }

    @Test func `nobody changes what came of a vote, or leaps over a state`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.vote(vote, 2)
        for state in ["review", "counted", "published"] {
            let sqlState = try await ground.refusal(
                "UPDATE votes.votes SET state = '\(state)'")
            #expect(sqlState == "23001")
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
        #expect(try await ground.refusal("UPDATE votes.votes SET state = 'counted'") == "23001")
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
        #expect(try await ground.number("SELECT votes.forget(6, $1)", [.int64(vote)]) == 1)
        #expect(try await ground.number("SELECT count(*) FROM votes.history(6)") == 1)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM votes.participants p WHERE p::text ~ 'Person 6|Door 6'") == 1)
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.number("SELECT count(*) FROM votes.history(6)") == 1)
        let before = try await ground.totals(vote)
        #expect(try await ground.number("SELECT votes.forget(3)") == 2)
        #expect(try await ground.number("SELECT votes.forget(9)") == 0)
        #expect(try await ground.names(vote) == ["Person 2", "Person 4", "Person 5"])
        #expect(try await ground.totals(vote) == before)
        #expect(
            try await ground.session.query(
                "SELECT counted FROM votes.result($1)", [.int64(vote)]
            ).int32(0, 0) == 5)
        for receipt in receipts { #expect(try await ground.verdict(receipt) == "ok") }
        try await ground.check(vote)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM votes.participants p WHERE p::text ~ 'Person [36]|Door [36]'"
            ) == 1)
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
