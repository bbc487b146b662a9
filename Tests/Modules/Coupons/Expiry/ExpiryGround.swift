import ErrandCoupons
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

/// A moment as RFC 3339.
func moment(_ text: String) throws -> Date {
    try #require(Instant(text), "\(text) is no time").date
}

/// What people were told of coupons that expire.
struct Reminded: Sendable, Equatable, CustomStringConvertible {
    var person: Int64
    var daysLeft: Int64
    var lastDay: String
    var titles: [String]

    init(_ person: Int64, _ daysLeft: Int64, _ lastDay: String, _ titles: [String]) {
        self.person = person
        self.daysLeft = daysLeft
        self.lastDay = lastDay
        self.titles = titles
    }

    var description: String { "\(person) \(daysLeft) \(lastDay) \(titles)" }
}

/// A town whose people are reminded at times that the test chooses.
struct ExpiryGround {
    let town: Town
    let shop: Int64
    private let client: JobClient

    init() async throws {
        town = try Town()
        shop = try await town.establishment()
        client = try await JobClient(pool: town.pool)
    }

    /// A person with coupons that expire at the times, titled by these times.
    func person(
        in zone: String = "America/Toronto", expiring times: String...
    ) async throws -> Int64 {
        let person = try await town.person(zone: zone)
        for time in times { _ = try await coupon(of: person, until: time) }
        return person
    }

    func coupon(of person: Int64, until time: String) async throws -> Int64 {
        try await town.coupon(of: person, at: shop, time, until: time)
    }

    /// One run for a time; by a clock that shows the same, unless told otherwise.
    @discardableResult
    func run(
        _ due: String, clock: String? = nil, pageSize: Int32? = nil, log: Log = .silent,
        end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        try await expiry(due, clock: clock, pageSize: pageSize, log: log).notify(end: end)
    }

    func expiry(
        _ due: String, clock: String? = nil, pageSize: Int32? = nil, log: Log = .silent
    ) throws -> Expiry {
        var run = ExpiryRun(
            due: try moment(due), now: try moment(clock ?? due), database: town.pool,
            client: client, catalogue: Town.catalogue,
            zones: PeopleZones(ZoneDatabase()),
            log: log)
        if let pageSize { run.pageSize = pageSize }
        return Expiry(run)
    }

    /// All that people were told, in the order of persons and days.
    func reminded() async throws -> [Reminded] {
        try await town.session.query(
            """
            SELECT person_id, (data -> 'days_left')::bigint AS days_left,
                data ->> 'last_day' AS last_day,
                ARRAY(SELECT jsonb_array_elements_text(data -> 'titles')) AS titles
            FROM notification.notices
            WHERE kind = 'coupon.expiring' AND status IN ('held', 'pending', 'sent')
            ORDER BY person_id, 3, 2 DESC
            """
        ).map { row in
            Reminded(
                try row.int64("person_id"), try row.int64("days_left"), try row.text("last_day"),
                try row.textArray("titles"))
        }
    }

    /// Expects that each notice on its way has one e-mail job, and that there is no other.
    func expectOneJobEach(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let jobs = try await town.session.query(
            """
            SELECT d.notice_id FROM errand.jobs j
            JOIN notification.deliveries d ON d.id = (j.args ->> 'delivery_id')::bigint
            WHERE j.kind = $1 ORDER BY 1
            """, [.text(EmailDelivery.kind)]
        ).map { try $0.int64(0) }
        let notices = try await town.notices().filter { $0.status == "pending" }.map(\.id).sorted()
        #expect(jobs == notices, sourceLocation: sourceLocation)
    }
}
