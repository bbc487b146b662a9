import Foundation
import ErrandHousehold
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// People of whom the first live together, and workers for their households.
///
/// They are told at any hour: what a test sees must not depend on when it runs.
struct HomeGround: Sendable {
    let pool: Pool
    let session: Session
    let kinds: JobKinds

    /// - Parameters:
    ///   - people: ids from 1, without quiet hours.
    ///   - members: the first so many live in group 1; they have been told so.
    init(people: Int = 6, members: Int = 3, zone: String = "America/Toronto") async throws {
        let database = try TestDatabase.here()
        pool = database.pool()
        session = database.session()
        var kinds = JobKinds()
        HouseholdKinds.add(to: &kinds, notices: try .of([HouseholdModule()]))
        self.kinds = kinds
        try await session.script(
            """
            INSERT INTO people.people (id, time_zone, notice_time, quiet_from, quiet_until)
            SELECT n, 'America/Toronto', '00:00', NULL, NULL FROM generate_series(1, \(people)) n
            """)
        guard members > 0 else { return }
        try await call("create_group(1, 'Flat 7', '\(zone)')")
        for person in 1...members {
            if person > 1 { try await join(Int64(person)) }
            try await call("set_name(\(person), 'P\(person)')")
        }
        try await work()
        try await forget()
    }

    func join(_ person: Int64, of host: Int64 = 1) async throws {
        let invitation = try await number("SELECT household.invite(\(host), \(person))")
        try await call("accept(\(person), \(invitation))")
    }

    /// Lets a worker do all that is due.
    func work() async throws {
        _ = try await TestWorker.drain(kinds, queues: [.init("household", concurrency: 3)])
    }

    // MARK: Calling

    @discardableResult
    func call(_ call: String) async throws -> String {
        try await session.query("SELECT (household.\(call))::text").first?.optionalText(0)
            ?? "null"
    }

    func number(_ sql: String) async throws -> Int64 {
        try await session.query(sql).int64(0, 0)
    }

    func texts(_ sql: String) async throws -> [String] {
        try await session.query(sql).map { try $0.optionalText(0) ?? "null" }
    }

    /// Adds a chore and lets it be planned; its id.
    func chore(_ arguments: String, of person: Int64 = 1) async throws -> Int64 {
        let chore = try await number(
            "SELECT household.add_chore(\(person), 'Dishes', \(arguments))")
        try await work()
        return chore
    }

    /// Takes what is due at a moment, and says its days.
    @discardableResult
    func take(_ chore: Int64, at instant: String) async throws -> [String] {
        _ = try await TakeChores.take(in: pool, now: try #require(Instant(instant)))
        return try await days(chore)
    }

    func days(_ chore: Int64) async throws -> [String] {
        try await texts(
            "SELECT due_on::text FROM household.occurrences WHERE chore_id = \(chore) ORDER BY 1")
    }

    /// The day and instant that are planned.
    func next(_ chore: Int64) async throws -> String {
        try await texts(
            """
            SELECT coalesce(next_on || ' ' || to_char(next_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI'),
                fault, 'none') FROM household.chores WHERE id = \(chore)
            """)[0]
    }

    // MARK: Looking

    /// Whom which kinds of notice were made for since ``forget()``, without their app.
    func told() async throws -> [String] {
        try await texts(
            """
            SELECT replace(kind, 'household.', '') || ' ' || person_id FROM notification.notices
            WHERE status IN ('sent', 'pending', 'held') AND kind <> 'seen' ORDER BY id
            """)
    }

    /// What they read, the first first.
    func words() async throws -> [String] {
        try await texts(
            "SELECT title || ': ' || body FROM notification.inbox_items ORDER BY number")
    }

    /// Leaves out of ``told()`` what was told so far, and keeps what makes it told once.
    func forget() async throws {
        _ = try await session.query("UPDATE notification.notices SET kind = 'seen'")
    }

    /// Does all jobs again that have told something, as after a kill at the worst moment.
    func repeatAll() async throws {
        _ = try await session.query(
            """
            SELECT errand.enqueue(f.kind, f.args) FROM errand.finished_jobs f
            WHERE f.kind IN ('household.notify', 'household.plan')
              AND f.args ->> 'event' IS DISTINCT FROM 'chore_reminder'
              AND f.args ->> 'event' IS DISTINCT FROM 'debt_reminder'
            """)
        try await work()
    }
}
