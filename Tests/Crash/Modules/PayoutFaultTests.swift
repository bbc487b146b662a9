import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// A quarter that is closed, issued and partly returned while everything is killed.
    @Suite("Payouts") struct PayoutFaultTests {
        /// Another number for a run by hand.
        static let people =
            ProcessInfo.processInfo.environment["ERRAND_TEST_PAYEES"].flatMap { Int($0) } ?? 4_000
        /// Every so-manieth has no address, or earned too little.
        private static let (held, poor) = (97, 89)
        private static let deposits = 40

        @Test(.timeLimit(.minutes(10)))
        func `nobody is paid twice or left out, whatever is killed`() async throws {
            let ground = try CrashGround.here()
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "payouts-\(ground.name)").path
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await fill(ground)
            let settings = try await settings(ground, folder)
            for person in 1...Self.deposits {
                try await ground.finished(
                    ["payout", "enter", "\(person)", "--from", "-", "--yes"], settings,
                    input: Self.bank(person))
            }
            try await ground.finished(["payout", "preview", "2026-Q3"], settings)

            var kills = try await begin(ground, settings)
            kills += try await close(ground, settings)
            try await expectClosed(ground)
            try await ground.finished(
                ["payout", "approve", "2026-Q3", "--yes"],
                settings.merging(["ERRAND_OPERATOR": "bob"]) { $1 })
            let issue = ["payout", "issue", "2026-Q3", "--to", folder, "--yes"]
            kills += try await killed(issue, 6, ground, settings)
            try await expectIssued(ground, folder + "/2026-Q3-1")
            let back = try await ids(
                ground, "method = 'aft' AND id % 2 = 0 OR cheque_number % 400 = 0")
            kills += try await killed(
                ["payout", "return"] + back + ["--reason", "came back", "--yes"], 3, ground,
                settings)
            for id in back {
                _ = try await ground.finished(
                    ["payout", "reissue", id, "--method", "cheque", "--yes"], settings)
            }
            kills += try await killed(issue, 2, ground, settings)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM payouts.payouts WHERE state = 'pending'") == 0)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM payouts.payouts WHERE state = 'reissued'")
                    == back.count)
            for proof in [["payout", "prove"], ["ledger", "prove"]] {
                try await ground.finished(proof, settings)
            }
            print("payouts: \(Self.people) people, \(back.count) returned, \(kills) kills")
        }

        // MARK: Ground

        /// Three rewards each, posted for some hundreds of people at once.
        private func fill(_ ground: CrashGround) async throws {
            try await ground.session.script(
                """
                UPDATE payouts.rules SET allows_shared_login = true;
                INSERT INTO people.people (id, birth_date, age_verified_at)
                SELECT n, '1990-05-17', now() FROM generate_series(1, \(Self.people)) n;
                SELECT count(payouts.set_payee(n, 'Zoë Roy ' || n, '{"12, rue Rachel",Montréal}'))
                FROM generate_series(1, \(Self.people)) n WHERE n % \(Self.held) <> 0;
                SELECT count(ledger.account('person', n, 'CAD'))
                FROM generate_series(1, \(Self.people)) n;
                SELECT count(ledger.post('reward:' || round || ':' || part, 'reward',
                    accounts || ledger.account('company', 0, 'CAD'), amounts || -total,
                    '2026-08-01Z'::timestamptz + round * interval '1 day'))
                FROM generate_series(1, 3) round, (
                    SELECT a.owner / 500 AS part, array_agg(a.id) AS accounts,
                        array_agg(CASE WHEN a.owner % \(Self.poor) = 0 THEN 7
                            ELSE 100 + a.owner % 900 END) AS amounts,
                        sum(CASE WHEN a.owner % \(Self.poor) = 0 THEN 7
                            ELSE 100 + a.owner % 900 END)::bigint AS total
                    FROM ledger.accounts a WHERE a.kind = 'person' GROUP BY 1) g
                """)
        }

        private static func bank(_ person: Int) -> String {
            let account = "70" + String(100_000 + person).dropFirst()
            return #"{"bank":{"institution":"003","transit":"12345","account":"\#(account)"}}"#
        }

        private func settings(
            _ ground: CrashGround, _ folder: String
        ) async throws -> [String: String] {
            let profile = folder + "/profile.json"
            try Data(
                #"""
                {"company": {"name": "Sondages inc.", "address": ["1 rue Une", "Montréal"]},
                 "aft": {"CAD": {"originator_id": "1234567890", "data_centre": "86900",
                   "direct_clearer": "86901", "short_name": "SONDAGES", "long_name": "SONDAGES INC",
                   "return_account":
                     {"institution": "003", "transit": "00001", "account": "1000001"}}},
                 "cheques": {"CAD": {"bank": "Banque Une", "account": "1000001"}}}
                """#.utf8
            ).write(to: URL(filePath: profile))
            return try await ground.keys().merging(
                ["ERRAND_PAYOUTS_FILE": profile, "ERRAND_OPERATOR": "ann"]) { $1 }
        }

        // MARK: Kills

        /// Runs a command that is killed so many times, now and then with the database's server,
        /// and then to its end; how often it was killed.
        private func killed(
            _ arguments: [String], _ times: Int, _ ground: CrashGround,
            _ settings: [String: String]
        ) async throws -> Int {
            var kills = 0
            for time in 1...times {
                let program = try ground.start(arguments, environment: settings)
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...900)))
                if time % 4 == 0 {
                    try await CrashServers.here().crashPostgres()
                } else {
                    program.signal(SIGKILL)
                }
                let status = try await program.end(within: .seconds(60))
                if status != .exited(0) { kills += 1 }
            }
            let last = try ground.start(arguments, environment: settings)
            let status = try await last.end(within: .seconds(120))
            // Conflict: one that was to be killed had done all of it.
            #expect(status == .exited(0) || status == .exited(4), "\(last.errors)")
            return kills
        }

        /// Asks for the close by commands that are killed.
        private func begin(_ ground: CrashGround, _ settings: [String: String]) async throws -> Int
        {
            for _ in 1...4 {
                let program = try ground.start(
                    ["payout", "close", "2026-Q3", "--yes"], environment: settings)
                try await Task.sleep(for: .milliseconds(Int.random(in: 5...120)))
                program.signal(SIGKILL)
                _ = try await program.end(within: .seconds(10))
            }
            let last = try ground.start(
                ["payout", "close", "2026-Q3", "--yes"], environment: settings)
            let status = try await last.end(within: .seconds(60))
            // Conflict: one that was killed had begun it.
            #expect(status == .exited(0) || status == .exited(4), "\(last.errors)")
            return 4
        }

        /// Workers close chunk after chunk, and with each chunk a worker or the server is killed.
        private func close(_ ground: CrashGround, _ settings: [String: String]) async throws -> Int
        {
            var kills = 0
            var seen = Int.max
            let words = ["work", "--lease", "2s", "--grace", "5s", "--queues", "payouts:2"]
            var worker = try ground.start(words, environment: settings)
            let end = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < end {
                let row = try? await ground.session.query(
                    "SELECT state::text, chunks_left FROM payouts.runs")
                guard let row, row.count == 1 else {
                    try await Task.sleep(for: .milliseconds(20))
                    continue
                }
                if try row.text(0, 0) == "closed" { break }
                let left = Int(try row.int32(0, 1))
                if left < seen, seen != .max {
                    kills += 1
                    if kills % 3 == 0 {
                        try await CrashServers.here().crashPostgres()
                    } else {
                        worker.signal(SIGKILL)
                        _ = try await worker.end(within: .seconds(10))
                    }
                    // One that was only just starting has ended as well, for want of its server.
                    if !worker.isRunning {
                        worker = try ground.start(words, environment: settings)
                    }
                }
                seen = left
                try await Task.sleep(for: .milliseconds(5))
            }
            try await ground.expectCleanStop(worker)
            return kills
        }

        // MARK: What must hold

        private func expectClosed(_ ground: CrashGround) async throws {
            #expect(
                try await ground.session.query("SELECT state::text FROM payouts.runs").text(0, 0)
                    == "closed")
            // Everybody who earned enough has one payout of all that they earned.
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM (
                        SELECT n, 3 * (100 + n % 900) AS amount
                        FROM generate_series(1, \(Self.people)) n WHERE n % \(Self.poor) <> 0
                    ) e FULL JOIN payouts.payouts p ON p.person_id = e.n
                    WHERE e.amount IS DISTINCT FROM p.amount
                        OR p.state <> CASE WHEN e.n % \(Self.held) = 0 THEN 'held'
                            ELSE 'pending' END::payouts.payout_state
                    """) == 0)
        }

        private func ids(_ ground: CrashGround, _ condition: String) async throws -> [String] {
            try await ground.session.query(
                "SELECT id::text FROM payouts.payouts WHERE state = 'issued' AND (\(condition)) "
                    + "ORDER BY id"
            ).map { try $0.text(0) }
        }

        /// The files hold what the run does, and the cheques follow each other without a gap.
        private func expectIssued(_ ground: CrashGround, _ folder: String) async throws {
            let lines = try String(contentsOfFile: folder + "/cheques-CAD.csv", encoding: .utf8)
                .split(whereSeparator: \.isNewline)
            let cheques = try await ground.number(
                "SELECT count(*) FROM payouts.payouts WHERE cheque_number IS NOT NULL")
            #expect(lines.count == cheques)
            #expect(
                try await ground.number("SELECT max(cheque_number) FROM payouts.payouts")
                    == cheques)
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM payouts.payouts WHERE method = 'aft'") == Self.deposits)
            let bank = try Data(contentsOf: URL(filePath: folder + "/aft-CAD-0001.txt"))
            let records = (Self.deposits + 5) / 6 + 2
            #expect(bank.count == records * 1_466)
            // The control record's sum and count of credits (47 to 68).
            let last = bank.suffix(1_466)
            let total = String(decoding: last.dropFirst(46).prefix(14), as: UTF8.self)
            #expect(
                try await ground.number(
                    "SELECT sum(amount)::bigint FROM payouts.payouts WHERE method = 'aft'")
                    == Int(total))
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM payouts.payouts WHERE state = 'pending'") == 0)
        }
    }
}

extension CrashGround {
    /// Runs a command that has to succeed.
    @discardableResult fileprivate func finished(
        _ arguments: [String], _ environment: [String: String], input: String? = nil
    ) async throws -> String {
        let program = try start(arguments, environment: environment, input: input)
        guard try await program.end(within: .seconds(120)) == .exited(0) else {
            throw Program.Trouble("errand \(arguments): \(program.errors)")
        }
        return program.output
    }
}
