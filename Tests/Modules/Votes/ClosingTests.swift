import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

@Suite("Closing a vote", .database) struct ClosingTests {
    @Test func `the last who is expected closes it at once`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(expected: 3)
        try await ground.vote(vote, 2, [1])
        try await ground.vote(vote, 3, [1])
        try await ground.work()
        #expect(try await ground.state(vote) == "open")
        try await ground.vote(vote, 4, [3])
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
        #expect(try await ground.totals(vote) == [2, 0, 1])
        #expect(try await ground.names(vote) == ["Person 2", "Person 3", "Person 4"])
        try await ground.check(vote)
    }

    @Test func `its time closes it, whoever has cast`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open(expected: 3)
        let empty = try await ground.open()
        let receipt = try await ground.vote(vote, 2, [2])
        try await ground.join(vote, 3)
        #expect(try await ground.verdict(receipt) == "not_published")
        try await ground.end(vote)
        try await ground.end(empty)
        try await ground.work()
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.totals(vote) == [0, 1, 0])
        #expect(try await ground.names(vote) == ["Person 2"])
        #expect(try await ground.verdict(receipt) == "ok")
        #expect(try await ground.totals(empty) == [0, 0, 0])
        try await ground.check(empty)
    }

    @Test func `the job of the deadline is due when the vote ends`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM errand.jobs j JOIN votes.votes v ON v.closes_at = j.run_at
                WHERE j.kind = 'votes.close' AND v.id = $1
                """, [.int64(vote)]) == 1)
        #expect(
            try await ground.session.query(
                "SELECT votes.close($1) IS NULL", [.int64(vote)]
            ).bool(0, 0))
        #expect(
            try await ground.session.query(
                "SELECT votes.close($1, true)::text", [.int64(vote)]
            ).text(0, 0) == "by_hand")
        #expect(try await ground.refusal("SELECT votes.close(99)") == "P0002")
    }

    @Test func `a large vote is closed by its last ballot too`() async throws {
        let ground = try await VoteGround(people: 320)
        let vote = try await ground.open(expected: 300)
        _ = try await ground.session.query(
            """
            SELECT count(votes.join($1, n, 'Person ' || n)) FROM generate_series(1, 320) n
            """, [.int64(vote)])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<6 as Range<Int64> {
                group.addTask {
                    for person in stride(from: lane + 1, through: 300, by: 6) {
                        let answer = try await ground.cast(vote, person)
                        #expect(answer.isAccepted)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await ground.number("SELECT count(*) FROM votes.gates WHERE casts > 0") > 1)
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
        #expect(try await ground.totals(vote) == [300, 0, 0])
    }

    @Test func `who has long been silent may cast the last ballot of a large vote`() async throws {
        let ground = try await VoteGround(people: 320)
        let vote = try await ground.open(expected: 300)
        let silent = try TestDatabase.here().session()
        func cast(_ session: Session, _ people: ClosedRange<Int64>) async throws {
            for person in people {
                let answer = try await session.query(
                    "SELECT reason FROM votes.cast($1, $2, '{1}')", [.int64(vote), .int64(person)])
                #expect(try answer.text(0, 0) == "ok")
            }
        }
        _ = try await ground.session.query(
            """
            SELECT count(votes.join($1, n, 'Person ' || n)) FROM generate_series(1, 320) n
            """, [.int64(vote)])
        try await cast(silent, 1...1)
        try await cast(ground.session, 2...299)
        // What has asked so far has found that one was missing.
        _ = try await ground.session.query(
            "DELETE FROM errand.jobs WHERE kind = 'votes.close' AND run_at <= clock_timestamp()")
        try await cast(silent, 300...300)
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
        #expect(try await ground.totals(vote) == [300, 0, 0])
        await silent.close()
    }

    @Test func `behind the last ballot none is taken, and its lost answer is given again`()
        async throws
    {
        let ground = try await VoteGround(people: 4)
        let vote = try await ground.open(expected: 2)
        for person in 1...4 as ClosedRange<Int64> { try await ground.join(vote, person) }
        let nonce = [UInt8](repeating: 7, count: 32)
        try await ground.cast(vote, 1, [2])
        let last = try await ground.cast(vote, 2, [1], nonce: nonce)
        #expect(last.isAccepted)
        // Before any worker has closed it.
        #expect(try await ground.cast(vote, 3).reason == "closed")
        #expect(try await ground.cast(vote, 4, [1, 2]).reason == "closed")
        #expect(try await ground.cast(vote, 2, [1], nonce: nonce) == last)
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
        #expect(try await ground.cast(vote, 2, [1], nonce: nonce).reason == "already_cast")
        #expect(try await ground.cast(vote, 3).reason == "closed")
        #expect(try await ground.totals(vote) == [1, 1, 0])
    }

    @Test func `two who bring one nonce and choose the same both count`() async throws {
        let ground = try await VoteGround(people: 3)
        let vote = try await ground.open(expected: 3)
        for person in 1...3 as ClosedRange<Int64> { try await ground.join(vote, person) }
        let nonce = [UInt8](repeating: 9, count: 32)
        let one = try await ground.cast(vote, 1, [1], nonce: nonce)
        #expect(try await ground.cast(vote, 2, [1], nonce: nonce) == one)
        try await ground.cast(vote, 3, [2])
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
        #expect(try await ground.totals(vote) == [2, 1, 0])
        #expect(try await ground.verdict(try #require(one.receipt)) == "ok")
    }

    @Test func `what is stuck behind its closing is asked for again`() async throws {
        let ground = try await VoteGround(people: 3)
        let vote = try await ground.open(expected: 2)
        for person in 1...2 as ClosedRange<Int64> { try await ground.vote(vote, person) }
        _ = try await ground.session.query("SELECT votes.close($1)", [.int64(vote)])
        _ = try await ground.session.query("DELETE FROM errand.jobs")
        #expect(try await ground.number("SELECT votes.sweep()") == 0)
        try await ground.session.script(
            """
            ALTER TABLE votes.votes DISABLE TRIGGER guards_vote;
            UPDATE votes.votes SET closed_at = closed_at - interval '11 minutes'
            """)
        #expect(try await ground.number("SELECT votes.sweep()") == 1)
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
    }

    @Test func `who casts several in one transaction is found by the sweep`() async throws {
        let ground = try await VoteGround(people: 320)
        let vote = try await ground.open(expected: 300)
        _ = try await ground.session.query(
            """
            SELECT count(votes.join($1, n, 'Person ' || n)) FROM generate_series(1, 320) n
            """, [.int64(vote)])
        try await ground.session.transaction { session in
            _ = try session.query(
                "SELECT count(votes.cast($1, n, '{1}')) FROM generate_series(1, 300) n",
                [.int64(vote)])
            // As another transaction, which did not see these, would have found it.
            _ = try session.query("DELETE FROM errand.jobs WHERE kind = 'votes.close'")
        }
        #expect(try await ground.number("SELECT votes.sweep()") == 1)
        try await ground.work()
        #expect(try await ground.state(vote) == "published complete")
    }

    /// Closes it once however the last ballot, the deadline and a hand race, and loses nothing.
    @Test func `a thousand races between the last ballot and the deadline close once each`()
        async throws
    {
        let rounds = 1_000
        let ground = try await VoteGround(people: 4, ready: rounds)
        let closings = Notebook<(vote: Int64, why: String)>()
        let receipts = Notebook<(vote: Int64, receipt: String)>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<4 {
                group.addTask {
                    for round in 0..<(rounds / 4) {
                        // Some end at once, and some only with the last ballot.
                        let wait = (round * 7 + lane) % 12
                        try await race(
                            ground, wait: wait == 11 ? 3_600_000 : wait, closings, receipts)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(closings.count == rounds)
        #expect(Set(closings.all.map(\.vote)).count == rounds)
        let whys = Set(closings.all.map(\.why))
        #expect(whys == ["complete", "deadline"])
        // A receipt was given if, and only if, the ballot was there when it closed.
        let counted = try await ground.session.query(
            """
            SELECT v.id FROM votes.votes v JOIN votes.casts c ON c.vote_id = v.id
            WHERE v.state = 'closed'
            """
        ).map { try $0.int64(0) }
        #expect(Set(counted) == Set(receipts.all.map(\.vote)))
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'votes.count'") == Int64(rounds))
    }

    private func race(
        _ ground: VoteGround, wait: Int, _ closings: Notebook<(vote: Int64, why: String)>,
        _ receipts: Notebook<(vote: Int64, receipt: String)>
    ) async throws {
        let vote = try await ground.pool.withSession { session in
            try await session.query(
                """
                SELECT votes.open('S', '{a,b}', 1, clock_timestamp() + interval '1 hour',
                    NULL, 1)
                """
            ).int64(0, 0)
        }
        try await ground.join(vote, 2)
        _ = try await ground.pool.withSession { session in
            try await session.query(
                """
                UPDATE votes.votes SET closes_at =
                    clock_timestamp() + make_interval(secs => $2::int / 1000.0)
                WHERE id = $1
                """, [.int64(vote), .int32(Int32(wait))])
        }
        @Sendable func close() async throws -> Bool {
            let why = try await ground.pool.withSession { session in
                try await session.query(
                    "SELECT votes.close($1)::text", [.int64(vote)]
                ).first?.optionalText(0)
            }
            guard let why else { return false }
            closings.add((vote, why))
            return true
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let answer = try await ground.cast(vote, 2)
                if let receipt = answer.receipt { receipts.add((vote, receipt)) }
                #expect(["ok", "closed"].contains(answer.reason))
                _ = try await close()
            }
            group.addTask {
                while try await !close() {
                    let isOpen = try await ground.pool.withSession { session in
                        try await session.query(
                            "SELECT state = 'open' FROM votes.votes WHERE id = $1",
                            [.int64(vote)]
                        ).bool(0, 0)
                    }
                    if !isOpen { break }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a ballot in flight is waited for`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.join(vote, 2)
        let hasCast = Notebook<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let other = try TestDatabase.here().session()
            try await other.script("BEGIN")
            _ = try await other.query("SELECT votes.cast($1, 2, '{3}')", [.int64(vote)])
            group.addTask {
                _ = try await ground.pool.withSession { session in
                    try await session.query("SELECT votes.close($1, true)", [.int64(vote)])
                }
                hasCast.add("closed")
            }
            try await eventually("the closing waits") {
                try await ground.number(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """) == 1
            }
            hasCast.add("cast")
            try await other.script("COMMIT")
            try await group.waitForAll()
            await other.close()
        }
        #expect(hasCast.all == ["cast", "closed"])
        #expect(
            try await ground.session.query(
                "SELECT votes.count_ballots($1)", [.int64(vote)]
            ).int32(0, 0) == 1)
    }

    @Test func `a vote that is taken back tells nobody what was chosen`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        let receipt = try await ground.vote(vote, 2)
        #expect(
            try await ground.refusal("SELECT votes.cancel($1, 2)", [.int64(vote)]) == "P0002")
        #expect(
            try await ground.refusal("SELECT votes.cancel($1, NULL)", [.int64(vote)]) == "P0002")
        let cancel = "SELECT votes.cancel($1, 1)"
        #expect(try await ground.session.query(cancel, [.int64(vote)]).bool(0, 0))
        #expect(try await !ground.session.query(cancel, [.int64(vote)]).bool(0, 0))
        #expect(try await ground.cast(vote, 3).reason == "closed")
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote) == "cancelled")
        #expect(try await ground.totals(vote) == nil)
        #expect(try await ground.verdict(receipt) == "not_published")
        #expect(try await ground.number("SELECT count(*) FROM votes.casts") == 0)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM votes.keys WHERE vote_id IS NOT NULL AND sealed IS NOT NULL")
                == 0)
        let other = try await ground.open()
        try await ground.end(other)
        try await ground.work()
        #expect(try await ground.refusal(cancel, [.int64(other)]) == "RU001")
    }
}
