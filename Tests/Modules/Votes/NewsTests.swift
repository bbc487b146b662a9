import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

@Suite("The news of a vote", .database) struct NewsTests {
    /// A vote that 1,050 people have joined, whose news are prepared in three transactions.
    private func large(_ ground: VoteGround) async throws -> Int64 {
        let vote = try await ground.open(closing: "10 minutes")
        try await join(ground, vote, 2...1_051)
        return vote
    }

    private func join(
        _ ground: VoteGround, _ vote: Int64, _ people: ClosedRange<Int64>
    ) async throws {
        _ = try await ground.session.query(
            "SELECT count(votes.join($1, n, 'Person ' || n)) FROM generate_series($2, $3) n",
            [.int64(vote), .int64(people.lowerBound), .int64(people.upperBound)])
    }

    private func counts(_ ground: VoteGround) async throws -> [Int64] {
        let row = try #require(
            try await ground.session.query(
                """
                SELECT (SELECT count(*) FROM notification.notices WHERE kind = 'vote.published'),
                    (SELECT count(*) FROM notification.parked_items),
                    (SELECT count(*) FROM notification.inbox_items),
                    (SELECT count(*) FROM notification.parked_deliveries),
                    (SELECT count(*) FROM errand.jobs WHERE kind = 'notification.push')
                """
            ).first)
        return try (0..<5).map { try row.int64($0) }
    }

    private func statuses(_ ground: VoteGround) async throws -> [String] {
        try await ground.texts(
            """
            SELECT status || ' ' || count(*) FROM notification.notices
            WHERE kind = 'vote.published' GROUP BY status ORDER BY 1
            """)
    }

    private let ask = "SELECT votes.ask_for_news()"

    @Test func `of a large vote that is nearly over they are prepared, and let go with the result`()
        async throws
    {
        let ground = try await VoteGround(people: 1_200)
        _ = try await ground.session.query(
            """
            INSERT INTO notification.devices (person_id, app, platform, environment, topic, token)
            SELECT n, 'vote', 'fcm', 'production', '', 'token-' || n FROM generate_series(1, 5) n
            """)
        let vote = try await large(ground)
        // 900 of 1,000 have cast, and there are weeks to go.
        _ = try await ground.open(expected: 1_000, closing: "40 days")
        _ = try await ground.session.query(
            """
            UPDATE votes.gates SET casts = 950
            WHERE number = 0 AND vote_id = (SELECT max(id) FROM votes.votes)
            """)
        // A small one is not worth it, and one with time left can wait.
        let small = try await ground.open(closing: "10 minutes")
        try await ground.join(small, 2)
        let long = try await ground.open()
        try await join(ground, long, 2...1_010)
        #expect(try await ground.number(ask) == 1)
        #expect(try await ground.number(ask) == 0)
        try await ground.work(workers: 2)
        #expect(try await counts(ground) == [1_051, 1_051, 0, 5, 0])
        // Nobody is told before the release.
        #expect(try await statuses(ground) == ["pending 1051"])
        // Not for everybody who comes; for a tenth more.
        try await join(ground, vote, 1_052...1_060)
        #expect(try await ground.number(ask) == 0)
        try await join(ground, vote, 1_061...1_160)
        #expect(try await ground.number(ask) == 1)
        try await ground.cast(vote, 5)
        try await ground.end(vote)
        try await ground.work(workers: 3)
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await counts(ground) == [1_160, 0, 1_160, 0, 5])
        #expect(Set(try await ground.told("vote.published")).count == 1_160)
        #expect(try await statuses(ground) == ["pending 5", "sent 1155"])
        #expect(try await ground.number("SELECT count(*) FROM votes.preparations") == 0)
    }

    @Test func `one that nearly all have cast at is nearly over`() async throws {
        let ground = try await VoteGround(people: 1_010)
        let vote = try await ground.open(expected: 1_000)
        try await join(ground, vote, 2...1_001)
        _ = try await ground.session.query(
            "SELECT count(votes.cast($1, n, '{1}')) FROM generate_series(2, 900) n",
            [.int64(vote)])
        #expect(try await ground.number(ask) == 0)
        try await ground.cast(vote, 901)
        #expect(try await ground.number(ask) == 1)
    }

    @Test func `they are worth telling after the longest review, and come behind what was read`()
        async throws
    {
        let ground = try await VoteGround(people: 1_100)
        _ = try await ground.session.query("UPDATE votes.rules SET review_for = '20 days'")
        let vote = try await large(ground)
        for person in [5, 6] as [Int64] {
            try await ground.join(vote, person, as: "Ann")
            try await ground.cast(vote, person)
        }
        _ = try await ground.number(ask)
        try await ground.work()
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote) == "review deadline")
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM notification.notices
                WHERE kind = 'vote.published' AND expires_at < now() + interval '33 days'
                """) == 0)
        let inbox = "SELECT id FROM notification.inbox(1, after => $1)"
        let review = try await ground.number(inbox, [.int64(0)])
        #expect(try await ground.session.query(inbox, [.int64(review)]).isEmpty)
        _ = try await ground.session.query(
            "SELECT votes.resolve($1, 1, 'Ann', 'validate')", [.int64(vote)])
        try await ground.work()
        // Made before, let go after.
        #expect(try await ground.number(inbox, [.int64(review)]) < review)
    }

    @Test func `of a vote that is taken back nothing is told`() async throws {
        let ground = try await VoteGround(people: 1_060)
        let vote = try await large(ground)
        _ = try await ground.number(ask)
        try await ground.work()
        _ = try await ground.session.query("SELECT votes.cancel($1, 1)", [.int64(vote)])
        #expect(try await counts(ground) == [1_051, 0, 0, 0, 0])
        #expect(
            try await ground.texts(
                "SELECT DISTINCT status || ' ' || reason FROM notification.notices")
                == ["withdrawn the vote was cancelled"])
        // Whoever is late prepares nothing more.
        _ = try await ground.session.query(
            "SELECT errand.enqueue('votes.prepare', jsonb_build_object('vote_id', $1::bigint))",
            [.int64(vote)])
        try await ground.work()
        #expect(try await counts(ground) == [1_051, 0, 0, 0, 0])
    }

    @Test func `who is erased is in no notice of the vote either`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        for person in 2...4 as ClosedRange<Int64> { try await ground.vote(vote, person) }
        let other = try await ground.open()
        for person in 2...4 as ClosedRange<Int64> { try await ground.vote(other, person) }
        // Before the result, and after it.
        _ = try await ground.session.query("SELECT votes.forget(2, $1)", [.int64(vote)])
        try await ground.end(vote)
        try await ground.end(other)
        try await ground.work()
        _ = try await ground.session.query("SELECT votes.forget(3, $1)", [.int64(vote)])
        #expect(
            try await ground.texts(
                """
                SELECT subject || ' ' || person_id FROM notification.notices ORDER BY 1
                """)
                == [(vote, [1, 4]), (other, [1, 2, 3, 4])].flatMap { vote, people in
                    people.map { "vote:\(vote) \($0)" }
                })
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM notification.inbox_items i
                WHERE NOT EXISTS (SELECT FROM notification.notices n WHERE n.id = i.notice_id)
                """) == 0)
    }

    @Test func `votes that end together are closed together, but for one that waits`()
        async throws
    {
        let ground = try await VoteGround(people: 3, ready: 40)
        var votes: [Int64] = []
        for _ in 0..<40 { votes.append(try await ground.open()) }
        for vote in votes { try await ground.end(vote) }
        let other = try TestDatabase.here().session()
        try await other.script("BEGIN")
        // As casting does.
        _ = try await other.query(
            "SELECT 1 FROM votes.gates WHERE vote_id = $1 AND number = 0 FOR KEY SHARE",
            [.int64(votes[7])])
        let closed = try await ground.session.query(
            "SELECT vote, reason::text FROM votes.close_free($1)", [.int64Array(votes)]
        ).map { (try $0.int64(0), try $0.text(1)) }
        #expect(closed.map(\.0) == votes.filter { $0 != votes[7] })
        #expect(closed.allSatisfy { $0.1 == "deadline" })
        try await other.script("COMMIT")
        await other.close()
        try await ground.work()
        for vote in votes { #expect(try await ground.state(vote) == "published deadline") }
    }

    @Test func `those of one batch that cannot be closed harm no others`() async throws {
        let ground = try await VoteGround(people: 3, ready: 4)
        let votes = [try await ground.open(), try await ground.open(), try await ground.open()]
        _ = try await ground.session.query(
            "SELECT errand.enqueue('votes.close', '{\"vote_id\": 999}', max_attempts => 1)")
        for vote in votes { try await ground.end(vote) }
        try await ground.work()
        for vote in votes { #expect(try await ground.state(vote) == "published deadline") }
        #expect(
            try await ground.texts("SELECT errors -> -1 ->> 'error' FROM errand.dead_jobs")
                .contains { $0.contains("no vote has the id 999") })
    }
}
