import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// People who may be shoppers, and branches of two establishments: 1 and 2 of the first, 3 of the
/// second, the first two 1.2 km apart.
struct MissionGround: Sendable {
    let pool: Pool
    let session: Session
    static let longitude = -73.5
    static let latitude = 45.5

    /// - Parameters:
    ///   - people: ids from 1, all of them grown-up.
    ///   - hired: the first so many are shoppers, 1.1 km from the first branch.
    init(people: Int = 10, hired: Int = 4) async throws {
        let database = try TestDatabase.here()
        pool = database.pool(12)
        session = database.session()
        _ = try await session.query(
            """
            INSERT INTO people.people (id, birth_date, age_verified_at, quiet_from,
                quiet_until)
            SELECT n, '1990-05-06', now(), NULL, NULL FROM generate_series(1, $1) n
            """, [.int64(Int64(people))])
        try await session.script(
            """
            INSERT INTO establishments.establishments VALUES (1, 'Café Un'), (2, 'Bar Deux');
            INSERT INTO establishments.branches VALUES (1, 1, 'North', missions.point(-73.5, 45.5)),
                (2, 1, 'South', missions.point(-73.515, 45.5)),
                (3, 2, 'Corner', missions.point(-73.5, 45.501));
            """)
        guard hired > 0 else { return }
        for person in 1...Int64(hired) { try await hire(person) }
    }

    /// What a shopper's app is answered.
    struct Answer: Sendable, Equatable {
        var isAccepted: Bool
        var reason: String
        var state: String?
        var distance: Double?
        var open: [Int32]?
    }

    // MARK: Setting up

    func hire(_ person: Int64) async throws {
        _ = try await session.query("SELECT missions.hire($1, 'Olga')", [.int64(person)])
        _ = try await session.query(
            "SELECT missions.set_shopper($1, -73.5, 45.51)", [.int64(person)])
    }

    /// Writes what no function would, such as times that have passed.
    func force(_ sql: String) async throws {
        try await session.script(
            "BEGIN; SET LOCAL session_replication_role = replica; \(sql); COMMIT")
    }

    /// Opens a mission; `more` are further arguments by name.
    @discardableResult
    func open(_ branch: Int = 1, slots: Int = 1, _ more: String = "") async throws -> Int64 {
        try await number(
            """
            SELECT missions.open_mission(\(branch), 'Have lunch',
                clock_timestamp() - interval '1 hour', clock_timestamp() + interval '3 days',
                3000, 2000, '[{"kind": "photos", "title": "The door"},
                    {"kind": "interaction", "title": "Ask", "is_required": false},
                    {"kind": "survey", "title": "Survey"}, {"kind": "report", "title": "Report"}]',
                'America/Toronto', \(slots) \(more.isEmpty ? "" : ", " + more))
            """)
    }

    /// An hour ago, three days from now, and so on: as if the mission had been opened earlier.
    func age(_ mission: Int64, by interval: String) async throws {
        try await force(
            """
            UPDATE missions.missions SET opens_at = opens_at - interval '\(interval)',
                closes_at = closes_at - interval '\(interval)' WHERE id = \(mission);
            UPDATE missions.assignments SET due_at = due_at - interval '\(interval)',
                answer_by = answer_by - interval '\(interval)',
                remind_at = remind_at - interval '\(interval)' WHERE mission_id = \(mission)
            """)
    }

    /// Offers; the assignment's id, or what is against it.
    func offer(
        _ mission: Int64, _ person: Int64, _ more: String = "", in other: Session? = nil
    ) async throws -> (id: Int64?, refused: [String]) {
        let rows = try await (other ?? session).query(
            "SELECT assignment_id, refused FROM missions.offer($1, $2 "
                + (more.isEmpty ? ")" : ", \(more))"), [.int64(mission), .int64(person)])
        let id = try rows.first?.optionalInt64("assignment_id")
        return (id, id == nil ? try rows.first?.textArray("refused") ?? [] : [])
    }

    /// Offers what nothing is against.
    func given(_ mission: Int64, _ person: Int64, _ more: String = "") async throws -> Int64 {
        let (id, refused) = try await offer(mission, person, more)
        #expect(refused == [])
        return try #require(id)
    }

