import ErrandAdministration
import ErrandCoupons
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

/// A place in degrees.
struct Place: Sendable, CustomTestStringConvertible {
    var longitude: Double
    var latitude: Double

    init(_ longitude: Double, _ latitude: Double) {
        self.longitude = longitude
        self.latitude = latitude
    }

    /// Metres to the north, roughly.
    func north(_ metres: Double) -> Place { Place(longitude, latitude + metres / 111_195) }

    var testDescription: String { "\(longitude) \(latitude)" }

    static let montreal = Place(-73.5673, 45.5017)
}

/// People, branches and coupons in the database of the running test.
struct Town {
    let session: Session
    let pool: Pool

    /// A summer's noon, UTC, for what is decided by a given time.
    static let noon = Date(timeIntervalSince1970: 1_781_524_800)

    /// All notices in their own words.
    static let catalogue: NoticeCatalogue = {
        do { return try .of([CouponsModule()]) } catch { fatalError("\(error)") }
    }()

    init() throws {
        session = try TestDatabase.here().session()
        pool = try TestDatabase.here().pool()
    }

    /// The first column of the first row.
    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    func run(_ sql: String, _ parameters: [Parameter] = []) async throws {
        _ = try await session.query(sql, parameters)
    }

    /// A person without quiet hours: tests by the real clock run at night, too.
    func person(
        _ email: String? = "ada@example.org", born: String? = "1990-05-17", zone: String = "UTC",
        agrees: Bool = true
    ) async throws -> Int64 {
        try await number(
            """
            INSERT INTO people.people (email, birth_date, age_verified_at, time_zone,
                location_consent_at, quiet_from, quiet_until)
            VALUES ($1, $2::text::date, CASE WHEN $2::text IS NOT NULL THEN timestamptz
                '2026-01-01Z' END, $3, CASE WHEN $4 THEN timestamptz '2026-01-01Z' END, NULL, NULL)
            RETURNING id
            """,
            [.optional(email), .optional(born), .text(zone), .bool(agrees)])
    }

    /// An establishment with branches "Branch 1", "Branch 2" … at the places.
    func establishment(at places: Place...) async throws -> Int64 {
        let id = try await number(
            "INSERT INTO establishments.establishments (name) VALUES ('Cafe') RETURNING id")
        for (number, place) in zip(1..., places) {
            try await run(
                """
                INSERT INTO establishments.branches (establishment_id, name, place)
                VALUES ($1, $2, ST_SetSRID(ST_MakePoint($3, $4), 4326)::geography)
                """,
                [
                    .int64(id), .text("Branch \(number)"), .double(place.longitude),
                    .double(place.latitude),
                ])
        }
        return id
    }

    func coupon(
        of person: Int64, at establishment: Int64, _ title: String = "A free coffee",
        radius: Double = 150, from: String = "2026-01-01T00:00:00Z",
        until: String = "2099-01-01T00:00:00Z"
    ) async throws -> Int64 {
        try await number(
            """
            INSERT INTO coupons.coupons (person_id, establishment_id, title, radius_m, valid_from,
                expires_at)
            VALUES ($1, $2, $3, $4::float8, $5::text::timestamptz, $6::text::timestamptz)
            RETURNING id
            """,
            [
                .int64(person), .int64(establishment), .text(title), .double(radius),
                .text(from), .text(until),
            ])
    }

    /// What becomes of reports at a time, each from where its person stands.
    @discardableResult
    func look(
        _ stands: [(person: Int64, place: Place)], accuracy: Double = 10, now: Date = Town.noon
    ) async throws -> [Proximity.Finding] {
        try await look(
            at: stands.map { report($0.person, $0.place, accuracy: accuracy, at: now) }, now: now)
    }

    /// What becomes of reports at a time.
    func look(at reports: [PositionReport], now: Date = Town.noon) async throws
        -> [Proximity.Finding]
    {
        let planner = NoticePlanner(Town.catalogue, client: try await JobClient(pool: pool))
        return try await pool.transaction { transaction in
            try await Proximity.look(at: reports, now: now, notices: planner, in: transaction)
        }
    }

    /// What becomes of one report.
    @discardableResult
    func look(
        _ person: Int64, at place: Place, accuracy: Double = 10, now: Date = Town.noon
    ) async throws -> Proximity.Finding {
        try await look([(person, place)], accuracy: accuracy, now: now)[0]
    }

    func report(
        _ person: Int64, _ place: Place, accuracy: Double = 10, at: Date
    ) -> PositionReport {
        PositionReport(
            personID: person, longitude: place.longitude, latitude: place.latitude,
            accuracy: accuracy, at: at)
    }

    /// Reports as an app's back end does; returns the job's id.
    @discardableResult
    func reportPosition(
        _ person: Int64, _ place: Place, accuracy: Double = 10, at: Date = Date()
    ) async throws -> Int64 {
        try await number(
            "SELECT coupons.report_position($1, $2, $3, $4, $5)",
            [
                .int64(person), .double(place.longitude), .double(place.latitude),
                .double(accuracy), .timestamp(Instant(date: at)),
            ])
    }

    func notices() async throws -> [Notice] {
        try await session.query(
            """
            SELECT id, person_id, subject, status::text AS status, reason,
                data ->> 'branch' AS branch, (data ->> 'distance')::float8 AS distance,
                data ->> 'last_day' AS last_day, created_at, expires_at
            FROM notification.notices ORDER BY id
            """
        ).map(Notice.init)
    }

    func job(_ id: Int64) async throws -> JobRecord? {
        try await Inspector(session: session).job(id)
    }

    /// All jobs that there are or were of a kind, newest first.
    func jobs(_ kind: String) async throws -> [JobRecord] {
        var filter = JobFilter()
        filter.kind = kind
        filter.limit = 1_000
        return try await Inspector(session: session).jobs(filter)
    }
}

/// A row of notification.notices.
struct Notice: Sendable {
    var id: Int64
    var person: Int64
    var subject: String
    var status: String
    var reason: String?
    var branch: String?
    var distance: Double?
    var lastDay: String?
    var createdAt: Instant
    var expiresAt: Instant

    init(_ row: Row) throws {
        id = try row.int64("id")
        person = try row.int64("person_id")
        subject = try row.text("subject")
        status = try row.text("status")
        reason = try row.optionalText("reason")
        branch = try row.optionalText("branch")
        distance = try row.optionalDouble("distance")
        lastDay = try row.optionalText("last_day")
        createdAt = try row.timestamp("created_at")
        expiresAt = try row.timestamp("expires_at")
    }
}

/// The same words for everything.
struct AnyWording: Wording {
    func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], locale: String,
        zone: Zone?, unsubscribe: String?
    ) throws -> NoticeTemplates.Rendered {
        NoticeTemplates.Rendered(title: "Your account", text: "It was changed.")
    }
}
