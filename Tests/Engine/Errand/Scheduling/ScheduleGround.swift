import Foundation
@testable import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

/// A database with schedules, and a clock that stands where the test puts it.
struct ScheduleGround: Sendable {
    let session: Session
    let schedules: Schedules
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase.here()
        session = database.session("schedule-test")
        schedules = Schedules(
            session: database.session("schedule-operator"), zones: ZoneDatabase())
    }

    /// Adds a schedule of test.plain jobs, or changes it, as an operator; planned at `now`.
    func put(
        _ name: String = "ten", _ settings: [String: Any] = [:], at now: Instant = at("10:00")
    ) async throws {
        var all: [String: Any] = ["recurrence": "*/10 * * * *", "kind": Plain.kind]
        all.merge(settings) { $1 }
        // Pure settings of the row: what `schedules.put` adds is a check against the real clock.
        let json = try JSONSerialization.data(withJSONObject: all)
        _ = try await session.query(
            Statements.putSchedule,
            [.text(name), .json(Array(json)), .json(Array(#"{"n": 1}"#.utf8)), .text("operator")])
        _ = try await fire(at: now)
    }

    func pass(at now: Instant, tzdata: ZoneDatabase = ZoneDatabase()) -> SchedulePass {
        SchedulePass(
            session: session, zones: tzdata, clock: .given(now, pace: 0), log: .silent)
    }

    /// What a tick at that time does.
    @discardableResult
    func fire(at now: Instant) async throws -> PassSummary {
        let settling = OccurrenceResults(
            session: session, clock: .given(now, pace: 0), log: .silent)
        try await settling.all(at: now)
        let done = try await pass(at: now).fire(at: now)
        try await settling.all(at: now)
        return done
    }

    func stored(_ name: String = "ten") async throws -> StoredSchedule {
        try #require(try await schedules.list(named: name).first).schedule
    }

    /// The occurrences of a schedule, oldest first: "10:10 enqueued", "10:20 skipped".
    func history(_ name: String = "ten") async throws -> [String] {
        try await session.query(
            """
            SELECT to_char(o.due_at AT TIME ZONE 'UTC', 'HH24:MI ') || o.outcome
                || coalesce(to_char(o.merged_into AT TIME ZONE 'UTC', ' HH24:MI'), '')
            FROM errand.schedule_occurrences o JOIN errand.schedules s ON s.id = o.schedule_id
            WHERE s.name = $1 ORDER BY o.due_at
            """, [.text(name)]
        ).map { try $0.text(0) }
    }

    /// Expects that history of a schedule, and shows the one found if it is another.
    func tells(
        _ name: String, _ expected: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await history(name)
        #expect(found == expected, sourceLocation: sourceLocation)
    }

    /// The jobs that wait or run, oldest first.
    func liveJobs() async throws -> [Int64] {
        try await session.query("SELECT id FROM errand.jobs ORDER BY id").map { try $0.int64(0) }
    }

    func number(_ sql: String) async throws -> Int {
        Int(try await session.query(sql).int64(0, 0))
    }

    /// Has all waiting jobs run by a worker that does nothing, or fails them for good.
    func runJobs(failing: Bool = false) async throws {
        var kinds = JobKinds()
        kinds.handleWithOutcome(Plain.self) { _, _ in
            failing ? .dead(reason: "it went wrong") : .done
        }
        _ = try await TestWorker.drain(kinds)
    }

    /// Makes waiting jobs look as if a worker ran them.
    func claimAll() async throws {
        _ = try await session.query(
            """
            WITH w AS (
                INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, kinds)
                VALUES ('elsewhere', 1, '0', 600, '{}', '{}') RETURNING id)
            UPDATE errand.jobs SET claimed_by = w.id, claim_token = 1, claimed_at = now(),
                attempt = attempt + 1
            FROM w WHERE claimed_by IS NULL
            """)
    }
}
