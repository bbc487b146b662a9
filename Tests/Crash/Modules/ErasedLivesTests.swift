import Foundation
import Glibc
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// Random lives of people in all modules, some of whom are erased at random moments while
    /// workers are killed.
    ///
    /// Every text about a person has a mark of theirs, such as `qx17z`.
    @Suite("Erased lives") struct ErasedLivesTests {
        private static let people = 200
        private static let erased = 50
        private static let rounds = 40
        private static let actionsPerRound = 70

        // "Nobody can be erased as a whole": "notices, deliveries, inbox items are never deleted".
        @Test(.timeLimit(.minutes(5)))
        func `an erased person is found nowhere but where it is said, and all sums still prove`()
            async throws
        {
            let ground = try CrashGround.here()
            let seed = UInt64.random(in: 1...1_000_000)
            var lives = Lives(seed: seed, people: Self.people)
            try await ground.session.script(Lives.setup(people: Self.people))
            try await ground.done(
                "account", "set-template", "household", "invitation",
                "https://app.example/join?token={token}", "--yes")
            let keys = try await ground.keys()
            var workers = [try ground.worker(of: "*:8", keys)]
            try await eventually("keys of votes") {
                try await ground.number("SELECT count(*) FROM votes.open_keys") > 0
            }
            for round in 1...Self.rounds {
                for action in lives.actions(Self.actionsPerRound) {
                    await lives.note(action, succeeded(action.sql, ground))
                }
                if round > 8, lives.erased.count < Self.erased {
                    for person in lives.erase(2) {
                        _ = try await ground.session.query(
                            "SELECT people.request_erasure($1, $2, $3)",
                            [
                                .int64(person), .text("erase-\(person)"),
                                .text("asked by qx\(person)z"),
                            ])
                    }
                }
                if round % 5 == 0, let worker = workers.last {
                    worker.signal(SIGKILL)
                    _ = try await worker.end(within: .seconds(30))
                    workers.append(try ground.worker(of: "*:8", keys))
                }
            }
            #expect(lives.erased.count == Self.erased)
            // The run was worth something: each kind of action succeeded.
            #expect(lives.failed == [], "seed \(seed)")
            let unused = try await ground.session.query(Lives.used).map { try $0.text(0) }
            #expect(unused == [], "seed \(seed)")
            try await allErased(ground, seed)
            if let worker = workers.last { try await ground.expectCleanStop(worker) }
            try await expectNowhere(lives.erased, ground, workers, seed)
            try await expectNobody(lives.erased, ground, seed)
            try await expectSums(ground)
            print("lives: seed \(seed), \(lives.count) actions, \(Self.erased) erased")
        }

        /// Whether a function did what it was asked for; refusals are part of a life.
        private func succeeded(_ sql: String, _ ground: CrashGround) async -> Bool {
            (try? await ground.session.query(sql)) != nil
        }

        private func allErased(_ ground: CrashGround, _ seed: UInt64) async throws {
            do {
                try await eventually("the end of all erasures", within: .seconds(90)) {
                    _ = try await ground.session.query(
                        """
                        UPDATE errand.jobs SET run_at = now()
                        WHERE queue = 'people' AND claimed_by IS NULL AND run_at > now()
                        """)
                    return try await ground.number(
                        "SELECT count(*) FROM people.erasures WHERE state <> 'finished'") == 0
                }
            } catch {
                let failures = try await ground.session.query(
                    "SELECT person_id || ' ' || coalesce(failure, 'none') FROM people.erasures "
                        + "WHERE state <> 'finished' LIMIT 5"
                ).map { try $0.text(0) }
                throw Program.Trouble("\(error), seed \(seed): \(failures)")
            }
        }

        /// Tables that may hold a name or an address of an erased person, and why.
        private static let kept = [
            // Bookkeeping, until the legal term.
            "payouts.items", "payouts.payees",
            // What others were notified of, such as a note, until their retention.
            "notification.notices", "notification.inbox_items",
        ]

        private func expectNowhere(
            _ erased: [Int64], _ ground: CrashGround, _ workers: [Program], _ seed: UInt64
        ) async throws {
            let marks = erased.map { "qx\($0)z" }
            // The same marks in columns of bytes.
            let all = Set(
                marks + marks.map { $0.utf8.map { String($0, radix: 16) }.joined() })
            func found(in text: String) -> String? {
                let text = text.lowercased()
                guard text.contains("qx") || text.contains("7178") else { return nil }
                return all.first { text.contains($0) }
            }
            var places: Set<String> = []
            for row in try await StoredText.rows(of: ground.session)
            where !Self.kept.contains(row.table) {
                if let mark = found(in: row.row) {
                    if places.insert(row.table).inserted {
                        Issue.record("\(mark) in \(row.table), seed \(seed): \(row.row)")
                    }
                }
            }
            #expect(found(in: try await StoredText.redis(ground.place.redis)) == nil, "Redis")
            for worker in workers {
                #expect(found(in: worker.errors + worker.output) == nil, "a worker's log")
            }
            // The search finds what is there: those who live.
            let living = try await StoredText.rows(
                of: ground.session, where: "c.relname = 'people'")
            #expect(
                living.count { $0.row.contains("@lives.example") } == Self.people - erased.count)
        }

        /// No row of the modules that keep nobody names an erased person.
        private func expectNobody(
            _ erased: [Int64], _ ground: CrashGround, _ seed: UInt64
        ) async throws {
            let columns = try await ground.session.query(Lives.columns)
            #expect(columns.count > 5)
            for column in columns {
                let (table, name) = (try column.text(0), try column.text(1))
                let found = try await ground.session.query(
                    "SELECT count(*) FROM \(table) WHERE \(name) = ANY ($1)",
                    [.int64Array(erased)]
                ).int64(0, 0)
                #expect(found == 0, "\(table), seed \(seed)")
            }
        }

        private func expectSums(_ ground: CrashGround) async throws {
            try await ground.done("ledger", "prove")
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM (SELECT FROM ledger.postings GROUP BY transaction_id
                        HAVING sum(amount) <> 0) AS x
                    """) == 0)
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM people.people p, people.certificate_of(p.id) AS c
                    WHERE c.is_intact
                    """) == Self.erased)
        }
    }
}
