import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// Schedules of one database that go by a clock of their own, faster than the real one.
struct AcceleratedScheduler: Sendable {
    let ground: CrashGround
    /// What the clock showed at first.
    let start: String
    private let origin: Instant
    private let pace: Double
    private let began = ContinuousClock.now

    init(_ ground: CrashGround, from start: String, pace: Double) throws {
        self.ground = ground
        self.start = start
        origin = try #require(Instant(start))
        self.pace = pace
    }

    /// What it shows now.
    var now: Instant { origin.adding((.now - began) * pace) }

    /// Lets so much of its time pass: as long as an outage is to last.
    func sleep(minutes: Int) async throws {
        try await Task.sleep(for: .seconds(Double(minutes) * 60 / pace))
    }

    // MARK: What is run

    func add(_ name: String, _ settings: [String: any Sendable], args: String = "{}") async throws {
        let all = ["kind": "demo.noop"].merging(settings) { $1 }
        _ = try await ground.session.query(
            """
            SELECT errand.put_schedule($1, $2::jsonb || jsonb_build_object('args', $3::jsonb), $4)
            """,
            [
                .text(name), .json(Array(try JSONSerialization.data(withJSONObject: all))),
                .json(Array(args.utf8)), .text("test"),
            ])
        // Planned by this clock, from its start on.
        _ = try await ground.done("schedule", "tick", "--now", start)
    }

    func scheduler() throws -> Program {
        try ground.start(["schedule", "run", "--now", "\(now)", "--speed", "\(Int(pace))"])
    }

    func startTick() throws -> Program {
        try ground.start(["schedule", "tick", "--now", "\(now)"])
    }

    func tick() async throws { try await ground.done("schedule", "tick", "--now", "\(now)") }

    // MARK: What came of it

    /// Waits until every schedule, or the one named, has so many jobs of occurrences since then.
    func untilMade(_ count: Int, of name: String? = nil, since: Instant? = nil) async throws {
        try await eventually("\(count) more occurrences", within: .seconds(60)) {
            let rows = try? await ground.session.query(
                """
                SELECT coalesce(min(n), 0) FROM (
                    SELECT count(o.job_id) AS n FROM errand.schedules s
                    LEFT JOIN errand.schedule_occurrences o
                        ON o.schedule_id = s.id AND o.due_at >= $2
                    WHERE s.paused_at IS NULL AND s.name = coalesce($1, s.name)
                    GROUP BY s.id) AS counts
                """, [.optional(name), .timestamp(since ?? origin)])
            return try (rows?.int64(0, 0) ?? 0) >= count
        }
    }

    /// The due times of a schedule's jobs, oldest first.
    func dues(of name: String) async throws -> [String] {
        try await ground.session.query(
            """
            SELECT o.due_at FROM errand.schedule_occurrences o
            JOIN errand.schedules s ON s.id = o.schedule_id
            WHERE s.name = $1 AND o.job_id IS NOT NULL ORDER BY o.due_at
            """, [.text(name)]
        ).map { try $0.timestamp(0).description }
    }

    /// All occurrences of a schedule have their job, from a time up to the last tick at least, as
    /// `schedule next` tells them; returns how many.
    func expectAll(
        of name: String, _ recurrence: String, _ zone: String, from first: String,
        upTo ticked: Instant
    ) async throws -> Int {
        let made = try await dues(of: name)
        var expected: [String] = []
        for line in try await ground.done(
            "schedule", "next", recurrence, "--tz", zone, "--from", first, "--count",
            "\(made.count + 1)", "--output", "json"
        ).split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let text = try #require((object as? [String: Any])?["at"] as? String)
            expected.append(try #require(Instant(text)).description)
        }
        let next = try #require(Instant(expected.removeLast()))
        #expect(next > ticked, "\(name): \(next) was due at the last tick")
        let wrong = Set(made).symmetricDifference(expected).sorted()
        #expect(wrong == [], "\(name)")
        #expect(Set(made).count == made.count)
        return made.count
    }

    /// Each occurrence has a job that tells of it, and each job an occurrence.
    func expectOneJobEach() async throws {
        let rows = try await ground.session.query(
            """
            SELECT (SELECT count(*) FROM errand.jobs),
                count(*), count(DISTINCT o.job_id), count(j.id)
            FROM errand.schedule_occurrences o
            LEFT JOIN errand.jobs j ON j.id = o.job_id
                AND j.options -> 'occurrence' ->> 'due'
                    = to_char(o.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            """)
        let jobs = try rows.int64(0, 0)
        for column in 1...3 { #expect(try rows.int64(0, column) == jobs) }
    }

    /// Counts occurrences of a schedule in a stretch of time under a condition of the test's own.
    func count(
        _ select: String, _ name: String, _ range: ClosedRange<Instant>?, _ condition: String
    ) async throws -> Int {
        let rows = try await ground.session.query(
            """
            \(select) JOIN errand.schedules s ON s.id = o.schedule_id
            WHERE s.name = $1 AND o.due_at >= $2 AND o.due_at <= $3 AND \(condition)
            """,
            [
                .text(name), .timestamp(range?.lowerBound ?? .negativeInfinity),
                .timestamp(range?.upperBound ?? .infinity),
            ])
        return Int(try rows.int64(0, 0))
    }

    /// How many whole minutes lie in a stretch of time.
    func minutes(in range: ClosedRange<Instant>) -> Int {
        let minute: Int64 = 60_000_000
        let first = (range.lowerBound.microseconds + minute - 1) / minute
        return Int(range.upperBound.microseconds / minute - first + 1)
    }

    /// Each minute since the start was dealt with once: as an occurrence, or among the missed.
    func expectEachMinuteAccountedFor(
        _ name: String, at place: SourceLocation = #_sourceLocation
    ) async throws {
        let rows = try await ground.session.query(
            """
            WITH s AS (SELECT * FROM errand.schedules WHERE name = $1),
            dealt AS (
                SELECT o.due_at FROM errand.schedule_occurrences o JOIN s ON s.id = o.schedule_id
                UNION ALL
                SELECT generate_series(m.first_due, m.last_due, '1 min')
                FROM errand.schedule_misses m JOIN s ON s.id = m.schedule_id
            )
            SELECT count(*), count(DISTINCT due_at),
                (extract(epoch FROM (SELECT last_due FROM s) - $2) / 60)::bigint
            FROM dealt
            """, [.text(name), .timestamp(origin)])
        let (all, distinct, minutes) = try (
            rows.int64(0, 0), rows.int64(0, 1), rows.int64(0, 2)
        )
        #expect(all == distinct, "\(name): a minute was dealt with twice", sourceLocation: place)
        #expect(distinct == minutes, "\(name): a minute was passed over", sourceLocation: place)
    }

    /// Runs of a schedule whose job was made before that of the run before it had ended.
    func overlaps(of name: String) async throws -> Int {
        try await ground.number(
            """
            SELECT count(*) FROM (
                SELECT f.created_at, max(f.finished_at) OVER (
                    ORDER BY o.due_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                FROM errand.schedule_occurrences o
                JOIN errand.schedules s ON s.id = o.schedule_id AND s.name = '\(name)'
                JOIN errand.finished_jobs f ON f.id = o.job_id) AS runs
            WHERE created_at < before
            """)
    }
}
