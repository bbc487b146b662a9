import ErrandCrypto
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

@Suite("Counting and publishing", .database) struct CountingTests {
    @Test func `the tree of the database is that of RFC 6962, whatever its size`() async throws {
        let sizes =
            Array(0...9) + [15, 16, 17, 31, 33] + (0..<6).map { _ in Int.random(in: 34...700) }
        let ground = try await VoteGround(ready: sizes.count)
        for size in sizes {
            let vote = try await ground.open()
            _ = try await ground.session.query("SELECT votes.close($1, true)", [.int64(vote)])
            _ = try await ground.session.query(
                """
                INSERT INTO votes.ballots (vote_id, position, choice, nonce, commitment)
                SELECT $1, row_number() OVER (ORDER BY c) - 1, '{1}', votes.random_bytes(32), c
                FROM (SELECT votes.random_bytes(32) AS c FROM generate_series(1, $2)) s ORDER BY c
                """, [.int64(vote), .int32(Int32(size))])
            _ = try await ground.session.query(
                """
                UPDATE votes.votes SET root = votes.grow_tree($1, $2), ballots = $2, voters = $2,
                    state = 'counted' WHERE id = $1
                """, [.int64(vote), .int32(Int32(size))])
            try await ground.destroyKeys()
            _ = try await ground.session.query("SELECT votes.publish($1)", [.int64(vote)])
            try await ground.check(vote)
        }
    }

    @Test func `the database takes right proofs, and no wrong ones`() async throws {
        let session = try TestDatabase.here().session()
        let entries = (0..<13).map { [UInt8($0)] }
        let tree = MerkleTree(of: entries)
        func holds(
            _ entry: [UInt8], _ index: Int, _ size: Int, _ path: [[UInt8]], _ root: [UInt8]
        ) async throws -> Bool {
            try await session.query(
                """
                SELECT votes.verify_path($1, $2, $3,
                    ARRAY(SELECT decode(h, 'hex') FROM unnest($4::text[])
                        WITH ORDINALITY AS u (h, n) ORDER BY n), $5)
                """,
                [
                    .bytes(entry), .int32(Int32(index)), .int32(Int32(size)),
                    .textArray(path.map { $0.map { String(format: "%02x", $0) }.joined() }),
                    .bytes(root),
                ]
            ).bool(0, 0)
        }
        for index in 0..<13 {
            let path = tree.path(of: index)
            #expect(try await holds([UInt8(index)], index, 13, path, tree.root))
            #expect(try await !holds([UInt8(index), 0], index, 13, path, tree.root))
            #expect(try await !holds([UInt8(index)], (index + 1) % 13, 13, path, tree.root))
            #expect(try await !holds([UInt8(index)], index, 13, path + [path[0]], tree.root))
            #expect(try await !holds([UInt8(index)], index, 13, path.dropLast(), tree.root))
            #expect(try await !holds([UInt8(index)], index, 13, path, path[0]))
        }
        #expect(try await !holds([0], -1, 13, tree.path(of: 0), tree.root))
        #expect(try await !holds([0], 13, 13, tree.path(of: 0), tree.root))
    }

