import ErrandAdministration
import Foundation
@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// Unique keys from Swift, and all that errand.enqueue() takes and refuses.
@Suite("Rules of enqueueing: unique keys and SQL", .database) struct RulesEnqueueTests {
    struct Dated: Job {
        static let kind = "test.dated"
        var at: String
    }

    private func args(_ ground: RulesGround, _ id: Int64) async throws -> String {
        String(decoding: try await ground.record(id).args, as: UTF8.self)
    }

    @Test func `a key held by a waiting job skips or replaces the next`() async throws {
        let ground = try await RulesGround()
        let client = try await ground.client(hinting: false)
        let first = try await client.enqueue(Plain(n: 1), .init(unique: Unique("k")))
        #expect(first.result == .inserted)
        let second = try await client.enqueue(Plain(n: 2), .init(unique: Unique("k")))
        #expect(second.result == .skipped && second.id == first.id)
        #expect(try await args(ground, first.id) == #"{"n": 1}"#)
        let third = try await client.enqueue(
            Plain(n: 3), .init(unique: Unique("k", onDuplicate: .replace)))
        #expect(third.result == .replaced && third.id == first.id)
        #expect(try await args(ground, first.id) == #"{"n": 3}"#)
        // Another key, and the same key of another kind, are free.
        let others = [
            try await client.enqueue(Plain(n: 4), .init(unique: Unique("l"))),
            try await client.enqueue(Note(text: "k"), .init(unique: Unique("k"))),
        ]
        #expect(others.allSatisfy { $0.result == .inserted })
        // Of many in one call the first gets the key.
        let many = try await client.enqueue(
            (5...9).map { Plain(n: $0) }, .init(unique: Unique("m")))
        #expect(many.map(\.result) == [.inserted, .skipped, .skipped, .skipped, .skipped])
        #expect(Set(many.map(\.id)).count == 1)
    }

    @Test func `newer arguments replace older ones and never the other way`() async throws {
        let ground = try await RulesGround()
        let client = try await ground.client(hinting: false)
        let unique = Unique("k", onDuplicate: .replaceIfNewer(by: "at"))
        let noon = try await client.enqueue(
            Dated(at: "2026-03-01T12:00:00Z"), .init(unique: unique))
        let early = try await client.enqueue(
            Dated(at: "2026-03-01T12:30:00+01:00"), .init(unique: unique))
        #expect(early.result == .skipped)
        let late = try await client.enqueue(
            Dated(at: "2026-03-01T11:30:00-01:00"), .init(unique: unique))
        #expect(late.result == .replaced && late.id == noon.id)
        #expect(try await args(ground, noon.id).contains("11:30:00-01:00"))
    }

