import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// Votes that are closed, decided about, counted and published while everything is killed.
    @Suite("Votes") struct VoteFaultTests {
        private static let votes = 12
        private static let voters = 150

        @Test(.timeLimit(.minutes(5)))
        func `every ballot counts once and everybody is told once, whatever is killed`()
            async throws
        {
            let ground = try CrashGround.here()
            let keys = try await ground.keys()
            try await ground.session.script(
                """
                INSERT INTO people.people (id)
                SELECT n FROM generate_series(1, \(Self.voters + 1)) n;
                UPDATE votes.rules SET keys_ahead = \(Self.votes);
                SELECT errand.enqueue('votes.keys')
                """)
            let worker = try ground.worker(of: "votes:4", keys)
            try await eventually("keys") {
                try await ground.number("SELECT count(*) FROM votes.open_keys") == Self.votes
            }
            for vote in 1...Self.votes { try await cast(vote, ground) }

            worker.signal(SIGKILL)
            _ = try await worker.end(within: .seconds(30))
            let kills = try await ground.killWorkers(
                of: "votes:4", keys, pause: 50...900, longest: 4_000, within: .seconds(150)
            ) { kills in
                await decide(ground)
                let left = try? await ground.number(
                    "SELECT count(*) FROM votes.votes WHERE state <> 'published'")
                return left == 0 && kills >= 6
            }
            try await expectRight(ground)
            print("votes: \(Self.votes) of \(Self.voters), \(kills) kills")
        }

        /// What a person chooses in a vote, in SQL.
        private static func choice(_ vote: Int) -> String { "(1 + (n * 7 + \(vote)) % 3)" }

        /// All cast at a vote.
        ///
        /// Half of the votes are closed by the last of them, the others by their time. In each
        /// third vote two have one name.
        private func cast(_ vote: Int, _ ground: CrashGround) async throws {
            try await ground.session.script(
                """
                SELECT votes.open('Vote \(vote)', '{Ann,Bob,Cy}', 1,
                    clock_timestamp() + interval '\(vote % 2 == 0 ? "1 hour" : "4 seconds")',
                    expected => \(vote % 2 == 0 ? "\(Self.voters)" : "NULL"));
                SELECT count(votes.join(\(vote), n, 'Person ' || CASE WHEN \(vote) % 3 = 0 AND n = 3
                    THEN 2 ELSE n END)) FROM generate_series(2, \(Self.voters + 1)) n
                """)
            try await ground.session.script(
                """
                SELECT count(votes.cast(\(vote), n, ARRAY[\(Self.choice(vote))]))
                FROM generate_series(2, \(Self.voters + 1)) n
                """)
        }

        /// The initiator rejects the second of each name; again, if the first time was cut off.
        private func decide(_ ground: CrashGround) async {
            _ = try? await ground.session.query(
                """
                SELECT votes.resolve(v.id, 1, 'person 2', 'reject', '{3}') FROM votes.votes v
                WHERE v.state = 'review' AND EXISTS (SELECT FROM votes.exceptions e
                    WHERE e.vote_id = v.id AND e.state = 'open')
                """)
        }

        private func expectRight(_ ground: CrashGround) async throws {
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM votes.votes WHERE state = 'published'") == Self.votes)
            for vote in 1...Self.votes {
                let wrong = try await ground.number(
                    """
                    SELECT count(*) FROM votes.result(\(vote)) r WHERE r.ballots <> (
                        SELECT count(*) FROM generate_series(2, \(Self.voters + 1)) n
                        WHERE \(Self.choice(vote)) = r.number AND NOT (\(vote) % 3 = 0 AND n = 3))
                    """)
                #expect(wrong == 0, "vote \(vote)")
            }
            for (what, expected) in [
                ("votes.casts", 0),
                (
                    "votes.open_keys o JOIN votes.keys k ON k.id = o.key_id AND "
                        + "k.vote_id IS NOT NULL", 0
                ),
                ("votes.keys WHERE vote_id IS NOT NULL AND sealed IS NOT NULL", 0),
                ("notification.parked_items", 0), ("notification.parked_deliveries", 0),
                (
                    "notification.notices WHERE kind = 'vote.published'",
                    Self.votes * (Self.voters + 1)
                ),
                (
                    "notification.inbox_items i JOIN notification.notices n ON n.id = i.notice_id "
                        + "AND n.kind = 'vote.published'", Self.votes * (Self.voters + 1)
                ),
            ] {
                #expect(
                    try await ground.number("SELECT count(*) FROM \(what)") == expected, "\(what)")
            }
        }
    }
}