    @Test func `a receipt is read here as in the database, and proves its ballot offline`()
        async throws
    {
        let ground = try await VoteGround()
        let vote = try await ground.open(atMost: 3)
        var receipts: [String] = []
        for person in 2...8 as ClosedRange<Int64> {
            receipts.append(
                try await ground.vote(vote, person, person % 2 == 0 ? [3, 1] : [Int32(2)]))
        }
        try await ground.end(vote)
        try await ground.work()
        for text in receipts {
            let receipt = try #require(Receipt(text))
            #expect("\(receipt)" == text)
            let row = try #require(
                try await ground.session.query(
                    """
                    SELECT v.is_included, v.position, v.size, v.root,
                        votes.commitment(v.vote, v.choice, r.nonce) AS commitment,
                        ARRAY(SELECT encode(h, 'hex') FROM unnest(v.path)
                            WITH ORDINALITY AS u (h, n) ORDER BY n) AS path
                    FROM votes.verify_receipt($1) v, votes.read_receipt($1) r
                    """, [.text(text)]
                ).first)
            #expect(try row.bool("is_included"))
            #expect(try row.bytes("commitment") == receipt.commitment)
            let path = try row.textArray("path").map { bytes($0) }
            let (index, size) = (Int(try row.int32("position")), Int(try row.int32("size")))
            let root = try row.bytes("root")
            #expect(receipt.isIncluded(at: index, of: size, path: path, root: root))
            var other = receipt
            other.choice = [1]
            #expect(!other.isIncluded(at: index, of: size, path: path, root: root))
            #expect(try await ground.verdict("\(other)") == "not_included")
        }
        for text in [
            "", "v1", "v2" + receipts[0].dropFirst(2), receipts[0] + "A", "\(receipts[0]) ",
            receipts[0].replacing(".1-3.", with: ".3-01."), "v1.1.1." + receipts[0].suffix(42),
            receipts[0].dropLast() + "B",
        ].map({ String($0) }) {
            let isSame = try await ground.verdict(text) == "malformed"
            #expect(isSame == (Receipt(text) == nil), "\(text)")
        }
        #expect(Receipt("v1.0.1." + receipts[0].suffix(43)) == nil)
        #expect(try await ground.verdict("v1.999.1." + receipts[0].suffix(43)) == "not_published")
    }

    private func bytes(_ text: String) -> [UInt8] {
        let digits = Array(text)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    @Test func `everybody is told at the moment of the result, and nobody before`() async throws {
        let ground = try await VoteGround(people: 1_300)
        _ = try await ground.session.query(
            """
            SELECT count(notification.register_device(n, 'vote', 'fcm', 'token' || n))
            FROM generate_series(1, 1000) n
            """)
        let vote = try await ground.open()
        _ = try await ground.session.query(
            """
            SELECT count(votes.join($1, n, 'Person ' || n)), count(votes.cast($1, n, '{2}'))
            FROM generate_series(2, 1201) n
            """, [.int64(vote)])
        let seen = Notebook<String>()
        // What anybody sees while it is being published, at any moment.
        let moment = """
            SELECT (SELECT count(*) FROM votes.result(\(vote)))
                || ' ' || (SELECT count(*) FROM errand.jobs WHERE kind LIKE 'notification.%')
                || ' ' || (SELECT count(*) FROM notification.inbox_items)
            """
        try await ground.end(vote)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await ground.work(workers: 2) }
            group.addTask {
                let other = try TestDatabase.here().session()
                while try await other.query("SELECT state <> 'published' FROM votes.votes")
                    .bool(0, 0)
                {
                    seen.add(try await other.query(moment).text(0, 0))
                }
                seen.add(try await other.query(moment).text(0, 0))
                await other.close()
            }
            try await group.waitForAll()
        }
        #expect(Set(seen.all) == ["0 0 0", "3 1000 1201"])
        #expect(try await ground.told("vote.published") == Array(1...1201))
        #expect(try await ground.number("SELECT count(*) FROM notification.parked_items") == 0)
        #expect(
            try await ground.number("SELECT count(*) FROM notification.parked_deliveries") == 0)
        let jobs = try await ground.session.query(
            """
            SELECT count(*), count(DISTINCT args), count(DISTINCT xmin::text), min(priority),
                min(queue), min(max_attempts), count(DISTINCT run_at)
            FROM errand.jobs WHERE kind = 'notification.push'
            """)
        #expect(try jobs.int64(0, 1) == 1_000 && jobs.int64(0, 2) == 1)
        #expect(try jobs.int64(0, 6) == 1)
        #expect(try jobs.int16(0, 3) == 0 && jobs.text(0, 4) == "fcm" && jobs.int16(0, 5) == 12)
    }

    @Test func `it is published once, however many try`() async throws {
        let ground = try await VoteGround(people: 60)
        let vote = try await ground.open()
        for person in 2...40 as ClosedRange<Int64> { try await ground.vote(vote, person) }
        try await ground.end(vote)
        let client = try await JobClient(pool: ground.pool, redis: TestDatabase.here().redis)
        for _ in 0..<4 {
            try await client.enqueue(CloseVote(voteID: vote))
            try await client.enqueue(CountVote(voteID: vote))
            try await client.enqueue(PublishVote(voteID: vote))
        }
        try await ground.work(workers: 3)
        let at = try await ground.texts("SELECT published_at::text FROM votes.votes")
        for _ in 0..<3 { try await client.enqueue(PublishVote(voteID: vote)) }
        for _ in 0..<3 { try await client.enqueue(CountVote(voteID: vote)) }
        try await ground.work(workers: 2)
        #expect(try await ground.texts("SELECT published_at::text FROM votes.votes") == at)
        #expect(try await ground.told("vote.published") == Array(1...40))
        #expect(try await ground.totals(vote) == [39, 0, 0])
        #expect(try await ground.number("SELECT count(*) FROM votes.ballots") == 39)
    }

    @Test(
        "totals are the ballots of those who are validated", arguments: 0..<8)
    func property(round: Int) async throws {
        let people = Int64.random(in: 2...60)
        let ground = try await VoteGround(people: Int(people) + 1)
        let options = Int32.random(in: 2...5)
        let atMost = Int32.random(in: 1...options)
        let vote = try await ground.open((1...options).map { "Option \($0)" }, atMost: atMost)
        // So few names that several have the same.
        let names = Int64.random(in: 1...people)
        var cast: [Int64: (choice: [Int32], name: Int64, receipt: String)] = [:]
        for person in (2...(people + 1)).shuffled() {
            let name = Int64.random(in: 1...names)
            try await ground.join(vote, person, as: "NÀME \(name)")
            guard Int.random(in: 0..<5) > 0 else { continue }
            let choice = Array(
                (1...options).shuffled().prefix(Int(Int32.random(in: 1...atMost))))
            let answer = try await ground.cast(vote, person, choice)
            cast[person] = (choice, name, try #require(answer.receipt))
        }
        try await ground.end(vote)
        try await ground.work()
        var rejected: Set<Int64> = []
        for (name, members) in Dictionary(grouping: cast.keys, by: { cast[$0]?.name ?? 0 })
        where members.count > 1 {
            let some = members.filter { _ in Bool.random() }
            rejected.formUnion(some)
            _ = try await ground.session.query(
                "SELECT votes.resolve($1, 1, $2, $3, $4)",
                [
                    .int64(vote), .text("name \(name)"),
                    .text(some.isEmpty ? "validate" : "reject"), .int64Array(some),
                ])
        }
        try await ground.work(workers: 2)
        let valid = cast.filter { !rejected.contains($0.key) }
        let expected = (1...options).map { option in
            Int32(valid.values.count { $0.choice.contains(option) })
        }
        #expect(try await ground.totals(vote) == expected)
        #expect(try await ground.names(vote).count == valid.count)
        for (person, ballot) in cast {
            let verdict = rejected.contains(person) ? "not_included" : "ok"
            #expect(try await ground.verdict(ballot.receipt) == verdict)
        }
        #expect(try await ground.told("vote.published") == Array(1...(people + 1)))
        try await ground.check(vote)
    }

    @Test func `a link that was moved to another person is found, and nothing is counted`()
        async throws
    {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.vote(vote, 2, [1])
        try await ground.vote(vote, 3, [2])
        _ = try await ground.session.query("SELECT votes.close($1, true)", [.int64(vote)])
        let count = "SELECT votes.count_ballots($1)"
        _ = try await ground.session.query(
            "UPDATE votes.casts c SET person_id = 9 - c.person_id + 10 * (c.person_id - 2)")
        #expect(try await ground.refusal(count, [.int64(vote)]) != nil)
        #expect(try await ground.state(vote) == "closed by_hand")
        _ = try await ground.session.query("DELETE FROM votes.casts WHERE person_id > 9")
        #expect(try await ground.refusal(count, [.int64(vote)]) == "XX001")
        #expect(try await ground.number("SELECT count(*) FROM votes.ballots") == 0)
    }
}
