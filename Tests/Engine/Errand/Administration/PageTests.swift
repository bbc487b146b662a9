@testable import Errand
import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

/// Listings end early where few jobs pass: what they show, and where they go on.
@Suite("Pages of jobs", .database) struct PageTests {
    private let inspector: Inspector
    private let session: Session

    init() throws {
        session = try TestDatabase.here().session()
        inspector = Inspector(session: session)
    }

    /// Jobs in all tables, their ids mixed and with gaps.
    private func fill() async throws {
        try await session.script(
            """
            INSERT INTO errand.queues (name) VALUES ('mail');
            INSERT INTO errand.jobs (id, queue, kind, args, tags, unique_key, errors, attempt,
                run_at)
            SELECT n, CASE WHEN n % 5 = 0 THEN 'mail' ELSE 'default' END, 'a.' || n % 3,
                jsonb_build_object('n', n % 37),
                CASE WHEN n % 14 = 0 THEN ARRAY['t', 'u'] END,
                CASE WHEN n % 200 = 0 THEN 'k' || n % 800 END,
                CASE WHEN n % 6 = 0 THEN '[{"error": "Timeout"}]'::jsonb END, n % 2,
                now() + CASE WHEN n % 4 = 0 THEN interval '1 h' ELSE interval '0' END
            FROM generate_series(1, 9000) n WHERE n % 2 = 0 AND n / 500 % 5 <> 2;
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, worker,
                keep_until, outcome, priority, attempt, max_attempts, args_version, queue, kind,
                args, tags, unique_key, errors, reason)
            SELECT n, now(), now(), now(), n % 50,
                CASE WHEN n % 11 = 0 THEN 'infinity'::date
                    ELSE current_date + (n / 1000 % 3)::int END,
                (CASE WHEN n % 11 = 0 THEN 'dead' WHEN n % 7 = 0 THEN 'cancelled'
                    ELSE 'completed' END)::errand.job_outcome,
                2, 1, 1, 1, 'default', 'a.' || n % 3, jsonb_build_object('n', n % 37),
                CASE WHEN n % 21 = 0 THEN ARRAY['t'] END,
                CASE WHEN n % 201 = 0 THEN 'k0' END,
                CASE WHEN n % 11 = 0 THEN '[{"error": "no answer: timeout"}]'::jsonb END,
                CASE WHEN n % 7 = 0 THEN 'timeout of a person' END
            FROM generate_series(1, 9000) n WHERE n % 2 = 1 AND n / 700 % 4 <> 1;
            ANALYZE errand.jobs, errand.finished_jobs;
            """)
    }

    /// All jobs that pass, page by page, each page result as soon as it may; and how many ended
    /// early.
    private func paged(
        _ filter: JobFilter, limit: Int = 30
    ) async throws -> (ids: [Int64], stops: Int) {
        var filter = filter
        filter.limit = limit
        var (ids, stops) = ([Int64](), 0)
        while true {
            let page = try await inspector.page(filter, timeout: .zero)
            ids += page.jobs.map(\.id)
            let full = page.jobs.count == limit ? page.jobs.last?.id : nil
            stops += page.stoppedAt == nil ? 0 : 1
            guard let cursor = page.stoppedAt ?? full else { return (ids, stops) }
            if filter.isOldestFirst { filter.after = cursor } else { filter.before = cursor }
        }
    }

    /// The same from one statement over everything.
    private func whole(_ filter: JobFilter) async throws -> [Int64] {
        var filter = filter
        filter.limit = 100_000
        return try await inspector.jobs(filter).map(\.id)
    }

    private static let filters: [(String, @Sendable (inout JobFilter) -> Void)] = [
        ("argument", { $0.arguments = [.init(name: "n", value: "5")] }),
        ("nothing", { $0.arguments = [.init(name: "n", value: "99")] }),
        ("error", { $0.error = "TIMEOUT" }), ("pattern", { $0.error = "~ ^no answer" }),
        ("tag", { $0.tag = "t" }), ("tag of living", { $0.tag = "u" }), ("key", { $0.key = "k0" }),
        ("worker", { $0.worker = 7 }), ("kind", { $0.kind = "a.1" }),
        ("no kind", { $0.kind = "b" }), ("queue", { $0.queue = "mail" }),
        ("states", { $0.states = [.cancelled, .retrying] }), ("dead", { $0.states = [.dead] }),
        ("scheduled", { $0.states = [.scheduled] }),
        (
            "dead of a kind",
            {
                $0.states = [.dead]; $0.kind = "a.2"; $0.newerMs = 3_600_000
            }
        ),
        (
            "many",
            {
                $0.queue = "default"
                $0.error = "timeout"
                $0.newerMs = 7_200_000
                $0.arguments = [.init(name: "n", value: "6")]
            }
        ),
        ("older", { $0.olderMs = 3_600_000 }),
    ]

    @Test(arguments: [false, true])
    func `paging finds each job once, in order`(isOldestFirst: Bool) async throws {
        try await fill()
        for (name, set) in Self.filters {
            var filter = JobFilter()
            set(&filter)
            filter.isOldestFirst = isOldestFirst
            let expected = try await whole(filter)
            let found = try await paged(filter)
            #expect(found.ids == expected, "\(name)")
            filter.limit = 100_000
            let all = try await inspector.page(filter, timeout: nil)
            #expect(all.jobs.map(\.id) == expected, "\(name)")
            #expect(all.stoppedAt == nil)
        }
        var rare = JobFilter()
        rare.arguments = [.init(name: "n", value: "99")]
        rare.isOldestFirst = isOldestFirst
        #expect(try await paged(rare).stops > 2)
        let page = try await inspector.page(rare, timeout: .zero)
        #expect(page.looked >= 200)
        #expect(page.looked < 5_000)
    }

