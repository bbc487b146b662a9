import ErrandCrypto
import Foundation
import Errand
import ErrandKeys
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import ErrandSurveys
import ErrandTestServices
import Testing

/// What people were told of surveys that expire.
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

/// Establishments 1 to 5, each with a branch of the same id, and the jobs of surveys.
struct SurveyJobGround: Sendable {
    let pool: Pool
    let session: Session
    let keys: SealingKeys
    let kinds: JobKinds
    private let client: JobClient
    private let catalogue: NoticeCatalogue

    init() async throws {
        let database = try TestDatabase.here()
        pool = database.pool()
        session = database.session()
        keys = try SealingKeys(current: SealingKey(id: UUID().uuidString, secret: .random(32)))
        client = try await JobClient(pool: pool)
        catalogue = try .of([SurveysModule()])
        var kinds = JobKinds()
        SurveyKinds.add(to: &kinds, notices: catalogue, sealing: keys)
        self.kinds = kinds
        try await session.script(
            """
            INSERT INTO establishments.establishments (id, name)
            SELECT n, 'Cafe ' || n FROM generate_series(1, 5) AS n;
            INSERT INTO establishments.branches (id, establishment_id, name, place)
            SELECT n, n, 'Branch ' || n, st_setsrid(st_makepoint(-73.6, 45.5), 4326)::geography
            FROM generate_series(1, 5) AS n
            """)
    }

    // MARK: Filling

    /// A person of age, without quiet hours: tests run at night, too.
    func person(in zone: String = "America/Toronto", noticed: String = "10:00") async throws
        -> Int64
    {
        try await number(
            """
            INSERT INTO people.people (email, birth_date, age_verified_at, time_zone, notice_time,
                quiet_from, quiet_until)
            VALUES ('ada@example.org', '1990-05-17', '2026-01-01Z', '\(zone)', '\(noticed)', NULL,
                NULL)
            RETURNING id
            """)
    }

    /// A survey of an establishment for its receipts, with a rating and a text.
    func survey(
        _ id: Int64, of establishment: Int64 = 1, _ title: String = "Your visit",
        forReceipts: Bool = true
    ) async throws {
        _ = try await session.query(
            """
            SELECT surveys.put_survey($1, $2, $3, 2, 14, 500, 300, 'CAD',
                questions => '[{"kind": "rating", "label": "Service", "is_required": true},
                    {"kind": "text", "label": "Why?", "is_required": true}]',
                for_receipts => $4)
            """,
            [.int64(id), .int64(establishment), .text(title), .bool(forReceipts)])
    }

    /// An open invitation that ends at a time, to a survey titled by this time; its id.
    func invitation(
        of person: Int64, until time: String, invited: String = "2026-01-01T00:00:00Z"
    ) async throws -> Int64 {
        let survey = try await number("SELECT coalesce(max(id), 0) + 1 FROM surveys.surveys")
        try await self.survey(survey, time, forReceipts: false)
        return try await session.query(
            """
            INSERT INTO surveys.invitations (survey_id, version, establishment_id, person_id,
                source, purchased_at, invited_at, expires_at)
            VALUES ($1, 1, 1, $2, 'test', $3::text::timestamptz, $3::text::timestamptz,
                $4::text::timestamptz)
            RETURNING id
            """, [.int64(survey), .int64(person), .text(invited), .text(time)]
        ).int64(0, 0)
    }

    /// A person with open invitations that end at the times.
    func person(
        in zone: String = "America/Toronto", expiring times: String...
    ) async throws -> Int64 {
        let person = try await person(in: zone)
        for time in times { _ = try await invitation(of: person, until: time) }
        return person
    }

    // MARK: Working

    /// One run of the reminders for a time; by a clock that shows the same, unless told otherwise.
    @discardableResult
    func remind(
        _ due: String, clock: String? = nil, pageSize: Int32? = nil,
        end: @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Int {
        var run = ExpiryRun(
            due: try moment(due), now: try moment(clock ?? due), database: pool, client: client,
            catalogue: catalogue, zones: PeopleZones(ZoneDatabase()), log: .silent)
        if let pageSize { run.pageSize = pageSize }
        return try await SurveyReminders(run).notify(end: end)
    }

    /// Makes, opens and deletes keys.
    @discardableResult
    func prepare(by other: SealingKeys? = nil) async throws -> PreparedKeys {
        try await ReceiptKeyPool(sealing: other ?? keys, log: .silent).run(in: pool)
    }

    @discardableResult
    func rotate(_ establishment: Int64, hasLeaked: Bool = false) async throws -> Int? {
        let keys = ReceiptKeyPool(sealing: keys, log: .silent)
        return try await pool.transaction { transaction in
            try await keys.rotate(establishment, hasLeaked: hasLeaked, in: transaction)
        }
    }

    /// The code of a receipt of now, signed with the current key.
    func code(of establishment: Int64, _ number: String) async throws -> String {
        let found = try #require(
            try await ReceiptKeyRecord.current(
                of: establishment, by: session, opening: keys))
        let now = try await self.number("SELECT extract(epoch FROM now())::bigint")
        return Receipt(
            establishmentID: establishment, branchID: establishment, number: number,
            purchasedAt: now
        ).text(signedWith: found.key)
    }

    /// Scans a code, and returns the reason.
    func scan(_ code: String, by person: Int64) async throws -> String {
        try await session.query(
            "SELECT reason FROM surveys.scan($1, $2, $3)",
            [.int64(person), .text(code), .text(UUID().uuidString)]
        ).text(0, 0)
    }

    /// Lets a worker do all that is due.
    func work() async throws {
        _ = try await TestWorker.drain(kinds, queues: [.init("surveys", concurrency: 3)])
    }

    // MARK: Looking

    func number(_ sql: String) async throws -> Int64 {
        try await session.query(sql).int64(0, 0)
    }

    func texts(_ sql: String) async throws -> [String] {
        try await session.query(sql).map { try $0.text(0) }
    }

    /// All that people were told, in the order of persons and days.
    func reminded() async throws -> [Reminded] {
        try await session.query(
            """
            SELECT person_id, (data -> 'days_left')::bigint AS days_left,
                data ->> 'last_day' AS last_day,
                ARRAY(SELECT jsonb_array_elements_text(data -> 'titles')) AS titles
            FROM notification.notices
            WHERE kind = 'survey.expiring' AND status IN ('held', 'pending', 'sent')
            ORDER BY person_id, 3, 2 DESC
            """
        ).map { row in
            Reminded(
                try row.int64("person_id"), try row.int64("days_left"), try row.text("last_day"),
                try row.textArray("titles"))
        }
    }
}

/// A moment as RFC 3339.
func moment(_ text: String) throws -> Date {
    try #require(Instant(text), "\(text) is no time").date
}
