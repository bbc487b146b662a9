import ErrandBadges
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// People 1 to 9, establishments 1 and 2, and workers that notify of badges.
struct BadgeGround: Sendable {
    let pool: Pool
    let session: Session
    let kinds: JobKinds

    init() async throws {
        let database = try TestDatabase.here()
        pool = database.pool(12)
        session = database.session()
        var kinds = JobKinds()
        BadgeKinds.add(to: &kinds, notices: try .of([BadgesModule()]))
        self.kinds = kinds
        // Without quiet hours: tests run at night, too.
        try await session.script(
            """
            INSERT INTO people.people (id, email, birth_date, age_verified_at, quiet_from,
                quiet_until)
            SELECT n, n || '@example.org', '1990-05-06', now(), NULL, NULL
            FROM generate_series(1, 9) n;
            INSERT INTO establishments.establishments (id, name)
            VALUES (1, 'Café Un'), (2, 'Bar Deux');
            """)
    }

    /// Counts deeds of a person, each in a transaction of its own.
    func count(
        _ deed: String, of person: Int64, at establishment: Int64 = 1, times: Int = 1,
        in other: Session? = nil
    ) async throws {
        for _ in 0..<times {
            _ = try await (other ?? session).query(
                "SELECT badges.count_deed($1, $2, $3)",
                [.int64(person), .text(deed), .int64(establishment)])
        }
    }

    func number(_ sql: String) async throws -> Int64 {
        try await session.query("SELECT x::bigint FROM (\(sql)) AS q (x)").int64(0, 0)
    }

    func texts(_ sql: String) async throws -> [String] {
        try await session.query("SELECT coalesce(x::text, 'null') FROM (\(sql)) AS q (x)")
            .map { try $0.text(0) }
    }

    /// The levels of a person, by kind and establishment.
    func badges(_ person: Int64) async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', kind, nullif(establishment_id, 0), level) FROM badges.badges
            WHERE person_id = \(person) ORDER BY kind, establishment_id, level
            """)
    }

    /// The counts of a person.
    func counts(_ person: Int64) async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', kind, nullif(establishment_id, 0), deeds) FROM badges.counts
            WHERE person_id = \(person) ORDER BY kind, establishment_id
            """)
    }

    /// The badges that people are yet to be notified of, in their order.
    func due() async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', person_id, kind, level) FROM badges.badges
            WHERE notice_due ORDER BY earned_at, kind
            """)
    }

    /// Coupons that a person has used, without what counts them.
    func used(_ number: Int, of person: Int64) async throws {
        _ = try await session.query(
            """
            INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from,
                expires_at, redeemed_at)
            SELECT $1, 1, 'Tea', now() - interval '1 day', now() + interval '1 day', now()
            FROM generate_series(1, $2)
            """, [.int64(person), .int64(Int64(number))])
    }

    /// Recounts all people; how many counts were corrected, and how many badges awarded.
    func recount() async throws -> [Int] {
        let found = try await Recount.all { try await session.pipeline([$0])[0] }
        return [found.corrected, found.awarded]
    }

    /// Notifies people of what they have earned.
    func notify() async throws {
        _ = try await session.query("SELECT errand.enqueue('badges.notify')")
        _ = try await TestWorker.drain(kinds, queues: [.init("notices"), .init("people")])
    }
}