    @Test func `a key is held while waiting, while unfinished, or for a time`() async throws {
        let ground = try await RulesGround()
        let client = try await ground.client()
        let scopes: [Unique.Scope] = [.whileWaiting, .whileUnfinished, .within(.seconds(3_600))]
        let during = Notebook<(scope: Int, made: Enqueued)>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in
            guard job.n < 3 else { return }
            let unique = Unique("k\(job.n)", scopes[job.n], onDuplicate: .replace)
            let made = try await client.enqueue(Plain(n: 10 + job.n), .init(unique: unique))
            during.add((job.n, made))
        }
        var ids: [Int64] = []
        for (n, scope) in scopes.enumerated() {
            ids.append(
                try await client.enqueue(
                    Plain(n: n), .init(unique: Unique("k\(n)", scope))
                ).id)
        }
        _ = try await TestWorker.drain(kinds)
        let made = during.all.sorted { $0.scope < $1.scope }.map(\.made)
        // A running job's arguments are never replaced.
        #expect(made.map(\.result) == [.inserted, .skipped, .skipped])
        #expect(made.dropFirst().map(\.id) == Array(ids.dropFirst()))
        // Finished: only the key that is held for a time is still taken.
        var after: [Enqueued] = []
        for (n, scope) in scopes.enumerated() {
            after.append(
                try await client.enqueue(
                    Plain(n: 20 + n), .init(unique: Unique("k\(n)", scope, onDuplicate: .replace))))
        }
        #expect(after.map(\.result) == [.inserted, .inserted, .skipped])
        // Its time over, it is free, and what nobody holds is forgotten.
        _ = try await ground.session.query(
            "UPDATE errand.unique_keys SET until = clock_timestamp() - interval '1 s' "
                + "WHERE until IS NOT NULL")
        let retention = Retention(session: ground.session, log: .silent)
        try await retention.run(now: .now())
        #expect(
            try await ground.number("SELECT count(*) FROM errand.unique_keys WHERE key = 'k2'")
                == 0)
        let free = try await client.enqueue(
            Plain(n: 30), .init(unique: Unique("k2", .within(.seconds(3_600)))))
        #expect(free.result == .inserted)
    }

    @Test func `a key is given once to many who ask at once`() async throws {
        let ground = try await RulesGround()
        let made = Notebook<Enqueued>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 0..<6 {
                // Each on a connection of its own, so that they really meet.
                let client = try await ground.client(hinting: false)
                group.addTask {
                    for round in 0..<20 {
                        made.add(
                            try await client.enqueue(
                                Plain(n: n), .init(unique: Unique("k\(round)"))))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(made.all.count { $0.result == .inserted } == 20)
        #expect(Set(made.all.map(\.id)).count == 20)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 20)
    }

    @Test func `SQL takes every option, by itself or from the kind`() async throws {
        let ground = try await RulesGround()
        func row(_ call: String) async throws -> String {
            try await ground.session.query(
                """
                SELECT concat_ws(' ', queue, kind, args_version, priority, max_attempts, args,
                    unique_key, tags, options, not_after AT TIME ZONE 'UTC',
                    round(extract(epoch FROM run_at - now()))) FROM errand.jobs
                WHERE id = (SELECT \(call))
                """
            ).first?.text(0) ?? "none"
        }
        _ = try await ground.session.query("SELECT 1")
        func enqueue(_ arguments: String) async throws -> String {
            let id = try await ground.session.query("SELECT errand.enqueue(\(arguments))")
            return try await row("\(id.int64(0, 0))::bigint")
        }
        #expect(try await enqueue("'a.b'") == "default a.b 1 2 20 {} 0")
        #expect(try await enqueue("'a.b', NULL, tags => '{}'") == "default a.b 1 2 20 {} 0")
        _ = try await ground.session.query(
            """
            INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
            VALUES ('a.b', 4, 'mail', 1, 7)
            """)
        #expect(try await enqueue("'a.b'") == "mail a.b 4 1 7 {} 0")
        let full = try await enqueue(
            """
            'a.b', '{"x": 1}', queue => 'post', delay => '2 hours', priority => 3,
            max_attempts => 9, not_after => '2030-01-01Z', unique_key => 'k',
            unique_while => 'unfinished', unique_within => '1 day', on_duplicate => 'replace',
            newest_by => 'x', tags => '{t,u}', args_version => 2, timeout => '1500 ms',
            retention => '1 day'
            """)
        #expect(
            full == """
                post a.b 2 3 9 {"x": 1} k {t,u} {"timeout_ms": 1500, "retention_s": 86400} \
                2030-01-01 00:00:00 7200
                """)
        #expect(try await enqueue("'a.b', run_at => now() + '1 min'").hasSuffix(" 60"))
        // A time that has passed means now: the feeder has read beyond it.
        #expect(try await enqueue("'a.b', run_at => '2001-01-01Z'").hasSuffix(" 0"))
        #expect(try await enqueue("'a.b', delay => '-1 hour'").hasSuffix(" 0"))
        let key = try await ground.session.query(
            "SELECT while_running, until > now() + '23 h' AS long FROM errand.unique_keys")
        #expect(try key.count == 1 && key.bool(0, 0) && key.bool(0, 1))
        let queues = try await ground.session.query("SELECT name FROM errand.queues ORDER BY name")
        #expect(try queues.map { try $0.text(0) } == ["default", "mail", "post"])
    }

    @Test(arguments: [
        ("NULL", "22023", "kind"), ("'Bad Kind'", "22023", "Bad Kind"),
        ("repeat('k', 101)", "22023", "up to 100"),
        ("'k', unique_key => 'u', unique_while => 'always'", "22023", "waiting or unfinished"),
        ("'k', on_duplicate => 'fail'", "22023", "skip or replace"),
        ("'k', run_at => now(), delay => '1 s'", "22023", "not both"),
        ("'k', queue => 'Bad Queue'", "22023", "queue Bad Queue"),
        ("'k', priority => 4", "23514", "jobs_priority_check"),
        ("'k', priority => -1", "23514", "jobs_priority_check"),
        ("'k', max_attempts => 0", "23514", "jobs_max_attempts_check"),
        ("'k', max_attempts => 32768", "22003", "smallint"),
        ("'k', jsonb_build_object('x', repeat('x', 1048577))", "RU001", "1 MiB"),
    ])
    func `SQL refuses what cannot be meant`(
        _ call: String, _ state: String, _ text: String
    ) async throws {
        let ground = try await RulesGround()
        let session = ground.session
        let refusal = await #expect(throws: PostgresError.self) {
            _ = try await session.query("SELECT errand.enqueue(\(call))")
        }
        guard case .server(let error)? = refusal else {
            Issue.record("not the server's word: \(String(describing: refusal))")
            return
        }
        #expect(error.sqlState == state)
        #expect("\(error)".contains(text), "\(error)")
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
        // Swift refuses the same before anything is sent.
        let client = try await ground.client(hinting: false)
        await #expect(throws: JobError.self) {
            try await client.enqueue(Plain(n: 0), .init(queue: "Bad Queue"))
        }
        await #expect(throws: JobError.self) {
            try await client.enqueue(Plain(n: 0), .init(maxAttempts: 0))
        }
        await #expect(throws: JobError.self) {
            try await client.enqueue(Note(text: String(repeating: "x", count: 1_048_577)))
        }
    }
}
