import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

/// Tries to find out who voted what, with all that the database has after a publication.
@Suite("Anonymity", .database) struct AnonymityTests {
    private let people = 400

    /// A vote of four hundred on two options, cast in random order; with who chose what.
    private func held(
        _ ground: VoteGround
    ) async throws -> (vote: Int64, order: [Int64], choices: [Int64: Int32], receipts: [String]) {
        let vote = try await ground.open(["Yes", "No"])
        var (choices, receipts) = ([Int64: Int32](), [String]())
        let order = (2...Int64(people + 1)).shuffled()
        for person in order {
            try await ground.join(vote, person)
            let choice = Int32.random(in: 1...2)
            let answer = try await ground.cast(vote, person, [choice])
            choices[person] = choice
            receipts.append(try #require(answer.receipt))
        }
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote) == "published deadline")
        return (vote, order, choices, receipts)
    }

    @Test func `no order of the rows joins people to ballots better than chance`() async throws {
        let ground = try await VoteGround(people: people + 1)
        let (_, order, choices, _) = try await held(ground)
        let total = Double(people)
        let yes = Double(choices.values.count { $0 == 1 })
        let no = total - yes
        // Pairs of which neither side knows anything agree so often, with this deviation (the
        // hypergeometric distribution).
        let chance = (yes * yes + no * no) / total
        let deviation = 2 * yes * no / total / (total - 1).squareRoot()
        func agreement(_ people: [Int64], _ ballots: [Int32]) -> Double {
            Double(zip(people, ballots).count { choices[$0] == $1 })
        }
        // The guesser can succeed: with the truth in hand all pairs agree.
        #expect(agreement(order, order.compactMap { choices[$0] }) == total)
        let ofPeople = ["ctid", "xmin::text::bigint, ctid", "person_id", "joined_on, person_id"]
        let ofBallots = [
            "ctid", "xmin::text::bigint, ctid", "position", "commitment", "nonce",
        ]
        for ordering in ofPeople {
            let found = try await ground.session.query(
                "SELECT person_id FROM votes.participants ORDER BY \(ordering)"
            ).map { try $0.int64(0) }
            for other in ofBallots {
                let ballots = try await ground.session.query(
                    "SELECT choice[1]::int FROM votes.ballots ORDER BY \(other)"
                ).map { try $0.int32(0) }
                for guess in [agreement(found, ballots), agreement(found, ballots.reversed())] {
                    #expect(
                        abs(guess - chance) < 5 * deviation + 1, "\(ordering) with \(other)")
                }
            }
        }
        // The order in which they cast, which a bystander may know, is in no order of the ballots.
        for other in ofBallots {
            let ballots = try await ground.session.query(
                "SELECT choice[1]::int FROM votes.ballots ORDER BY \(other)"
            ).map { try $0.int32(0) }
            #expect(abs(agreement(order, ballots) - chance) < 5 * deviation + 1, "\(other)")
        }
    }

    @Test func `all rows of a kind are of one transaction, and none has a time`() async throws {
        let ground = try await VoteGround(people: people + 1)
        let (_, order, _, _) = try await held(ground)
        for table in ["participants", "ballots", "nodes"] {
            #expect(
                try await ground.number(
                    "SELECT count(DISTINCT xmin::text) FROM votes.\(table)") == 1, "\(table)")
            #expect(
                try await ground.texts(
                    """
                    SELECT column_name::text FROM information_schema.columns
                    WHERE table_schema = 'votes' AND table_name = '\(table)'
                      AND data_type LIKE 'time%'
                    """) == [])
        }
        // Who came when is not in the places of the rows either (Spearman's correlation).
        let places = try await ground.session.query(
            "SELECT person_id FROM votes.participants ORDER BY ctid"
        ).map { try $0.int64(0) }
        let came = Dictionary(uniqueKeysWithValues: zip(order, 0...))
        let squares = places.enumerated().reduce(0.0) { sum, row in
            let difference = Double(row.offset - (came[row.element] ?? 0))
            return sum + difference * difference
        }
        let count = Double(people)
        let correlation = 1 - 6 * squares / (count * (count * count - 1))
        #expect(places.count == people && abs(correlation) < 5 / count.squareRoot())
        let ballots = try await ground.session.query(
            "SELECT position FROM votes.ballots ORDER BY ctid"
        ).map { try $0.int32(0) }
        #expect(ballots == ballots.sorted())
        for table in ["casts", "gates", "guesses", "key_shares"] {
            #expect(try await ground.number("SELECT count(*) FROM votes.\(table)") == 0)
        }
    }

    @Test func `jobs carry the ids of votes, and nonces are beside their ballots alone`()
        async throws
    {
        let ground = try await VoteGround(people: people + 1)
        let (_, _, _, receipts) = try await held(ground)
        let keys = try await ground.texts(
            """
            SELECT DISTINCT k FROM (
                SELECT args FROM errand.jobs WHERE kind LIKE 'votes.%'
                UNION ALL SELECT args FROM errand.finished_jobs WHERE kind LIKE 'votes.%'
            ) j CROSS JOIN jsonb_object_keys(j.args) AS k ORDER BY 1
            """)
        #expect(keys == ["vote_id"])
        let receipt = try #require(Receipt(receipts[0]))
        let hex = receipt.nonce.map { String(format: "%02x", $0) }.joined()
        let tables = try await ground.texts(
            """
            SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
            WHERE schemaname IN ('votes', 'errand', 'notification', 'public') ORDER BY 1
            """)
        #expect(tables.count > 20)
        var found: [String] = []
        for table in tables {
            let hits = try await ground.number(
                """
                SELECT count(*) FROM \(table) t
                WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0
                """, [.text(hex), .text(String(receipts[0].suffix(43)))])
            if hits > 0 { found.append("\(table) \(hits)") }
        }
        #expect(found == ["votes.ballots 1"])
    }

    @Test func `while it is open a link is sealed, and all are of one length`() async throws {
        let ground = try await VoteGround(people: 30)
        let vote = try await ground.open(["A", "B", "C", "D"], atMost: 4)
        for person in 2...21 as ClosedRange<Int64> {
            try await ground.vote(vote, person, person % 2 == 0 ? [1] : [1, 2, 3, 4])
        }
        let lengths = "SELECT count(DISTINCT length(sealed)) FROM votes.casts"
        #expect(try await ground.number(lengths) == 1)
        #expect(
            try await ground.number(
                "SELECT count(DISTINCT substr(sealed, 17, 32)) FROM votes.casts")
                == 20)
        #expect(
            try await ground.texts(
                """
                SELECT relpersistence::text FROM pg_class
                WHERE oid IN ('votes.open_keys'::regclass, 'votes.guesses'::regclass)
                """) == ["u", "u"])
        // Nothing that is sampled for the planner would show one.
        try await ground.session.script(
            "ANALYZE votes.casts, votes.open_keys, votes.keys, votes.key_shares")
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM pg_stats WHERE schemaname = 'votes'
                  AND attname IN ('sealed', 'cipher_key', 'mac_key', 'password_mac', 'wrapped')
                """) == 0)
    }
}
