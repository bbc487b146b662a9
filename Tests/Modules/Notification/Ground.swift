import ErrandAdministration
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import Synchronization
import ErrandTestServices
import Testing

/// Kinds of notice for these tests, each for one rule.
enum TestNotices {
    static let code = made(
        NoticeKind("t.code", app: .account, channels: [.push, .email], fields: ["title": .text])
    ) { $0.urgency = .urgent }
    static let news = made(
        NoticeKind("t.news", app: .places, channels: [.inbox], fields: ["title": .text])
    ) { $0.urgency = .promotional }
    static let note = made(
        NoticeKind(
            "t.note", app: .household, channels: [.push, .email, .inbox], fields: ["title": .text])
    ) {
        $0.mergesHeld = true
        $0.listedInDigest = "title"
    }
    static let nudge = made(
        NoticeKind("t.nudge", app: .household, channels: [.inbox], fields: ["title": .text])
    ) { $0.isReminder = true }
    static let near = made(
        NoticeKind("t.near", app: .survey, channels: [.push], fields: ["title": .text])
    ) {
        $0.needsLocationConsent = true
        $0.cooldown = .seconds(86_400)
    }

    static let pin = made(
        NoticeKind(
            "t.pin", app: .account, channels: [.push, .email],
            fields: ["title": .text, "pin": .text])
    ) {
        $0.urgency = .urgent
        $0.secrets = ["pin"]
    }

    static let catalogue = NoticeCatalogue(
        [code, news, note, nudge, near, pin], wording: PlainWording())
}

/// `kind by channel: title`, for tests.
struct PlainWording: Wording {
    private struct Facts: Decodable {
        var title: String?
        var items: [String]?
        var count: Int?
        var pin: String?
    }

    struct Missing: Error, CustomStringConvertible {
        var description: String { "there is no title" }
    }

    func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], locale: String,
        zone: Zone?, unsubscribe: String?
    ) throws -> NoticeTemplates.Rendered {
        let facts = try JSONDecoder().decode(Facts.self, from: Data(data))
        guard let title = facts.title ?? facts.items.map({ "\($0)" }) else { throw Missing() }
        let text = "\(kind) by \(channel.rawValue)\(facts.pin.map { ": \($0)" } ?? "")"
        return NoticeTemplates.Rendered(
            title: title, text: unsubscribe.map { "\(text), not at \($0)" } ?? text)
    }
}

/// Says what the test wants it to say, and keeps what it was given.
final class ScriptedChannel: Channel {
    private let answers: Mutex<[DeliveryVerdict]>
    let sent = Notebook<OutboundMessage>()

    /// The verdicts in turn; the last one again and again.
    init(_ answers: DeliveryVerdict...) { self.answers = Mutex(answers) }

    func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
        sent.add(outgoing)
        return answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
}

/// People and what they are told, in the database of the running test.
struct Ground {
    let session: Session
    let pool: Pool
    let client: JobClient
    let planner: NoticePlanner

    /// A summer's noon, UTC, in 2098: what is held until a later hour is not due by the clock.
    static let noon = Date(timeIntervalSince1970: 4_053_672_000)

    init() async throws {
        session = try TestDatabase.here().session()
        pool = try TestDatabase.here().pool()
        client = try await JobClient(pool: pool, redis: TestDatabase.here().redis)
        planner = NoticePlanner(
            TestNotices.catalogue, client: client, zones: PeopleZones(ZoneDatabase()))
        _ = try await session.query(TestNotices.catalogue.declaration())
    }

    func run(_ sql: String, _ parameters: [Parameter] = []) async throws {
        _ = try await session.query(sql, parameters)
    }

    /// Declares a kind without facts, as another program does.
    func declare(_ kind: String) async throws {
        try await run(
            """
            INSERT INTO notification.kinds (kind, app, urgency, channels, facts, secrets)
            VALUES ($1, 'account', 'normal', '{inbox}', '{}', '{}')
            """, [.text(kind)])
    }

    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    /// The first column of all rows.
    func texts(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
        try await session.query(sql, parameters).map { try $0.optionalText(0) ?? "-" }
    }