    @Test func `a page between two cursors stays between them`() async throws {
        try await fill()
        var filter = JobFilter()
        (filter.after, filter.before, filter.tag) = (3_000, 6_000, "t")
        for isOldestFirst in [false, true] {
            filter.isOldestFirst = isOldestFirst
            let expected = try await whole(filter)
            #expect(!expected.isEmpty)
            #expect(try await paged(filter).ids == expected)
        }
    }

    @Test func `an index finds the rare ones at once, however many others there are`()
        async throws
    {
        try await fill()
        var filter = JobFilter()
        filter.limit = 100
        for (key, tag, error) in [("k0", nil, nil), (nil, "u", nil), (nil, nil, "~ no such")] {
            (filter.key, filter.tag, filter.error) = (key, tag, error)
            let page = try await inspector.page(filter, timeout: .seconds(60))
            #expect(page.stoppedAt == nil)
            #expect(page.looked < 3_500)
        }
    }

    @Test func `running jobs are found at the heads of their lanes, whoever claimed them`()
        async throws
    {
        try await session.script(
            """
            INSERT INTO errand.jobs (id, queue, kind, priority, run_at)
            SELECT n, 'default', 'a.' || n % 2, n % 3, now() - interval '1 s' * (3000 - n)
            FROM generate_series(1, 3000) n;
            -- More of one lane than are read at once, some free ones between; one worker is alive,
            -- one has been silent, one is gone without a trace.
            UPDATE errand.jobs SET claimed_by = 1 + id % 3, attempt = 1
            WHERE (id <= 1500 AND id % 7 <> 0 AND id % 6 = 0) OR id IN (1, 2, 3, 4, 100, 205);
            INSERT INTO errand.workers (id, host, pid, version, last_seen_at, lease_seconds, queues,
                kinds, running) OVERRIDING SYSTEM VALUE
            VALUES (1, 'a', 1, '0', now(), 60, '{}', '{}', '{2999}'),
                (2, 'b', 1, '0', now() - interval '1 day', 60, '{}', '{}', '{2998, 12}');
            UPDATE errand.jobs SET claimed_by = 1 WHERE id IN (2998, 2999);
            """)
        var filter = JobFilter()
        filter.states = [.running]
        let expected = try await whole(filter)
        #expect(expected.count > 200)
        #expect(expected.prefix(2) == [2_999, 2_998])
        for isOldestFirst in [false, true] {
            filter.isOldestFirst = isOldestFirst
            #expect(try await paged(filter).ids == expected.sorted { ($0 < $1) == isOldestFirst })
        }
        for worker in 1...3 as ClosedRange<Int64> {
            filter.worker = worker
            #expect(try await paged(filter).ids == whole(filter))
        }
        (filter.worker, filter.kind, filter.queue) = (nil, "a.1", "default")
        #expect(try await paged(filter).ids == whole(filter))
        // Where no worker takes any, only a look at everything finds one.
        try await session.script("UPDATE errand.jobs SET claimed_by = 9 WHERE id = 2900")
        filter = JobFilter()
        filter.worker = 9
        filter.states = [.running]
        #expect(try await inspector.page(filter, timeout: .seconds(60)).jobs.isEmpty)
        #expect(try await inspector.page(filter, timeout: nil).jobs.map(\.id) == [2_900])
    }

    @Test func `ages cut the ids off with a margin`() async throws {
        try await session.script(
            """
            INSERT INTO errand.jobs (id, queue, kind, args, created_at)
            SELECT n, 'default', 'a', CASE WHEN n % 50 < 2 THEN '{"n": 1}' ELSE '{}' END::jsonb,
                now() - interval '1 s' * (60000 - n)
                -- Written late, or in a long transaction.
                + interval '1 s' * CASE WHEN n % 50 = 0 THEN 5000 - n % 9500 ELSE 0 END
            FROM generate_series(1, 60000) n;
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, args)
            SELECT -n, now() - interval '1 day', now(), now() - interval '1 min' * n,
                current_date + 1, 'completed', 2, 1, 1, 1, 'default', 'a',
                '{"n": 1}'
            FROM generate_series(1, 600) n;
            -- Time goes on while the test looks: nothing lies near where it cuts.
            DELETE FROM errand.jobs j USING unnest(ARRAY[3600, 36000, 30000, 20000]) s
            WHERE abs(extract(epoch FROM now() - j.created_at) - s) < 600;
            DELETE FROM errand.finished_jobs j USING unnest(ARRAY[3600, 36000, 30000, 20000]) s
            WHERE abs(extract(epoch FROM now() - j.finished_at) - s) < 600;
            ANALYZE errand.jobs, errand.finished_jobs;
            """)
        let spans: [(Int64?, Int64?)] = [
            (3_600_000, nil), (nil, 36_000_000), (30_000_000, 20_000_000),
        ]
        for (newer, older) in spans {
            var filter = JobFilter()
            (filter.newerMs, filter.olderMs) = (newer, older)
            filter.arguments = [.init(name: "n", value: "1")]
            let expected = try await whole(filter)
            #expect(!expected.isEmpty)
            #expect(try await paged(filter, limit: 200).ids == expected)
        }
        // What is older than all there is costs a look at the margin only.
        var filter = JobFilter()
        filter.olderMs = 3_600_000_000
        let page = try await inspector.page(filter, timeout: .seconds(60))
        #expect(page.jobs.isEmpty && page.stoppedAt == nil)
        #expect(page.looked < 20_000)
    }
}
