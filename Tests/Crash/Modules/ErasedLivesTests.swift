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
        private static let actionsPerRound = 60

        // "Nobody can be erased as a whole": "notices, deliveries, inbox items are never deleted".
        @Test(.timeLimit(.minutes(5)))
        func `an erased person is found nowhere but where it is said, and all sums still prove`()
            async throws
        {
            let ground = try CrashGround.here()
            let seed = UInt64.random(in: 1...1_000_000)
            var lives = Lives(seed: seed, people: Self.people)
            let keys = try await keys(ground)
            defer { try? FileManager.default.removeItem(atPath: keys) }
            try await ground.session.script(Lives.setup(people: Self.people))
            try await ground.done(
                "account", "set-template", "household", "invitation",
                "https://app.example/join?token={token}", "--yes")
            let words = ["work", "--lease", "2s", "--grace", "5s", "--queues", "*:8"]
            let settings = ["ERRAND_KEYS_FILE": keys]
            var workers = [try ground.start(words, environment: settings)]
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
                    workers.append(try ground.start(words, environment: settings))
                }
            }
            #expect(lives.erased.count == Self.erased)
            // The run was worth something: each kind of action succeeded.
            #expect(lives.failed == [], "seed \(seed)")
            try await allErased(ground, seed)
            if let worker = workers.last { try await ground.expectCleanStop(worker) }
            try await expectNowhere(lives.erased, ground, workers, seed)
            try await expectSums(ground)
            print("lives: seed \(seed), \(lives.count) actions, \(Self.erased) erased")
        }

        private func keys(_ ground: CrashGround) async throws -> String {
            let path = FileManager.default.temporaryDirectory
                .appending(path: "lives-\(ground.name).keys").path
            try Data(try await ground.done("key", "new").utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            return path
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

/// What people do, at random but the same for a seed.
private struct Lives {
    struct Action {
        var name: String
        var sql: String
    }

    private var random: SplitMix
    private let people: Int
    private(set) var erased: [Int64] = []
    private(set) var count = 0
    private var results: [String: Int] = [:]
    private var number = 0

    init(seed: UInt64, people: Int) {
        random = SplitMix(seed: seed)
        self.people = people
    }

    /// The kinds of actions of which none succeeded.
    var failed: [String] { results.filter { $0.value == 0 }.keys.sorted() }

    mutating func note(_ action: Action, _ succeeded: Bool) {
        count += 1
        results[action.name, default: 0] += succeeded ? 1 : 0
    }

    /// Chooses people who are erased from now on.
    mutating func erase(_ count: Int) -> [Int64] {
        var chosen: [Int64] = []
        while chosen.count < count {
            let person = Int64.random(in: 1...Int64(people), using: &random)
            if !erased.contains(person) {
                erased.append(person)
                chosen.append(person)
            }
        }
        return chosen
    }

    mutating func actions(_ count: Int) -> [Action] { (0..<count).map { _ in action() } }

    private mutating func action() -> Action {
        number += 1
        let person = Int.random(in: 1...people, using: &random)
        let other = Int.random(in: 1...people, using: &random)
        let all = Self.actions(person: person, other: other, number: number)
        let names = all.keys.sorted()
        let name = names[Int.random(in: 0..<names.count, using: &random)]
        // Nobody enters the address of an erased person, but for the person, and no app enqueues
        // jobs for somebody who is blocked: what it enqueues after the pass over the jobs stays.
        if ["audit", "code", "job"].contains(name), erased.contains(Int64(person)) {
            return action()
        }
        return Action(name: name, sql: all[name] ?? "")
    }

    static func setup(people: Int) -> String {
        """
        SELECT count(people.put_person(n, jsonb_build_object('email',
            'qx' || n || 'z@lives.example', 'time_zone', 'America/Toronto',
            'birth_date', '1990-05-17', 'age_verified_at', '2026-01-05T10:00:00Z',
            'location_consent_at', '2026-01-05T10:00:00Z')))
        FROM generate_series(1, \(people)) AS n;
        INSERT INTO establishments.establishments (id, name) VALUES (7, 'Shop');
        INSERT INTO establishments.branches (id, establishment_id, name, place)
        VALUES (3, 7, 'Branch', st_setsrid(st_makepoint(-73.56, 45.5), 4326)::geography);
        UPDATE votes.rules SET keys_ahead = 20;
        SELECT count(household.create_group(n, 'Home ' || n, 'America/Toronto'))
        FROM generate_series(1, \(people), 4) AS n;
        SELECT count(household.accept(n, household.invite(n / 4 * 4 + 1, n)))
        FROM generate_series(1, \(people)) AS n WHERE n % 4 <> 1 AND n / 4 * 4 + 1 < n;
        SELECT errand.enqueue('votes.keys')
        """
    }

    private static func actions(person: Int, other: Int, number: Int) -> [String: String] {
        let mark = "qx\(person)z"
        return people(person, mark, number)
            .merging(home(person, mark, number)) { $1 }
            .merging(votes(person, other, mark, number)) { $1 }
            .merging(money(person, mark, number)) { $1 }
            .merging(missions(person, mark)) { $1 }
    }

    private static func people(_ person: Int, _ mark: String, _ number: Int) -> [String: String] {
        [
            "consent": "SELECT people.record_consent(\(person), 'terms', 'v\(number)')",
            "facts": """
            SELECT people.put_person(\(person), '{"notice_time": "18:30"}')
            """,
            "export": "SELECT people.export_data(\(person), 'e\(number)')",
            "device": """
            SELECT notification.register_device(\(person), 'household', 'fcm', '\(mark)-\(number)')
            """,
            "notice": """
            SELECT notification.intend('company.news', \(person), 'news:\(number)',
                '{"headline": "Dear \(mark)", "summary": "\(mark)", "body": "To \(mark)"}',
                'n\(number)', now() + interval '1 day')
            """,
            "code": """
            SELECT accounts.issue_code('\(mark)@lives.example', 'sign_in', 'household',
                'c\(number)')
            """,
            "invitation": """
            SELECT accounts.invite(\(person), 'Name \(mark)', 'guest\(number)@lives.invalid',
                'household', 'i\(number)')
            """,
            "job": """
            SELECT errand.enqueue_own('app.job',
                '{"person_id": \(person), "name": "\(mark)", "mail": "\(mark)@lives.example"}')
            """,
            "audit": """
            INSERT INTO errand.audit (operator, action, subject, reason)
            VALUES ('ann', 'person show', 'person \(person)', 'asked by \(mark)@lives.example')
            """,
        ]
    }

    private static func home(_ person: Int, _ mark: String, _ number: Int) -> [String: String] {
        [
            "name": "SELECT household.set_name(\(person), 'Name \(mark)')",
            "note":
                "SELECT household.add_note(\(person), 'I am \(mark)', picture => '\(mark).jpg')",
            "item": """
            SELECT household.add_item(\(person), 'Tea \(number)', false, note => 'for \(mark)')
            """,
            "bill": """
            SELECT household.add_bill(\(person), 'Bill \(number)', 900, ARRAY(
                SELECT m.person_id FROM household.members m
                JOIN household.members n USING (group_id)
                WHERE n.person_id = \(person) AND n.left_at IS NULL AND m.left_at IS NULL),
                'b\(number)', current_date)
            """,
            "session": """
            SELECT household.report_failed_session(\(person), 's-\(mark)-\(number)')
            """,
            "leave": number % 9 == 0 ? "SELECT household.leave(\(person))" : "SELECT 1",
        ]
    }

    private static func votes(
        _ person: Int, _ other: Int, _ mark: String, _ number: Int
    ) -> [String: String] {
        let vote = "(SELECT max(id) - \(number) % 5 FROM votes.votes)"
        return [
            "open": """
            SELECT votes.open('Vote \(number)', '{Ann,Bob}', \(person),
                now() + interval '\(3 + number % 40) s', initiator_name => 'Name \(mark)')
            """,
            "join": "SELECT votes.join(\(vote), \(person), 'Name \(mark)', 'Street \(mark)')",
            "cast": """
            SELECT votes.cast(p.vote_id, p.person_id, '{1}') FROM votes.participants p
            WHERE p.person_id = \(person) AND NOT p.has_cast ORDER BY p.vote_id DESC LIMIT 1
            """,
        ]
    }

    private static func money(_ person: Int, _ mark: String, _ number: Int) -> [String: String] {
        [
            "reward": "SELECT ledger.credit_reward(\(person), 'survey:\(number)', 7, 500, 300)",
            "payee": """
            SELECT payouts.set_payee(\(person), 'Name \(mark)',
                '{Street \(mark),Montreal QC,H2X 1Y4,CA}')
            """,
            "bank": """
            SELECT payouts.set_bank_details(\(person), 'CA',
                '\\x01' || convert_to('\(mark) sealed details of the person', 'UTF8'), '…1234')
            """,
            "coupon": """
            SELECT coupons.grant_coupon(\(person), 7, 'Coffee', now() + interval '9 days',
                'o:\(number)')
            """,
            "star": """
            SELECT coupons.star(id, person_id) FROM coupons.coupons WHERE person_id = \(person)
            """,
            "position": """
            SELECT coupons.report_position(\(person), -73.56, 45.5, 10, now())
            """,
        ]
    }

    private static func missions(_ person: Int, _ mark: String) -> [String: String] {
        let theirs = "FROM missions.assignments WHERE person_id = \(person)"
        return [
            "hire": "SELECT missions.hire(\(person), 'test')",
            "shopper": "SELECT missions.set_shopper(\(person), -73.56, 45.5, 20000, 2)",
            "mission": """
            SELECT missions.open_mission(3, 'Mission', now() - interval '1 hour',
                now() + interval '1 day', 2500, 1500, '[{"kind": "report", "title": "How it was"}]',
                'UTC')
            """,
            "accept": """
            SELECT missions.accept(person_id, id) \(theirs) AND state = 'offered'
            """,
            "report": """
            SELECT missions.arrive(person_id, id, -73.56, 45.5, 10) \(theirs)
                AND state = 'accepted';
            """,
            "finish": """
            SELECT missions.finish_step(person_id, id, 1, '{"text": "by \(mark)"}'),
                missions.submit(person_id, id, 'r') \(theirs) AND state = 'arrived'
            """,
            "flag": "SELECT missions.raise_flag(\(person), 'said by \(mark)')",
        ]
    }
}
