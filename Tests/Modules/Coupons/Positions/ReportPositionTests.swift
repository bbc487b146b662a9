import ErrandAdministration
import ErrandCoupons
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Reporting a position from SQL", .database) struct ReportPositionTests {
    private func waiting(_ id: Int64) async throws -> PositionReport {
        let job = try #require(try await Town().job(id))
        #expect(job.state == .available)
        // Where somebody was is in the row alone.
        let session = try TestDatabase.here().session()
        let json = try await session.query(
            "SELECT args FROM errand.jobs WHERE id = $1", [.int64(id)]
        ).json(0, 0)
        await session.close()
        let args = try #require(
            try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        return PositionReport(
            personID: try #require(args["person_id"] as? Int64),
            longitude: try #require(args["longitude"] as? Double),
            latitude: try #require(args["latitude"] as? Double),
            accuracy: try #require(args["accuracy_m"] as? Double),
            at: try #require(Instant(args["at"] as? String ?? "")).date)
    }

    @Test func `a report becomes a job with its facts, without any worker yet`() async throws {
        let town = try Town()
        let id = try await town.reportPosition(
            7, Place(-73.5673, 45.5017), accuracy: 12.5, at: Town.noon)
        let report = try await waiting(id)
        #expect(report.personID == 7)
        #expect(report.longitude == -73.5673)
        #expect(report.latitude == 45.5017)
        #expect(report.accuracy == 12.5)
        #expect(report.at == Town.noon)
        let job = try #require(try await town.job(id))
        #expect(job.kind == PositionReport.kind)
        #expect(job.queue == PositionReport.options.queue)
        #expect(job.priority == Int(PositionReport.options.priority.rawValue))
        #expect(job.maxAttempts == PositionReport.options.maxAttempts)
        #expect(job.argsVersion == PositionReport.argsVersion)
    }

    @Test func `a person's waiting reports become the newest, whatever comes last`() async throws {
        let town = try Town()
        let ages: [TimeInterval] = [60, 30, 45, 10, 50, 11]
        var ids: Set<Int64> = []
        for age in ages {
            ids.insert(
                try await town.reportPosition(
                    7, Place(age, age), at: Town.noon.addingTimeInterval(-age)))
        }
        #expect(ids.count == 1)
        let report = try await waiting(try #require(ids.first))
        #expect(report.longitude == 10)
        #expect(report.at == Town.noon.addingTimeInterval(-10))
        #expect(try await town.number("SELECT count(*) FROM errand.jobs") == 1)
    }

    @Test func `a report of the same moment does not replace the one that waits`() async throws {
        let town = try Town()
        let id = try await town.reportPosition(7, Place(1, 1), at: Town.noon)
        #expect(try await town.reportPosition(7, Place(2, 2), at: Town.noon) == id)
        #expect(try await waiting(id).longitude == 1)
    }

    @Test func `a report from the future neither holds back the good ones nor replaces them`()
        async throws
    {
        let town = try Town()
        let ahead = Date(timeIntervalSinceNow: 3_600)
        let first = try await town.reportPosition(7, Place(1, 1), at: ahead)
        let good = try await town.reportPosition(7, Place(2, 2))
        let last = try await town.reportPosition(7, Place(3, 3), at: ahead + 1)
        #expect(Set([first, good, last]).count == 3)
        #expect(try await waiting(good).longitude == 2)
        // A clock that is a little ahead is not held against anybody.
        #expect(
            try await town.reportPosition(7, Place(4, 4), at: Date(timeIntervalSinceNow: 30))
                == good)
        #expect(try await waiting(good).longitude == 4)

        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        _ = try await TestWorker.drain(kinds, queues: [.init("coupons")])
        for id in [first, last] {
            let job = try #require(try await town.job(id))
            #expect(job.state == .cancelled)
            #expect(job.reason?.hasPrefix("from the future: 3") == true)
        }
    }

    @Test func `reports whose look keeps failing end as too old, not as dead letters`()
        async throws
    {
        let town = try Town()
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        let queues = [WorkerOptions.Queue("coupons", concurrency: 1)]
        var old: [Int64] = []
        for person in 0..<10 {
            old.append(try await town.reportPosition(Int64(person), Place(1, 1)))
        }
        try await town.run("ALTER TABLE establishments.branches RENAME TO lost")
        #expect(try await TestWorker.drain(kinds, queues: queues).retried == 10)

        // Their last attempts are made together with reports that are fresh.
        try await town.run(
            """
            UPDATE errand.jobs SET attempt = max_attempts - 1, args = args || jsonb_build_object(
                'at', (args ->> 'at')::timestamptz - interval '11 minutes')
            """)
        for person in 10..<20 { try await town.reportPosition(Int64(person), Place(2, 2)) }
        _ = try await Inspector(session: town.session).retry(old)
        #expect(try await TestWorker.drain(kinds, queues: queues).dead == 0)
        let jobs = try await town.jobs(PositionReport.kind)
        let ended = jobs.filter { $0.state == .cancelled }
        #expect(Set(ended.map(\.id)) == Set(old))
        for job in ended {
            let reason = try #require(job.reason?.wholeMatch(of: /too old: ([0-9]+) s; .*/))
            #expect(try #require(Int(reason.output.1)) >= 660)
        }
        let waiting = jobs.filter { $0.state == .retrying }
        #expect(waiting.count == 10)
        #expect(
            waiting.allSatisfy {
                String(decoding: $0.errors, as: UTF8.self).contains("establishments.branches")
            })
    }

    @Test func `another person's report waits apart`() async throws {
        let town = try Town()
        let first = try await town.reportPosition(7, Place(1, 1), at: Town.noon)
        let other = try await town.reportPosition(
            8, Place(2, 2), at: Town.noon.addingTimeInterval(60))
        #expect(first != other)
        #expect(try await waiting(first).personID == 7)
        #expect(try await waiting(other).personID == 8)
    }

    @Test func `a report after the one before was handled waits anew`() async throws {
        let town = try Town()
        let first = try await town.reportPosition(7, Place(1, 1))
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        _ = try await TestWorker.drain(kinds, queues: [.init("coupons")])
        #expect(try await town.job(first)?.state == .cancelled)
        let second = try await town.reportPosition(7, Place(2, 2))
        #expect(second != first)
        #expect(try await waiting(second).longitude == 2)
    }

    @Test(
        "what cannot be a position is refused, and the error says what is expected",
        arguments: [
            ("7, 180.5, 0, 10, now()", "22003", "expected longitude -180 to 180, then latitude"),
            ("7, 0, -90.5, 10, now()", "22003", "position 0 -90.5: expected longitude"),
            ("7, 45.5, -73.6, 'NaN', now()", "22003", "accuracy_m NaN: expected metres"),
            ("7, 0, 0, 'infinity', now()", "22003", "accuracy_m Infinity: expected metres"),
            ("7, 0, 0, '-infinity', now()", "22003", "accuracy_m -Infinity: expected metres"),
            ("7, 'NaN', 0, 10, now()", "22003", "position NaN 0: expected longitude"),
            ("7, 0, 0, 10, 'infinity'", "22008", "at infinity: expected a time in the years 1970"),
            ("7, 0, 0, 10, '10000-01-01Z'", "22008", "expected a time in the years 1970 to 9999"),
            ("7, 0, 0, 10, '0044-03-15 BC'", "22008", "expected a time in the years 1970 to 9999"),
            ("7, 0, 0, NULL, now()", "22004", "needs person, longitude, latitude, accuracy_m and"),
            ("NULL, 0, 0, 10, now()", "22004", "needs person, longitude, latitude, accuracy_m"),
        ])
    func refusal(arguments: String, code: String, words: String) async throws {
        let town = try Town()
        do {
            try await town.run("SELECT coupons.report_position(\(arguments))")
            Issue.record("\(arguments) was taken")
        } catch let error as PostgresError {
            #expect(error.sqlState == code)
            #expect(error.description.contains(words), "\(error)")
        }
        #expect(try await town.number("SELECT count(*) FROM errand.jobs") == 0)
    }
}
