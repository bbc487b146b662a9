import ErrandAdministration
import ErrandDemo
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// Rules 4, 5 and 9: what is written how, where finished jobs go, and whose clock decides.
@Suite("Rules 4, 5 and 9: rows and time", .database) struct RulesStorageTests {
    @Test func `rule 4: claims alone are committed without waiting for the disk`() async throws {
        let ground = try await RulesGround()
        try await ground.watchWrites()
        var kinds = JobKinds()
        DemoKinds.add(to: &kinds)
        kinds.handleWithOutcome(Plain.self) { job, context in
            switch job.n {
            case 0: .done
            case 1: .dead(reason: "hopeless")
            case 2: .discard(reason: "unwanted")
            default: context.attempt == 1 ? .retry(after: .zero, reason: "again") : .done
            }
        }
        let client = try await ground.client()
        let worker = try TestWorker(kinds)
        let summary = try await worker.during {
            // Until claims and results go over sessions of their own, not the heartbeat's alone.
            try await eventually("both sessions") {
                _ = try await client.enqueue((0..<4).map { Plain(n: $0) })
                _ = try await client.enqueue(DemoKinds.Ledger())
                _ = try await ground.session.query("SELECT errand.enqueue('demo.noop')")
                try await eventually("the end of all jobs") {
                    try await ground.number("SELECT count(*) FROM errand.jobs") == 0
                }
                return try await ground.number(
                    """
                    SELECT count(DISTINCT (operation, writer)) FROM public.writes
                    WHERE writer IN ('errand-claim', 'errand-finish')
                    """) == 3
            }
        }
        #expect(summary.completed >= 8)
        let rows = try await ground.session.query(
            """
            SELECT operation || ' by ' || rtrim(writer, ' 0123456789')
                    -- It sends claims and results.
                    || CASE WHEN writer = 'errand-heartbeat' THEN ', ' || lock_timeout ELSE '' END,
                array_agg(DISTINCT synchronous)
            FROM public.writes GROUP BY 1 ORDER BY 1
            """)
        let found = try Dictionary(
            uniqueKeysWithValues: rows.map { (try $0.text(0), try $0.textArray(1)) })
        #expect(
            found.filter { $0.key != "UPDATE by errand-heartbeat, 1s" } == [
                "INSERT by errand-test": ["on"], "INSERT by rules-test": ["on"],
                "UPDATE by errand-claim": ["off"], "UPDATE by errand-heartbeat, 50ms": ["off"],
                "UPDATE by errand-finish": ["on"], "DELETE by errand-finish": ["on"],
                "DELETE by errand-heartbeat, 1s": ["on"], "DELETE by errand-pool": ["on"],
            ])
        // An early retry.
        #expect(found["UPDATE by errand-heartbeat, 1s"] ?? ["on"] == ["on"])
    }

    @Test func `rule 4: a claim changes no indexed column and stays on its page`() async throws {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        _ = try await ground.client().enqueue((0..<5_000).map { Plain(n: $0) })
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 5_000)
        func updates(_ column: String) async throws -> Int {
            try await ground.number(
                "SELECT \(column) FROM pg_stat_user_tables WHERE relid = 'errand.jobs'::regclass")
        }
        try await eventually("the server's counters") { try await updates("n_tup_upd") >= 5_000 }
        // Nothing but the claims has updated a row.
        #expect(try await updates("n_tup_upd") == 5_000)
        // Half of each page is left free. A claimed row is a little longer than a waiting one, so
        // the last few of a page may find it full.
        let onPage = try await updates("n_tup_hot_upd")
        #expect(onPage >= 4_000)
    }

    @Test func `rule 5: finished jobs leave the live table in the finishing statement`()
        async throws
    {
        let ground = try await RulesGround()
        try await ground.watchWrites()
        var kinds = JobKinds()
        kinds.handleWithOutcome(Plain.self) { job, _ in
            job.n == 0 ? .dead(reason: "hopeless") : job.n == 1 ? .discard(reason: "no") : .done
        }
        let client = try await ground.client()
        let ids = try await client.enqueue((0..<40).map { Plain(n: $0) }).map(\.id)
        let short = try await client.enqueue(Plain(n: 40), .init(retention: .seconds(3_600))).id
        _ = try await TestWorker.drain(kinds)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
        let history = try await ground.session.query(
            """
            SELECT f.id, outcome::text,
                (SELECT relname::text FROM pg_class c WHERE c.oid = f.tableoid) AS part,
                'finished_jobs_' || to_char(
                    (finished_at AT TIME ZONE 'UTC')::date + CASE id WHEN $1 THEN 1 ELSE 7 END,
                    'YYYYMMDD') AS expected,
                EXISTS (SELECT FROM public.writes w WHERE w.operation = 'DELETE'
                    AND w.transaction = f.xmin::text) AS together
            FROM errand.finished_jobs f ORDER BY id
            """, [.int64(short)])
        #expect(try history.map { try $0.int64("id") } == (ids + [short]).sorted())
        for row in history {
            let outcome = try row.text("outcome")
            let id = try row.int64("id")
            #expect(outcome == (id == ids[0] ? "dead" : id == ids[1] ? "cancelled" : "completed"))
            #expect(
                try row.text("part")
                    == (outcome == "dead" ? "dead_jobs" : row.text("expected")))
            #expect(try row.bool("together"))
        }
    }

    @Test func `rule 5, 9: retention drops the days before the given now, never dead letters`()
        async throws
    {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handleWithOutcome(Plain.self) { job, _ in
            job.n == 0 ? .dead(reason: "hopeless") : .done
        }
        let client = try await ground.client()
        let dead = try await client.enqueue(Plain(n: 0)).id
        let kept = try await client.enqueue((1...20).map { Plain(n: $0) }).map(\.id)
        _ = try await TestWorker.drain(kinds)
        let live = try await client.enqueue(Plain(n: 21)).id
        let finished = try #require(try await ground.record(kept[0]).finishedAt)
        let retention = Retention(session: ground.session, log: .silent)
        func partitions() async throws -> [String] {
            try await ground.session.query(
                """
                SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'errand.finished_jobs'::regclass
                  AND c.relname ~ '[0-9]{8}$' ORDER BY 1
                """
            ).map { try $0.text(0) }
        }
        func left() async throws -> Int {
            try await ground.number("SELECT count(*) FROM errand.finished_jobs")
        }
        // They are kept for seven days: on the seventh they are there, on the eighth they go.
        try await retention.run(now: finished.adding(.seconds(7 * 86_400)))
        #expect(try await left() == 21)
        let before = try await partitions()
        try await retention.run(now: finished.adding(.seconds(8 * 86_400)))
        #expect(try await left() == 1)
        let after = try await partitions()
        #expect(before.count == 12 && after.count == 12)
        #expect(before.dropFirst() == after.dropLast())
        // A century on, the dead letter still waits, and so does the job that nobody ran.
        try await retention.run(now: finished.adding(.seconds(36_525 * 86_400)))
        #expect(try await ground.record(dead).state == .dead)
        #expect(try await ground.record(live).state == .available)
        #expect(try await left() == 1)
    }

    @Test(arguments: ["complete", "discard", "cancel", "late"])
    func `retention 0 leaves no trace of a job`(_ end: String) async throws {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handleWithOutcome(Plain.self) { _, _ in
            end == "discard" ? .discard(reason: "unwanted") : .done
        }
        let client = try await ground.client(hinting: false)
        let late = end == "late" ? Date(timeIntervalSinceNow: -1) : nil
        let made = try await client.enqueue(
            Plain(n: 0), .init(retention: .zero, notAfter: late))
        let sql = try await ground.session.query(
            """
            SELECT errand.enqueue('test.plain', '{"n": 1}', retention => '0',
                not_after => \(late == nil ? "NULL" : "now() - interval '1 s'"))
            """)
        let kept = try await client.enqueue(Plain(n: 2)).id
        let ids = [made.id, try sql.int64(0, 0)]
        let inspector = Inspector(session: ground.session)
        if end == "cancel" {
            #expect(try await inspector.cancel(ids, by: "test").count == 2)
        }
        _ = try await TestWorker.drain(kinds)
        for id in ids { #expect(try await inspector.job(id) == nil) }
        #expect(try await inspector.job(kept) != nil)
        // A dead letter is kept all the same: someone has to see it.
        var failing = JobKinds()
        failing.handleWithOutcome(Plain.self) { _, _ in .dead(reason: "hopeless") }
        let dead = try await client.enqueue(Plain(n: 3), .init(retention: .zero)).id
        _ = try await TestWorker.drain(failing)
        #expect(try await ground.record(dead).state == .dead)
    }

    @Test func `rule 9: nothing that decides for the business reads a clock`() throws {
        // Rooms that run things: they may know what time it is, and hand it on.
        // What runs jobs, moves bytes or talks to operators, and decides nothing for the business.
        let running = [
            "C/", "Wrappers/", "Basics/Terminal/", "Basics/Delivery/", "Engine/", "Operator/",
            "errand/",
        ]
        // Decisions inside of those.
        let deciding = [
            "Maintenance/Retention.swift", "Dispatch/Feeding/LaneCursor.swift", "Jobs/Job.swift",
            "Jobs/Outcome.swift",
        ]
        // What operators see and do there follows the database's clock, as are the answers of
        // the functions that tills and app servers call; and when a proof was made, by ours. How
        // long something may take is no decision for the business.
        let operators: Set = [
            "Modules/Coupons/Codes/CodeHealth.swift", "Modules/Coupons/Codes/EpochRecord.swift",
            "Modules/Coupons/Codes/EpochStatements.swift", "Modules/Coupons/Life/Granting.swift",
            "Modules/Coupons/Listing/CouponRows.swift", "Modules/Ledger/Proof.swift",
            "Modules/Ledger/ProveLedger.swift",
            "Modules/Payouts/Issuing/Freezing.swift",
            "Modules/Missions/Assigning/Assigner.swift",
            "Modules/Missions/Assigning/SearchRoom.swift",
            "Modules/Notification/Delivering/DeliveryResultWriter.swift",
            "Modules/Notification/Webhooks/WebhookEndpoints.swift",
            "Modules/Notification/NoticeDeclaration.swift",
            "Modules/Accounts/Listing/CodeRecord.swift",
            "Modules/Accounts/Listing/LinkRecord.swift",
            "Modules/Accounts/Listing/AccountChanges.swift",
            "Modules/Custody/Destruction/DestructionRun.swift",
        ]
        let clocks = try Regex(
            #"\bDate\(\)|\b(Date|Instant|ContinuousClock|SuspendingClock)\.now"#
                + #"|[=(,:]\s*\.now\b|\bSinceNow\b|timeInterval\w*Now|\bgettimeofday\b"#
                + #"|\b(clock|statement|transaction)_timestamp\b|\bnow\(\)"#
                + #"|\b(CURRENT|LOCAL)_?(TIMESTAMP|DATE|TIME)\b"#)
        let sources = Checkout.root.appending(path: "Sources")
        let all = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
            .filter { $0.hasSuffix(".swift") }
        let rules = all.filter { path in
            // A module's commands and checks speak to operators; keys and demo decide nothing.
            let isOfOperators =
                path.contains("/Commands/") || path.hasPrefix("Modules/Keys/")
                || operators.contains(path)
            return !running.contains(where: path.hasPrefix) && !isOfOperators
                || deciding.contains { path == "Engine/Errand/\($0)" }
        }
        for path in deciding { #expect(rules.contains("Engine/Errand/\(path)"), "\(path)") }
        for path in operators { #expect(all.contains(path), "\(path)") }
        for path in rules {
            let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
                .enumerated() where line.contains(clocks)
            {
                let code = line.drop { $0 == " " }
                #expect(code.hasPrefix("//"), "\(path):\(number + 1) reads a clock: \(code)")
            }
        }
    }
}