    /// Somebody who can be told everything, at any hour unless quiet hours are given.
    func person(
        email: String? = "ada@example.org", quiet: (from: String, until: String)? = nil
    ) async throws -> Int64 {
        try await number(
            """
            INSERT INTO people.people (email, birth_date, age_verified_at,
                location_consent_at, quiet_from, quiet_until)
            VALUES ($1, '1990-05-17', '2026-01-01Z', '2026-01-01Z', $2::text::time,
                $3::text::time)
            RETURNING id
            """, [.optional(email), .optional(quiet?.from), .optional(quiet?.until)])
    }

    @discardableResult
    func device(
        of person: Int64, _ token: String, app: String = "household", platform: String = "fcm"
    ) async throws -> Int64 {
        try await number(
            "SELECT notification.register_device($1, $2, $3, $4, 'org.example.app')",
            [.int64(person), .text(app), .text(platform), .text(token)])
    }

    func intent(
        _ kind: NoticeKind, _ person: Int64, of subject: String = "subject", key: String? = nil,
        expires: Instant = Instant(date: noon.addingTimeInterval(200 * 86_400)),
        from sender: Int64? = nil
    ) -> Intent {
        Intent(
            kind.name, to: person, of: subject, data: [UInt8](#"{"title":"\#(subject)"}"#.utf8),
            dedupeKey: key ?? UUID().uuidString, expiresAt: expires, from: sender)
    }

    @discardableResult
    func notify(_ intents: Intent..., now: Date = noon) async throws -> [Answer] {
        try await notify(all: intents, now: now)
    }

    @discardableResult
    func notify(all intents: [Intent], now: Date = noon) async throws -> [Answer] {
        try await pool.transaction { try await planner.notify(intents, now: now, in: $0) }
    }

    /// Decides again as of a time about all that is recorded or held.
    func decide(now: Date) async throws {
        let ids = try await session.query(
            "SELECT id FROM notification.notices WHERE status IN ('held', 'intended')"
        ).map { try $0.int64(0) }
        _ = try await pool.transaction { try await planner.decide(ids, now: now, in: $0) }
    }

    /// Decides now about all that is recorded, as a program with these kinds does.
    func decide(by catalogue: NoticeCatalogue) async throws {
        let ids = try await session.query(
            "SELECT id FROM notification.notices WHERE status = 'intended'"
        ).map { try $0.int64(0) }
        let planner = NoticePlanner(
            catalogue, client: client, zones: PeopleZones(ZoneDatabase()))
        _ = try await pool.transaction {
            try await planner.decide(ids, now: Date(), in: $0)
        }
    }

    /// Statuses in the order of the notices.
    func statuses() async throws -> [String] {
        try await texts("SELECT status::text FROM notification.notices ORDER BY id")
    }

    func reasons() async throws -> [String] {
        try await texts("SELECT reason FROM notification.notices ORDER BY id")
    }

    /// The status of each delivery and its notice, its attempts, and what its provider said.
    func answers() async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', n.status, d.status, d.attempts, d.reply)
            FROM notification.deliveries d JOIN notification.notices n ON n.id = d.notice_id
            ORDER BY d.id
            """)
    }

    /// How jobs have ended, and those that have not.
    func jobs() async throws -> [String] {
        try await texts(
            """
            SELECT outcome::text FROM errand.finished_jobs
            UNION ALL SELECT 'waiting ' || attempt FROM errand.jobs
            """)
    }

    /// Makes all deliveries that are due by channels, and decides.
    @discardableResult
    func deliver(
        _ channels: [String: any Channel], unsubscribePage: UnsubscribePage? = nil,
        log: Log = .silent
    ) async throws -> WorkerSummary {
        var kinds = JobKinds()
        NoticeDecisionJobs(TestNotices.catalogue).add(to: &kinds)
        Deliveries(TestNotices.catalogue, channels: channels, unsubscribePage: unsubscribePage)
            .add(to: &kinds)
        DirectMails(TestNotices.catalogue, by: channels[Provider.mail]).add(to: &kinds)
        return try await TestWorker.drain(
            kinds, queues: ["notices", "apns", "fcm", "mail"].map { .init($0) }, log: log)
    }

    /// Lets a job that waits for its next attempt make it now.
    func hurry() async throws {
        let waiting = try await session.query(
            "SELECT id FROM errand.jobs WHERE kind LIKE 'notification.%'"
        ).map { try $0.int64(0) }
        _ = try await Inspector(session: session).retry(waiting)
        try await run("UPDATE errand.jobs SET run_at = clock_timestamp() WHERE run_at > now()")
    }
}
