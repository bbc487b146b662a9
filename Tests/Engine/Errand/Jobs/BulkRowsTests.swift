import ErrandJSONText
import Foundation
import Errand
import ErrandPostgres
import Synchronization
import ErrandTestServices
import Testing

/// Rows in COPY's binary form arrive in PostgreSQL as they were given.
@Suite("Bulk rows", .database) struct BulkRowsTests {
    private typealias Row = (job: BulkRows.Job, args: String)

    private func job(
        _ kind: String = Plain.kind, queue: String = "default", version: Int = 1,
        priority: Int16 = 2, maxAttempts: Int16 = 3, change: (inout BulkRows.Job) -> Void = { _ in }
    ) -> BulkRows.Job {
        var job = BulkRows.Job(
            queue: queue, kind: kind, version: version, priority: priority,
            maxAttempts: maxAttempts)
        change(&job)
        return job
    }

    /// Copies the rows in pieces of so many; returns how many and at which time.
    @discardableResult private func copy(
        _ rows: [Row], inPiecesOf size: Int = 100
    ) async throws -> (count: Int, now: Instant) {
        let database = try TestDatabase.here()
        let client = try await JobClient(pool: database.pool(), redis: database.redis)
        let lanes = Set(
            rows.map { Lane(queue: $0.job.queue, kind: $0.job.kind, version: $0.job.version) })
        let times = Notebook<Instant>()
        let state = Mutex((building: BulkRows(), done: 0, hasEnded: false))
        let count = try await client.copy(lanes: { lanes }) { now in
            times.add(now)
            return state.withLock { state in
                guard !state.hasEnded else { return nil }
                for row in rows[state.done...].prefix(size) {
                    state.building.add(row.job, args: Array(row.args.utf8)[...], now: now)
                    state.done += 1
                }
                guard state.done == rows.count else { return state.building.take() }
                state.hasEnded = true
                return state.building.end()
            }
        }
        return (count, try #require(times.all.first))
    }

    private func stored() async throws -> Rows {
        try await TestDatabase.here().session().query(
            """
            SELECT queue, kind, args_version, priority, max_attempts, run_at, not_after, tags,
                args, options IS NULL AND errors IS NULL AND claimed_by IS NULL AND attempt = 0
            FROM errand.jobs ORDER BY id
            """)
    }

    @Test func `kinds, queues, versions, priorities and attempts arrive`() async throws {
        let rows: [Row] = [
            (job("a"), "{}"),
            (job("b.c-d_e", queue: "mail", version: 2, priority: 0, maxAttempts: 1), "{}"),
            (
                job(
                    String(repeating: "k", count: 100), queue: String(repeating: "q", count: 63),
                    version: 32_767, priority: 3, maxAttempts: 32_767), "{}"
            ),
        ]
        #expect(try await copy(rows).count == 3)
        let found = try await stored()
        #expect(found.count == 3)
        for (n, row) in rows.enumerated() {
            #expect(try found.text(n, 0) == row.job.queue)
            #expect(try found.text(n, 1) == row.job.kind)
            #expect(try Int(found.int16(n, 2)) == row.job.version)
            #expect(try found.int16(n, 3) == row.job.priority)
            #expect(try found.int16(n, 4) == row.job.maxAttempts)
            #expect(found.isNull(n, 6))
            #expect(found.isNull(n, 7))
            #expect(try found.bool(n, 9))
        }
        let queues = try await TestDatabase.here().session().query(
            "SELECT name FROM errand.queues ORDER BY length(name)")
        #expect(
            try queues.map { try $0.text(0) } == ["mail", "default", rows[2].job.queue])
    }

