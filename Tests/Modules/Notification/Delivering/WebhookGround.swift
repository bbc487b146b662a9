import ErrandCrypto
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices

/// Endpoints on a push sink, and what is sent to them, in the database of the running test.
struct WebhookGround {
    let ground: Ground
    let sink: PushSink
    let keys: SealingKeys
    let endpoints: WebhookEndpoints
    static let owner = "establishment:7"

    init(_ sink: PushSink) async throws {
        ground = try await Ground()
        self.sink = sink
        keys = try SealingKeys(current: SealingKey(id: "test", secret: .random(32)))
        endpoints = WebhookEndpoints(session: ground.session)
    }

    static let author = WebhookEndpoints.Author("tester", reason: nil)

    @discardableResult
    func add(
        _ path: String = "/hook/1", events: [String] = ["*"], owner: String = owner
    ) async throws -> (id: Int64, secret: String) {
        try await endpoints.add(
            owner: owner, url: Secret(sink.url + path), events: events, keys: keys,
            by: Self.author)
    }

    /// Emits an event; its number names it.
    @discardableResult
    func emit(
        _ number: Int = 1, kind: String = "coupon.redeemed", owner: String = owner
    ) async throws -> Int64? {
        try await ground.session.query(
            "SELECT notification.emit($1, $2, jsonb_build_object('n', $3::bigint), $4)",
            [.text(kind), .text(owner), .int64(Int64(number)), .text("event:\(number)")]
        ).first?.optionalInt64(0)
    }

    func kinds(
        limit: Duration = .seconds(20), isOpen: Bool = true, keys: SealingKeys? = nil
    ) -> JobKinds {
        var settings = WebhookSettings()
        settings.authorityFile = sink.credentials.authority
        settings.allowsPrivateAddresses = isOpen
        settings.requestLimit = limit
        var kinds = JobKinds()
        Webhooks(WebhookClient(settings), keys: keys ?? self.keys).add(to: &kinds)
        return kinds
    }

    /// Makes all deliveries that are due.
    @discardableResult
    func deliver(
        limit: Duration = .seconds(20), isOpen: Bool = true, keys: SealingKeys? = nil,
        log: Log = .silent
    ) async throws -> WorkerSummary {
        try await TestWorker.drain(
            kinds(limit: limit, isOpen: isOpen, keys: keys), queues: [.init("webhooks")], log: log)
    }

    /// Status, attempts and answer of each delivery.
    func rows() async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', status, attempts, reply) FROM notification.event_deliveries
            ORDER BY id
            """)
    }

    /// How each job ended, or that it waits.
    func jobs() async throws -> [String] {
        try await ground.texts(
            """
            SELECT outcome::text FROM errand.finished_jobs
            UNION ALL SELECT 'waiting ' || attempt FROM errand.jobs
            """)
    }

    /// Whether the endpoint is enabled, failing, or why it is disabled.
    func standing(_ id: Int64) async throws -> String {
        let endpoint = try await endpoints.one(id)
        return endpoint?.disabledReason ?? (endpoint?.failingSince == nil ? "enabled" : "failing")
    }
}

/// Runs a sink with these rules, and endpoints on it.
func withWebhooks(
    _ rules: String..., body: (WebhookGround) async throws -> Void
) async throws {
    try await withPushSink(rules) { sink in try await body(WebhookGround(sink)) }
}
