import Errand
import ErrandNews
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

/// People with and without devices, and what they were sent.
struct NewsGround: Sendable {
    let pool: Pool
    let session: Session
    let kinds: JobKinds
    let catalogue: NoticeCatalogue

    /// Adds people with the ids from 1, known since yesterday.
    ///
    /// Those with odd ids have a device of the app survey. Nobody has quiet hours; their own time
    /// is 10:00.
    init(people: Int = 10) async throws {
        let database = try TestDatabase.here()
        pool = database.pool(8)
        session = database.session()
        catalogue = try .of(AllModules.all.compactMap { $0 as? any NotifyingModule })
        try await AllModules.declareNotices(session)
        var kinds = JobKinds()
        NewsKinds.add(to: &kinds, notices: catalogue)
        self.kinds = kinds
        _ = try await session.query(
            """
            INSERT INTO people.people (id, email, birth_date, age_verified_at, created_at,
                quiet_from, quiet_until)
            SELECT n, 'p' || n || '@example.org', '1990-05-17', now(), now() - interval '1 day',
                NULL, NULL
            FROM generate_series(1, $1) n
            """, [.int64(Int64(people))])
        _ = try await session.query(
            """
            INSERT INTO notification.devices (person_id, app, platform, environment, topic, token)
            SELECT n, 'survey', 'apns', 'production', 'x.y', lpad(to_hex(n), 64, '0')
            FROM generate_series(1, $1, 2) n
            """, [.int64(Int64(people))])
    }

    /// Drafts as an operator does; returns the id.
    @discardableResult
    func draft(
        _ kind: String = "company.news", to audience: String = "all", version: String? = nil,
        people: [Int64]? = nil, headline: String = "Two cities more"
    ) async throws -> Int64 {
        try await changes.draft(
            SendingDraft(
                kind: kind, audience: audience, headline: headline,
                summary: "Halifax and Laval.", body: "We are in two cities more.",
                version: version, people: people))
    }

    var changes: SendingChanges { SendingChanges(session: session, actor: "Olga") }

    func sending(_ id: Int64) async throws -> SendingRecord {
        try #require(try await SendingRows(session: session).sending(id))
    }

    /// Notifies the next people of a sending, as its job does; returns whether it was the last
    /// chunk.
    @discardableResult
    func chunk(_ id: Int64, of size: Int32 = 4, now: Instant = .now()) async throws -> Bool {
        let planner = NoticePlanner(catalogue, client: try await JobClient(pool: pool))
        var fanOut = FanOut(id, database: pool, planner: planner)
        fanOut.chunkSize = size
        return try await fanOut.chunk(now: now.date)
    }

    /// Runs chunks until the last; returns their number.
    @discardableResult
    func sendAll(_ id: Int64, of size: Int32 = 4) async throws -> Int {
        var count = 1
        while try await !chunk(id, of: size) { count += 1 }
        return count
    }

    func work() async throws {
        _ = try await TestWorker.drain(kinds, queues: [.init("news")])
    }

    /// The people who have a notice of a kind that was not dropped, in order.
    func notified(_ kind: String = "company.news") async throws -> [Int64] {
        try await session.query(
            """
            SELECT person_id FROM notification.notices
            WHERE kind = $1 AND status IN ('held', 'pending', 'sent') ORDER BY person_id, id
            """, [.text(kind)]
        ).map { try $0.int64(0) }
    }

    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    func texts(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
        try await session.query(sql, parameters).map { try $0.optionalText(0) ?? "-" }
    }

    func refusal(_ body: () async throws -> Void) async throws -> SendingError? {
        do {
            try await body()
            return nil
        } catch let error as SendingError { return error }
    }
}