    @Test func `delays and deadlines arrive to the microsecond, and the past means now`()
        async throws
    {
        let moments = [
            Instant("2099-12-31T23:59:59.999999Z"), Instant("2040-02-29T00:00:00.000001Z"),
            Instant("1999-01-01T00:00:00Z"), nil,
        ]
        let rows = moments.map { moment in
            (
                job: job {
                    $0.runAt = moment
                    $0.notAfter = moment
                }, args: "{}"
            )
        }
        let now = try await copy(rows).now
        let found = try await stored()
        for (n, moment) in moments.enumerated() {
            #expect(try found.timestamp(n, 5) == max(moment ?? now, now))
            #expect(found.isNull(n, 6) == (moment == nil))
            if let moment { #expect(try found.timestamp(n, 6) == moment) }
        }
    }

    @Test(arguments: [
        [], ["one"], ["a", "b", "c"], [""], ["é", "日本語", "👩‍👩‍👧", "a\u{301}"],
        [#"{"a"}"#, "NULL", #"\N"#, "a,b", "a\tb\nc", "\"'"],
        [String(repeating: "x", count: 100_000)], (0..<500).map { "tag-\($0)" },
    ])
    func `tags arrive`(_ tags: [String]) async throws {
        try await copy([(job { $0.tags = tags }, "{}")])
        let found = try await stored()
        #expect(found.isNull(0, 7) == tags.isEmpty)
        if !tags.isEmpty { #expect(try found.textArray(0, 7) == tags) }
    }

    @Test(arguments: [
        "{}", #"{"a": 1}"#, #"{"a": "é日本👩‍👩‍👧 \" \\ \n"}"#, #"{"é": [true, null, -1.5e3]}"#,
        #"{"n": 12345678901234567890.5}"#, #"{"a": "\u0001\u001f\ud83d\ude00"}"#,
        #"{"a": ""# + String(repeating: "é", count: 500_000) + #""}"#,
    ])
    func `arguments arrive as the JSON that they are`(_ args: String) async throws {
        try await copy([(job(), args)])
        let found = try await stored()
        let stored = try JSONSerialization.jsonObject(with: Data(found.json(0, 8)))
        let given = try JSONSerialization.jsonObject(with: Data(args.utf8))
        #expect(stored as? NSDictionary == given as? NSDictionary)
    }

    @Test func `an argument inside a larger buffer is taken alone`() async throws {
        let line = Array(#"{"kind":"a","args":{"n":5},"tags":[]}"#.utf8)
        let members = try JSONScanner.members(of: line[...])
        let args = try #require(members.first { $0.name == "args" }).value
        try await copy([(job(), String(decoding: args, as: UTF8.self))])
        #expect(try await String(decoding: stored().json(0, 8), as: UTF8.self) == #"{"n": 5}"#)
    }

    @Test(arguments: [1, 7, 3_000]) func `many rows arrive in their order, in pieces of any size`(
        _ size: Int
    ) async throws {
        let rows: [Row] = (0..<3_000).map { n in
            (
                job(priority: Int16(n % 4)) { if n % 3 == 0 { $0.tags = ["t\(n)", "é"] } },
                #"{"n": \#(n)}"#
            )
        }
        #expect(try await copy(rows, inPiecesOf: size).count == 3_000)
        let found = try await stored()
        #expect(found.count == 3_000)
        for n in 0..<found.count {
            #expect(try String(decoding: found.json(n, 8), as: UTF8.self) == #"{"n": \#(n)}"#)
            #expect(try found.int16(n, 3) == Int16(n % 4))
            #expect(found.isNull(n, 7) == (n % 3 != 0))
        }
    }

    @Test func `a bulk enqueue of nothing writes nothing`() async throws {
        let database = try TestDatabase.here()
        let client = try await JobClient(pool: database.pool())
        #expect(try await client.copy(lanes: { [] }) { _ in nil } == 0)
        #expect(try await copy([]).count == 0)
        #expect(try await stored().count == 0)
    }

    @Test func `one row that PostgreSQL refuses leaves none of them`() async throws {
        await #expect(throws: PostgresError.self) {
            try await copy([(job(), "{}"), (job(priority: 4), "{}"), (job(), "{}")])
        }
        #expect(try await stored().count == 0)
    }

    @Test func `copied jobs are run like all others`() async throws {
        let seen = Notebook<Int>()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { job, _ in seen.add(job.n) }
        let rows: [Row] = (0..<500).map { n in (job(), #"{"n": \#(n)}"#) }
        try await copy(
            rows + [(job { $0.runAt = Instant("2099-01-01T00:00:00Z") }, #"{"n": -1}"#)])
        let summary = try await TestWorker.drain(kinds)
        #expect(summary.completed == 500)
        #expect(seen.all.sorted() == Array(0..<500))
        #expect(try await stored().count == 1)
    }

    @Test func `what was taken is not given again`() {
        var rows = BulkRows()
        #expect(rows.size == 0)
        rows.add(job(), args: Array("{}".utf8)[...], now: .now())
        let size = rows.size
        #expect(rows.take().count == size)
        #expect(rows.size == 0)
        #expect(rows.take().isEmpty)
        rows.add(job(), args: Array("{}".utf8)[...], now: .now())
        #expect(rows.size == size - 19, "the header comes once")
        _ = rows.take()
        #expect(rows.end() == [0xFF, 0xFF])
    }
}