    // MARK: What apps call

    @discardableResult
    func answer(_ call: String, in other: Session? = nil) async throws -> Answer {
        let rows = try await (other ?? session).query(
            "SELECT is_accepted, reason, state::text, distance_m::double precision, open_tasks "
                + "FROM missions.\(call)")
        let row = try #require(rows.first)
        let tasks = try row.isNull("open_tasks") ? nil : row.int32Array("open_tasks")
        return Answer(
            isAccepted: try row.bool(0), reason: try row.text(1), state: try row.optionalText(2),
            distance: try row.isNull("distance_m") ? nil : row.double("distance_m"), open: tasks)
    }

    func accept(_ person: Int64, _ assignment: Int64) async throws -> Answer {
        try await answer("accept(\(person), \(assignment))")
    }

    func arrive(_ person: Int64, _ assignment: Int64) async throws -> Answer {
        try await answer("arrive(\(person), \(assignment), -73.5, 45.5, 10)")
    }

    /// From the offer to the submission, at branch 1 or 3.
    func submitted(_ mission: Int64, _ person: Int64) async throws -> Int64 {
        let id = try await given(mission, person)
        #expect(try await accept(person, id).reason == "ok")
        // Near branches 1 and 3.
        #expect(
            try await answer("arrive(\(person), \(id), -73.5, 45.5, 50)").reason == "ok")
        for number in [1, 3, 4] {
            let answer = try await answer("finish_step(\(person), \(id), \(number), '{}')")
            #expect(answer.reason == "ok")
        }
        #expect(try await answer("submit(\(person), \(id), 'r')").reason == "ok")
        return id
    }

    // MARK: Looking

    func number(_ sql: String) async throws -> Int64 {
        try await session.query("SELECT x::bigint FROM (\(sql)) AS q (x)").int64(0, 0)
    }

    /// The rows of a statement with one column, of whatever type.
    func texts(_ sql: String) async throws -> [String] {
        try await session.query(
            "SELECT CASE WHEN x IS NULL THEN 'null' ELSE format('%s', x) END FROM (\(sql)) AS q (x)"
        ).map { try $0.text(0) }
    }

    func text(_ sql: String) async throws -> String {
        try #require(try await texts(sql).first)
    }

    func state(_ assignment: Int64) async throws -> String {
        try await text("SELECT state::text FROM missions.assignments WHERE id = \(assignment)")
    }

    func standing(_ person: Int64) async throws -> String {
        try await text(
            """
            SELECT coalesce((SELECT state || coalesce(': ' || reason, '')
                FROM missions.standing(\(person))), 'none')
            """)
    }

    func objections(_ mission: Int64, _ person: Int64) async throws -> [String] {
        try await texts("SELECT unnest(missions.objections(\(mission), \(person)))")
    }

    func candidates(_ mission: Int64) async throws -> [String] {
        try await texts(
            "SELECT person_id::text FROM missions.candidates(ARRAY[\(mission)]) ORDER BY person_id")
    }

    /// What was asked to be told of an assignment, in its order.
    func told(_ assignment: Int64) async throws -> [String] {
        try await texts(
            """
            SELECT (args ->> 'event') || ' ' || (args ->> 'step') FROM errand.jobs
            WHERE kind = 'missions.notify' AND args ->> 'assignment_id' = '\(assignment)'
            ORDER BY id
            """)
    }

    /// How many jobs wait that seek shoppers for a mission.
    func seeks(_ mission: Int64) async throws -> Int64 {
        try await number(
            """
            SELECT count(*) FROM errand.jobs
            WHERE kind = 'missions.assign' AND args = '{"mission_id": \(mission)}'
            """)
    }

    /// Lets the jobs that seek be done.
    func forgetSeeks() async throws {
        try await session.script("DELETE FROM errand.jobs WHERE kind = 'missions.assign'")
    }

    /// What the server refuses a statement with.
    func refusal(_ sql: String, in other: Session? = nil) async throws -> String? {
        do throws(PostgresError) {
            _ = try await (other ?? session).query(sql)
            return nil
        } catch { return error.sqlState }
    }
}
