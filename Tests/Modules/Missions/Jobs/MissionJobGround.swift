import Foundation
import Errand
import ErrandMissions
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// A town with branches and shoppers, and workers for their missions.
struct MissionJobGround: Sendable {
    let pool: Pool
    let session: Session
    let kinds: JobKinds

    /// - Parameters:
    ///   - people: ids from 1, all of age and without quiet hours: tests run at night, too.
    ///   - shoppers: so many of them are hired, and set out from the same place.
    init(people: Int = 10, shoppers: Int = 0) async throws {
        let database = try TestDatabase.here()
        pool = database.pool()
        session = database.session()
        var kinds = JobKinds()
        MissionKinds.add(to: &kinds, notices: try .of([MissionsModule()]))
        self.kinds = kinds
        try await session.script(
            """
            INSERT INTO people.people (id, birth_date, age_verified_at, quiet_from,
                quiet_until)
            SELECT n, '1990-05-17', now(), NULL, NULL FROM generate_series(1, \(people)) n;
            INSERT INTO establishments.establishments (id, name)
            SELECT n, 'Chain ' || n FROM generate_series(1, 5) n;
            INSERT INTO establishments.branches (establishment_id, name, place)
            SELECT 1 + n % 5, 'Branch ' || n,
                st_setsrid(st_makepoint(-73.6 + n * 0.001, 45.5), 4326)::geography
            FROM generate_series(1, 20) n;
            SELECT count(missions.hire(n, 'test')) FROM generate_series(1, \(shoppers)) n;
            SELECT count(missions.set_shopper(n, -73.6, 45.5, 15000, 2))
            FROM generate_series(1, \(shoppers)) n;
            DELETE FROM errand.jobs
            """)
    }

    /// Opens a mission that ends in three days; its id.
    func open(
        branch: Int = 1, slots: Int = 1, pay: Int = 1_500, isUrgent: Bool = false,
        closing: String = "3 days", rest: Int = 90
    ) async throws -> Int64 {
        try await number(
            """
            SELECT missions.open_mission(\(branch), 'Ask about size', clock_timestamp(),
                clock_timestamp() + interval '\(closing)', 2500, \(pay),
                '[{"kind":"photos","title":"The shelf"},{"kind":"report","title":"How it was"}]',
                'America/Toronto', slots => \(slots), is_urgent => \(isUrgent),
                rest_days => \(rest))
            """)
    }

    /// Lets a worker do all that is due.
    func work() async throws {
        _ = try await TestWorker.drain(kinds, queues: [.init("missions", concurrency: 3)])
    }

    @discardableResult
    func assign(_ mission: Int64? = nil, now: Instant = .now()) async throws -> Assigner.Result? {
        try await Assigner(now: now).assign(mission, locking: pool, offering: pool)
    }

    func sweep(in hours: Int) async throws -> [String: Int] {
        try await SweepMissions.sweep(
            in: pool, now: .now().adding(.seconds(hours * 3_600)))
    }

    /// Accepts, arrives, does the checklist and hands in.
    func perform(_ assignment: Int64) async throws {
        let done = try await texts(
            """
            SELECT unnest(ARRAY[
                (missions.accept(a.person_id, a.id)).reason,
                (missions.arrive(a.person_id, a.id, st_x(b.place::geometry),
                    st_y(b.place::geometry), 10)).reason,
                (missions.finish_step(a.person_id, a.id, 1, '{}')).reason,
                (missions.finish_step(a.person_id, a.id, 2, '{}')).reason,
                (missions.submit(a.person_id, a.id, 'r')).reason])
            FROM missions.assignments a JOIN establishments.branches b ON b.id = a.branch_id
            WHERE a.id = \(assignment)
            """)
        #expect(done == ["ok", "ok", "ok", "ok", "ok"])
    }

    // MARK: Looking

    func number(_ sql: String) async throws -> Int64 {
        try await session.query(sql).int64(0, 0)
    }

    func texts(_ sql: String) async throws -> [String] {
        try await session.query(sql).map { try $0.text(0) }
    }

    /// Mission, person and state of all assignments, the first one first.
    func assignments() async throws -> [String] {
        try await texts(
            """
            SELECT mission_id || ' ' || person_id || ' ' || state FROM missions.assignments
            ORDER BY id
            """)
    }

    /// Whom which kinds of notice were made for.
    func told() async throws -> [String] {
        try await texts("SELECT kind || ' ' || person_id FROM notification.notices ORDER BY id")
    }
}
