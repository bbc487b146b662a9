import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Synchronization
import Testing

extension AppCrashTests {
    /// People who scan receipts and answer surveys, each on two phones, while workers and the
    /// database are killed.
    @Suite("Completing surveys") struct SurveyFaultTests {
        static let people = 12
        static let establishments = 3
        /// Of each person.
        static let receipts =
            ProcessInfo.processInfo.environment["ERRAND_TEST_RECEIPTS"].flatMap { Int($0) } ?? 24
        static let faults = 6
        private static let queues = "surveys,notices,coupons"

        /// The invitations whose completion was acknowledged.
        final class Acknowledged: Sendable {
            private let all = Mutex<[Int64]>([])
            var ids: [Int64] { all.withLock { $0 } }
            func add(_ id: Int64) { all.withLock { $0.append(id) } }
        }

        @Test(.timeLimit(.minutes(10)))
        func `each completion has its reward, coupon, badge and event once`() async throws {
            let ground = try CrashGround.here()
            try await fill(ground)
            let keys = try await ground.keys()
            var worker = try ground.worker(of: Self.queues, keys)
            try await eventually("the keys of receipts", within: .seconds(60)) {
                try await ground.number("SELECT count(*) FROM surveys.open_receipt_keys")
                    == Self.establishments
            }
            let codes = try await codes(ground)
            let acknowledged = Acknowledged()
            async let answered: Void = answerAll(codes, acknowledged, ground)
            var crashes = 0
            for step in 1...Self.faults {
                let enough = step * codes.count / (Self.faults + 1)
                try await eventually("\(enough) completions", within: .seconds(120)) {
                    // One that loses the server while it starts ends, and is started again.
                    if !worker.isRunning { worker = try ground.worker(of: Self.queues, keys) }
                    return acknowledged.ids.count >= enough
                }
                if step % 2 == 1 {
                    worker.signal(SIGKILL)
                    #expect(try await worker.end(within: .seconds(5)) == .killed(by: SIGKILL))
                    worker = try ground.worker(of: Self.queues, keys)
                } else {
                    crashes += 1
                    try await CrashServers.here().crashPostgres()
                }
            }
            try await eventually("all completions", within: .seconds(120)) {
                if !worker.isRunning { worker = try ground.worker(of: Self.queues, keys) }
                return acknowledged.ids.count == codes.count
            }
            try await answered
            let ids = acknowledged.ids
            #expect(ids.count == codes.count && Set(ids).count == codes.count)
            try await expectOnce(ids, ground)
            try await ground.expectCleanStop(worker)
            print("completing: \(ids.count) surveys, server crashes: \(crashes)")
        }

        // MARK: The ground

        private func fill(_ ground: CrashGround) async throws {
            try await ground.session.script(
                """
                INSERT INTO people.people (id, birth_date, age_verified_at)
                SELECT n, '1990-05-17', now() FROM generate_series(1, \(Self.people)) AS n;
                SELECT count(people.record_consent(p.id, 'sharing', '1')) FROM people.people p;
                INSERT INTO establishments.establishments (id, name)
                SELECT n, 'Cafe ' || n FROM generate_series(1, \(Self.establishments)) AS n;
                INSERT INTO establishments.branches (id, establishment_id, name, place)
                SELECT n, n, 'Branch ' || n, st_setsrid(st_makepoint(-73.6, 45.5), 4326)
                FROM generate_series(1, \(Self.establishments)) AS n;
                SELECT surveys.put_survey(n, n, 'Visit ' || n, 2, paid => 500, cut => 300,
                    coupon_title => 'A tea',
                    questions => '[{"kind": "rating", "label": "Service", "is_required": true}]')
                FROM generate_series(1, \(Self.establishments)) AS n;
                INSERT INTO notification.endpoints (owner, url, events, secret)
                SELECT 'establishment:' || n, 'http://127.0.0.1:9/', '{survey.completed}', '\\x00'
                FROM generate_series(1, \(Self.establishments)) AS n;
                UPDATE surveys.rules SET scans_a_day = 100000, scans_of_branch = 100000
                """)
        }

        /// The code of each receipt, by its person; signed as tills sign it.
        private func codes(_ ground: CrashGround) async throws -> [(person: Int64, code: String)] {
            try await ground.session.query(
                """
                SELECT r.person, m.message || '.' || upper(encode(substr(coupons.mac(
                    k.inner_block, k.outer_block, m.message::bytea), 1, 10), 'hex')) AS code
                FROM (SELECT p AS person, n, 1 + (p + n) % $3 AS establishment
                    FROM generate_series(1, $1) AS p, generate_series(1, $2) AS n) AS r
                CROSS JOIN LATERAL (SELECT 'ER1.' || r.establishment || '.' || r.establishment
                    || '.R-' || r.person || '-' || r.n || '.'
                    || extract(epoch FROM now())::bigint AS message) AS m
                JOIN surveys.open_receipt_keys k ON k.establishment_id = r.establishment
                ORDER BY r.n, r.person
                """,
                [
                    .int64(Int64(Self.people)), .int64(Int64(Self.receipts)),
                    .int64(Int64(Self.establishments)),
                ]
            ).map { (try $0.int64("person"), try $0.text("code")) }
        }

