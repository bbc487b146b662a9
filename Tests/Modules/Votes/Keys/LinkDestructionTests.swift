import Foundation
import Errand
import ErrandKeys
import ErrandPostgres
import ErrandTestServices
import Testing
import ErrandVotes

/// Whoever has all files, or all of the log and dumps, joins nobody to a choice.
@Suite("Links that are destroyed", .database) struct LinkDestructionTests {
    private static let voters: ClosedRange<Int64> = 2...13

    /// A vote of twelve on three options, and what each chose.
    private func cast(
        _ ground: VoteGround
    ) async throws -> (vote: Int64, choices: [Int64: Int32], receipts: [String]) {
        let vote = try await ground.open()
        var (choices, receipts) = ([Int64: Int32](), [String]())
        for person in Self.voters.shuffled() {
            let choice = Int32.random(in: 1...3)
            receipts.append(try await ground.vote(vote, person, [choice]))
            choices[person] = choice
        }
        return (vote, choices, receipts)
    }

    /// Lets a vote be over, counted and published.
    private func publish(_ ground: VoteGround, _ vote: Int64) async throws {
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote).hasPrefix("published"))
    }

    @Test func `no page has a link after the publication, before and after VACUUM`() async throws {
        let ground = try await VoteGround(people: 14)
        let search = try await LinkSearch()
        let (vote, choices, _) = try await cast(ground)
        let (other, otherChoices, _) = try await cast(ground)
        // The search succeeds while the vote is open.
        #expect(try await search.links(of: vote) == choices)
        let secrets = try await search.secrets(of: vote)
        #expect(try await search.places(of: secrets.wrapping).count >= 2)
        #expect(try await search.rejoined(vote, with: secrets) == choices)
        try await publish(ground, vote)
        // The deleted rows are still there: the links, the key and the wrapped share.
        #expect(try await search.remains(of: "votes.casts") == 24)
        #expect(try await search.remains(of: "votes.open_keys") >= 5)
        let gone = secrets.wrapping + [secrets.share, secrets.linkKey]
        #expect(try await search.links(of: vote) == [:])
        #expect(try await search.places(of: gone) == [])
        // Nor for those who have kept the links and the vote's own key since the vote was open.
        #expect(try await search.rejoined(vote, with: secrets) == [:])
        try await search.script(
            """
            VACUUM votes.casts, votes.open_keys, votes.key_shares, votes.keys, votes.participants,
                votes.gates
            """)
        #expect(try await search.links(of: vote) == [:])
        #expect(try await search.places(of: gone) == [])
        #expect(try await search.rejoined(vote, with: secrets) == [:])
        // The key of an open vote was wrapped anew, and its ballots count.
        #expect(try await search.links(of: other) == otherChoices)
        try await publish(ground, other)
        #expect(try await search.links(of: other) == [:])
        let totals = (1...3).map { option in
            Int32(otherChoices.values.count { $0 == option })
        }
        #expect(try await ground.totals(other) == totals)
        await search.close()
    }

    @Test func `the log of a vote has no key that opens a link without the key file`()
        async throws
    {
        let search = try await LinkSearch()
        try await search.leaveLogUncompressed()
        try await search.keepingLog {
            let ground = try await VoteGround(people: 14, ready: 0)
            let start = try await search.logPosition()
            _ = try await ground.session.query("UPDATE votes.rules SET keys_ahead = 3")
            try await ground.prepare()
            let (vote, _, receipts) = try await cast(ground)
            let secrets = try await search.secrets(of: vote)
            try await publish(ground, vote)
            let end = try await search.logPosition()
            func count(_ needles: [[UInt8]]) async throws -> Int {
                try await search.countInLog(needles, from: start, to: end)
            }
            // The search succeeds: the sealed links and the sealed key are there.
            #expect(try await count(Array(secrets.sealed.prefix(3))) == 3)
            #expect(try await count([secrets.sealedKey]) == 1)
            #expect(try await count(secrets.keys + [secrets.linkKey, secrets.share]) == 0)
            // A link in clear is a nonce, and a choice with spaces behind it.
            let clear = receipts.prefix(3).compactMap { Receipt($0) }.map { receipt in
                receipt.nonce + Array("\(receipt.choice[0])   ".utf8)
            }
            #expect(clear.count == 3)
            #expect(try await count(clear) == 0)
        }
        await search.close()
    }

    @Test func `a dump of an open vote has no key in clear, and when restored it can be counted`()
        async throws
    {
        let ground = try await VoteGround(people: 14)
        let search = try await LinkSearch()
        let (vote, choices, _) = try await cast(ground)
        let secrets = try await search.secrets(of: vote)
        await search.close()
        // Of a superuser, with the rows of unlogged tables.
        let dump = try Program("/usr/bin/env", ["pg_dump", TestDatabase.here().url])
        #expect(try await dump.end(within: .seconds(60)) == .exited(0), "\(dump.errors)")
        let text = dump.output
        func hex(_ bytes: [UInt8]) -> String {
            bytes.map { String(format: "%02x", $0) }.joined()
        }
        for sealed in secrets.sealed { #expect(text.contains(hex(sealed))) }
        #expect(text.contains("COPY votes.open_keys"))
        for key in secrets.keys + [secrets.linkKey, secrets.share] {
            #expect(!text.contains(hex(key)))
        }
        let url = try await TestDatabase.url(with: nil)
        let psql = try Program(
            "/usr/bin/env", ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url], input: text)
        #expect(try await psql.end(within: .seconds(60)) == .exited(0), "\(psql.errors)")
        let pool = Pool(SessionSettings(url, name: "restored"), limit: 2)
        let opened = try await KeyPool(sealing: ground.keys, log: .silent).run(in: pool)
        #expect(opened == PreparedKeys(made: 1, opened: 5))
        let totals = try await pool.withSession { session in
            _ = try await session.query("SELECT votes.close($1, true)", [.int64(vote)])
            _ = try await session.query("SELECT votes.count_ballots($1)", [.int64(vote)])
            return try await session.query(
                "SELECT ballots FROM votes.options WHERE vote_id = $1 ORDER BY number",
                [.int64(vote)]
            ).map { try $0.int32(0) }
        }
        #expect(totals == (1...3).map { option in Int32(choices.values.count { $0 == option }) })
        await pool.close()
    }

    @Test func `Redis has nothing of a vote`() async throws {
        let ground = try await VoteGround(people: 14)
        let search = try await LinkSearch()
        let (vote, _, receipts) = try await cast(ground)
        let secrets = try await search.secrets(of: vote)
        try await publish(ground, vote)
        let instance = try await ground.texts("SELECT id::text FROM errand.instance")[0]
        let contents = try await contentsOfRedis(prefix: "errand:{\(instance.prefix(8))}")
        let nonces = receipts.compactMap { Receipt($0)?.nonce }
        for bytes in secrets.keys + secrets.sealed + [secrets.linkKey, secrets.share] + nonces {
            #expect(!contents.contains(bytes.map { String(format: "%02x", $0) }.joined()))
        }
        for receipt in receipts {
            let text = Array(receipt.suffix(43).utf8).map { String(format: "%02x", $0) }
            #expect(!contents.contains(text.joined()))
        }
        await search.close()
    }

    /// All keys of a database and what they hold, in hexadecimal.
    private func contentsOfRedis(prefix: String) async throws -> String {
        let script = """
            local out = {}
            for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
                local kind, items = redis.call('TYPE', key).ok, {}
                if kind == 'string' then items = {redis.call('GET', key)}
                elseif kind == 'list' then items = redis.call('LRANGE', key, 0, -1)
                elseif kind == 'set' then items = redis.call('SMEMBERS', key)
                elseif kind == 'zset' then items = redis.call('ZRANGE', key, 0, -1)
                elseif kind == 'hash' then items = redis.call('HGETALL', key) end
                out[#out + 1] = key
                for _, item in ipairs(items) do out[#out + 1] = item end
            end
            return (table.concat(out, ' '):gsub('.', function(c)
                return string.format('%02x', string.byte(c))
            end))
            """
        let socket = try TestDatabase.environment("REDIS_URL").dropFirst("unix://".count)
        let cli = try Program(
            "/usr/bin/env", ["redis-cli", "-s", String(socket), "EVAL", script, "0", prefix])
        #expect(try await cli.end(within: .seconds(30)) == .exited(0), "\(cli.errors)")
        return cli.output
    }

    @Test func `no vote is published before its key is destroyed`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.vote(vote, 2)
        let publish = "SELECT votes.publish($1)"
        _ = try await ground.session.query(
            "SELECT votes.close($1, true), votes.count_ballots($1)", [.int64(vote)])
        #expect(try await ground.refusal(publish, [.int64(vote)]) == "RU002")
        // One that was counted after the first step waits for the next rotation.
        let late = try await ground.open()
        _ = try await ground.session.query("SELECT votes.rotate_wrapping_key()")
        _ = try await ground.session.query(
            "SELECT votes.close($1, true), votes.count_ballots($1)", [.int64(late)])
        #expect(try await ground.number("SELECT ended::bigint FROM votes.destroy_keys()") == 1)
        #expect(try await ground.refusal(publish, [.int64(vote)]) == nil)
        #expect(try await ground.refusal(publish, [.int64(late)]) == "RU002")
        try await ground.destroyKeys()
        #expect(try await ground.refusal(publish, [.int64(late)]) == nil)
        #expect(try await ground.number("SELECT count(*) FROM votes.key_shares") == 0)
    }

    @Test func `a dump that takes long holds up no publication`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.vote(vote, 2)
        // As pg_dump does.
        let dump = try TestDatabase.here().session()
        try await dump.script(
            """
            BEGIN ISOLATION LEVEL REPEATABLE READ;
            LOCK TABLE votes.casts, votes.open_keys, votes.key_shares, votes.keys, votes.gates,
                votes.wrapping IN ACCESS SHARE MODE;
            SELECT last_value FROM votes.wrapping_0_high;
            SELECT last_value FROM votes.wrapping_0_low;
            SELECT last_value FROM votes.wrapping_1_high;
            SELECT last_value FROM votes.wrapping_1_low
            """)
        try await publish(ground, vote)
        try await dump.script("COMMIT")
        await dump.close()
    }

    @Test func `ballots are cast while the keys of other votes are destroyed`() async throws {
        let people: Int64 = 301
        let ground = try await VoteGround(people: Int(people), ready: 80)
        let votes = [try await ground.open(), try await ground.open(expected: 300)]
        for vote in votes {
            _ = try await ground.session.query(
                "SELECT count(votes.join($1, n, 'Person ' || n)) FROM generate_series(2, $2) n",
                [.int64(vote), .int64(people)])
        }
        let slot = "SELECT slot::bigint FROM votes.wrapping"
        let reasons = Notebook<String>()
        let isCast = Notebook<Bool>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<4 as Range<Int64> {
                group.addTask {
                    for person in stride(from: lane + 2, through: people, by: 4) {
                        for vote in votes {
                            reasons.add(try await ground.cast(vote, person).reason)
                        }
                    }
                    isCast.add(true)
                }
            }
            group.addTask {
                var slots: Set<Int64> = []
                for _ in 0..<70 where isCast.count < 4 || slots.count < 2 {
                    let other = try await ground.pool.withSession { session in
                        try await session.query(
                            """
                            SELECT votes.open('S', '{a,b}', 1,
                                clock_timestamp() + interval '1 hour')
                            """
                        ).int64(0, 0)
                    }
                    try await ground.pool.withSession { session in
                        _ = try await session.query("SELECT votes.cancel($1, 1)", [.int64(other)])
                    }
                    try await ground.destroyKeys()
                    slots.insert(
                        try await ground.pool.withSession {
                            try await $0.query(slot).int64(0, 0)
                        })
                }
                #expect(slots == [0, 1])
            }
            try await group.waitForAll()
        }
        #expect(Set(reasons.all) == ["ok"] && reasons.count == 600)
        for vote in votes {
            try await publish(ground, vote)
            #expect(try await ground.totals(vote) == [300, 0, 0])
        }
    }
}
