import ErrandLedger
import ErrandPostgres
import ErrandTestServices
import Testing

/// The ledger as simple as can be: what each account holds, line by line.
private struct Model {
    var lines: [Int64: [(account: Int64, amount: Int64, at: Instant)]] = [:]
    var reversed: Set<Int64> = []

    func balance(_ account: Int64, before instant: Instant = .infinity) -> Int64 {
        lines.values.joined().filter { $0.account == account && $0.at < instant }
            .reduce(0) { $0 + $1.amount }
    }
}

@Suite("Model", .database) struct ModelTests {
    private func instant(_ random: inout SplitMix) -> Instant {
        Instant(microseconds: Int64.random(in: 800_000_000...800_001_000, using: &random) * 1_000)
    }

    /// Nil when it was reversed before.
    private func reverse(
        _ id: Int64, _ reason: String, _ at: Instant, _ ground: LedgerGround
    ) async throws -> Int64? {
        do throws(PostgresError) {
            return try await ground.session.query(
                "SELECT ledger.reverse($1, $2, at => $3)",
                [.int64(id), .text(reason), .timestamp(at)]
            ).int64(0, 0)
        } catch {
            guard error.sqlState == "23505" else { throw error }
            return nil
        }
    }

    @Test("random transactions and reversals leave what a simple model says, at any instant")
    func random() async throws {
        let ground = try await LedgerGround()
        var random = SplitMix(seed: 3)
        var accounts: [Int64] = []
        for (kind, owner) in [
            ("person", 1), ("person", 2), ("person", 3), ("establishment", 1), ("commission", 0),
            ("bank", 0),
        ] { accounts.append(try await ground.account(kind, Int64(owner))) }
        var model = Model()
        for number in 0..<150 {
            let at = instant(&random)
            if number % 4 == 3, let id = model.lines.keys.sorted().randomElement(using: &random) {
                let attempt = try await reverse(id, "because of \(number)", at, ground)
                #expect((attempt == nil) == model.reversed.contains(id), "once, and not twice")
                guard let reversal = attempt else { continue }
                model.reversed.insert(id)
                model.lines[reversal] = model.lines[id]?.map { ($0.account, -$0.amount, at) }
                continue
            }
            let chosen = accounts.shuffled(using: &random).prefix(
                Int.random(in: 2...5, using: &random))
            var amounts = chosen.dropLast().map { _ in
                Int64.random(in: 1...1_000_000, using: &random)
                    * (Bool.random(using: &random) ? 1 : -1)
            }
            let rest = -amounts.reduce(0, +)
            guard rest != 0 else { continue }
            amounts.append(rest)
            let id = try await ground.session.query(
                "SELECT ledger.post($1, 'test', $2, $3, $4)",
                [
                    .text("k\(number)"), .int64Array(Array(chosen)), .int64Array(amounts),
                    .timestamp(at),
                ]
            ).int64(0, 0)
            model.lines[id] = zip(chosen, amounts).map { ($0, $1, at) }
        }
        for account in accounts {
            let (kept, summed) = try await ground.balances(account)
            #expect(kept == model.balance(account))
            #expect(summed == kept)
            var instants = model.lines.values.joined().map(\.at).shuffled(using: &random).prefix(15)
            instants += [Instant(microseconds: 0), .now()]
            for at in instants {
                for at in [at, Instant(microseconds: at.microseconds + 1)] {
                    let then = try await ground.session.query(
                        "SELECT ledger.balance_at($1, $2)", [.int64(account), .timestamp(at)]
                    ).int64(0, 0)
                    #expect(then == model.balance(account, before: at))
                }
            }
        }
        let proof = try await ProveLedger.run(in: TestDatabase.here().pool(), now: .now(), chunk: 7)
        #expect(proof.examples == [])
        #expect(proof.transactions == model.lines.count)
        #expect(proof.postings == model.lines.values.reduce(0) { $0 + $1.count })
    }

    @Test("writers at once lose nothing and do not wait in a circle")
    func concurrent() async throws {
        let ground = try await LedgerGround(people: 5, shops: 3)
        let database = try TestDatabase.here()
        let (writers, each) = (12, 25)
        let sums = try await withThrowingTaskGroup(of: [Int64: Int64].self) { group in
            for writer in 0..<writers {
                group.addTask {
                    let session = database.session("writer")
                    var random = SplitMix(seed: UInt64(writer))
                    var earned: [Int64: Int64] = [:]
                    for number in 0..<each {
                        let person = Int64.random(in: 1...5, using: &random)
                        let cut = Int64.random(in: 1...400, using: &random)
                        let shop = Int64.random(in: 1...3, using: &random)
                        // Twice at once: the second is the same transaction.
                        for _ in 0..<2 {
                            try await ground.credit(
                                person, "survey:\(writer)-\(number)", shop: shop, paid: 500,
                                cut: cut, on: session)
                        }
                        earned[person, default: 0] += cut
                    }
                    await session.close()
                    return earned
                }
            }
            var sums: [Int64: Int64] = [:]
            for try await earned in group { sums.merge(earned, uniquingKeysWith: +) }
            return sums
        }
        for (person, sum) in sums {
            let account = try await ground.account("person", person)
            #expect(try await ground.balances(account) == (sum, sum))
        }
        let total = sums.values.reduce(0, +)
        let share = try await ground.balances(ground.account("commission"))
        #expect(share == (Int64(writers * each) * 500 - total, share.summed))
        #expect(share.kept == share.summed)
        #expect(try await ground.count("transactions") == writers * each)
        let slices = try await ground.session.query(
            "SELECT count(*) FROM ledger.balances WHERE account_id = $1",
            [.int64(ground.account("commission"))]
        ).int64(0, 0)
        #expect((2...64).contains(slices), "writers do not share one row")
    }

    @Test("the same reward by many at once is credited once")
    func race() async throws {
        let ground = try await LedgerGround()
        let database = try TestDatabase.here()
        let ids = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let session = database.session("racer")
                    let id = try await ground.credit(1, "survey:1", on: session)
                    await session.close()
                    return id
                }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(try await ground.balances(ground.account("person", 1)) == (300, 300))
    }

    @Test("a thousand postings are one transaction")
    func bulk() async throws {
        let ground = try await LedgerGround(people: 1_000)
        let rows = try await ground.session.query(
            "SELECT ledger.account('person', n, 'CAD') FROM generate_series(1, 1000) n")
        let people = try rows.map { try $0.int64(0) }
        let transit = try await ground.account("payouts_in_transit")
        let amounts = people.map { -$0 }
        let id = try await ground.session.query(
            "SELECT ledger.post('run:1', 'correction', $1, $2)",
            [
                .int64Array(people.reversed() + [transit]),
                .int64Array(amounts.reversed() + [people.reduce(0, +)]),
            ]
        ).int64(0, 0)
        #expect(try await ground.balances(people[17]) == (-people[17], -people[17]))
        let reversal = try await ground.session.query(
            "SELECT ledger.reverse($1, 'file was refused')", [.int64(id)]
        ).int64(0, 0)
        #expect(reversal != id)
        #expect(try await ground.balances(people[17]) == (0, 0))
        #expect(try await ground.balances(transit) == (0, 0))
        #expect(try await ground.count("postings") == 2_002)
    }
}