        // MARK: The people

        /// Everybody scans and answers, one receipt after the other.
        private func answerAll(
            _ codes: [(person: Int64, code: String)], _ acknowledged: Acknowledged,
            _ ground: CrashGround
        ) async throws {
            let end = ContinuousClock.now + .seconds(300)
            let place = ground.place.database
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in 1...Int64(Self.people) {
                    let theirs = codes.filter { $0.person == person }.map(\.code)
                    group.addTask {
                        let phones = ["phone", "tablet"].map {
                            Session(SessionSettings(place, name: "\($0)-\(person)"))
                        }
                        for code in theirs {
                            acknowledged.add(
                                try await answer(code, of: person, on: phones, until: end))
                        }
                        for phone in phones { await phone.close() }
                    }
                }
                try await group.waitForAll()
            }
        }

        /// Scans a receipt and completes its survey on two phones at once, each until it has an
        /// answer; the invitation's id.
        private func answer(
            _ code: String, of person: Int64, on phones: [Session],
            until end: ContinuousClock.Instant
        ) async throws -> Int64 {
            let invitation = try await asked(until: end, "no invitation") {
                let rows = try await phones[0].query(
                    "SELECT reason, invitation_id FROM surveys.scan($1, $2, $3)",
                    [.int64(person), .text(code), .text(code)])
                let reason = try rows.text(0, 0)
                #expect(["ok", "not_ready"].contains(reason))
                return try rows.first?.optionalInt64("invitation_id")
            }
            let reasons = try await withThrowingTaskGroup(of: String.self) { group in
                for (number, phone) in phones.enumerated() {
                    group.addTask {
                        try await asked(until: end, "no answer") {
                            try await phone.query(
                                """
                                SELECT reason FROM surveys.complete($1, $2, '{"1": 4}', 100, $3)
                                """,
                                [
                                    .int64(person), .int64(invitation),
                                    .text("\(invitation)-\(number)"),
                                ]
                            ).text(0, 0)
                        }
                    }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            #expect(reasons.sorted() == ["done", "ok"], "invitation \(invitation)")
            return invitation
        }

        // MARK: What is left

        /// Each acknowledged completion has each effect once, and there is nothing else.
        private func expectOnce(_ ids: [Int64], _ ground: CrashGround) async throws {
            let counts = try await ground.session.query(
                """
                SELECT count(c.invitation_id) AS completions,
                    count(*) FILTER (WHERE (SELECT count(*) FROM ledger.transactions t
                        WHERE t.key = 'reward:' || i.person_id || ':' || c.origin) = 1) AS rewards,
                    count(*) FILTER (WHERE (SELECT count(*) FROM coupons.coupons k
                        WHERE k.person_id = i.person_id AND k.origin = c.origin
                            AND k.id = c.coupon_id) = 1) AS coupons,
                    count(*) FILTER (WHERE (SELECT count(*) FROM notification.events v
                        WHERE v.dedupe_key = 'survey:' || i.id || ':completed') = 1) AS events
                FROM unnest($1::bigint[]) AS a (id)
                JOIN surveys.invitations i ON i.id = a.id AND i.state = 'completed'
                LEFT JOIN surveys.completions c ON c.invitation_id = i.id
                """, [.int64Array(ids)])
            for name in ["completions", "rewards", "coupons", "events"] {
                #expect(try counts.first?.int64(name) == Int64(ids.count), "\(name)")
            }
            for (table, expected) in [
                ("surveys.invitations", ids.count), ("surveys.completions", ids.count),
                ("surveys.receipts", ids.count), ("coupons.coupons", ids.count),
                ("ledger.transactions WHERE kind = 'reward'", ids.count),
                ("notification.events WHERE kind = 'survey.completed'", ids.count),
            ] {
                let count = try await ground.number("SELECT count(*) FROM \(table)")
                #expect(count == expected, "\(table)")
            }
            let each = Self.receipts
            #expect(
                try await ground.number(
                    """
                    SELECT count(*) FROM badges.counts
                    WHERE kind = 'surveys_done' AND deeds = \(each)
                    """) == Self.people)
            #expect(
                try await ground.number(
                    "SELECT sum(deeds)::bigint FROM badges.counts WHERE kind = 'regular'")
                    == ids.count)
            // Each level that was reached, once; and a balance of what was earned.
            let levels = [1, 10, 25, 50, 100].count { $0 <= each }
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM badges.badges WHERE kind = 'surveys_done'")
                    == Self.people * levels)
            #expect(
                try await ground.number(
                    """
                    SELECT abs(sum(b.amount))::bigint FROM ledger.balances b
                    JOIN ledger.accounts a ON a.id = b.account_id WHERE a.kind = 'person'
                    """) == 300 * ids.count)
        }
    }
}
