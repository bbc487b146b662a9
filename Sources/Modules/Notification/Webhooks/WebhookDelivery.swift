package import ErrandCrypto
package import ErrandDelivery
import FoundationEssentials
package import Errand
import ErrandPostgres

/// Sends one event to one endpoint.
///
/// Its arguments hold only the id; URL and secret are read when it runs.
package struct WebhookDelivery: Job {
    package static let kind = "notification.webhook"
    /// About three days of attempts; usually the event expires earlier.
    package static let options = JobOptions(
        queue: "webhooks", maxAttempts: 60, backoff: Backoff(base: 15, ceiling: 7_200),
        timeout: .seconds(120))
    /// The arguments contain neither; this hides them if they are ever added.
    package static let sensitive: Set<String> = ["url", "secret"]
    /// The kind of the event that tests an endpoint.
    package static let test = "webhook.test"

    package var deliveryID: Int64

    package init(deliveryID: Int64) { self.deliveryID = deliveryID }

    enum CodingKeys: String, CodingKey {
        case deliveryID = "delivery_id"
    }
}

/// Handles the jobs that deliver events.
///
/// Reads the deliveries of many jobs together, and writes their results together as they arrive.
package struct Webhooks: Sendable {
    private let client: WebhookClient
    private let keys: SealingKeys
    private let gates = EndpointGates()
    private let reads = DeliveryLoader<DueWebhook> { ids, context in
        let rows = try await context.database.withSession {
            try await $0.query(WebhookStatements.read, [.int64Array(ids)])
        }
        var found: [Int64: DueWebhook] = [:]
        for row in rows {
            let due = try DueWebhook(row)
            found[due.id] = due
        }
        return found
    }
    private let results = DeliveryResultWriter<WebhookAnswer> {
        WebhookAnswer.statements($0, now: $1)
    }

    /// Creates the handler with a client and the keys that open the endpoints' sealed secrets.
    package init(_ client: WebhookClient, keys: SealingKeys) {
        self.client = client
        self.keys = keys
    }

    /// Registers the kind.
    package func add(to kinds: inout JobKinds) {
        kinds.handleWithOutcome(WebhookDelivery.self) { job, context in
            guard let due = try await reads.due(job.deliveryID, in: context) else {
                return .discard(reason: "the event is gone")
            }
            // The first attempt at a failed delivery: an operator has retried the job.
            guard due.isPending || due.hasFailed && context.attempt == 1 else { return .done }
            let answer = await answer(due, context)
            try await results.write(answer, in: context)
            return answer.outcome
        }
    }

    private func answer(_ due: DueWebhook, _ context: JobContext) async -> WebhookAnswer {
        guard let endpoint = due.endpoint else {
            return WebhookAnswer(due, "withdrawn", "the endpoint was removed")
        }
        guard due.expiresAt > Instant(date: context.now) else {
            return WebhookAnswer(due, "expired", due.reply ?? "the event has expired")
        }
        guard !endpoint.isDisabled else {
            return WebhookAnswer(due, "withdrawn", "the endpoint is disabled")
        }
        let secrets: [WebhookSecret]
        do { secrets = try opened(endpoint) } catch {
            return WebhookAnswer(
                .misconfigured(reason: "the secret cannot be opened: \(error)"), to: due, context)
        }
        let message = WebhookMessage(
            id: due.messageID, url: endpoint.url.revealed, body: due.body, secrets: secrets)
        let verdict = await gates.send(to: endpoint.id, isTrial: due.isTest) {
            await client.send(message)
        }
        return WebhookAnswer(verdict, to: due, context)
    }

    private func opened(_ endpoint: DueWebhook.Endpoint) throws -> [WebhookSecret] {
        let context = WebhookEndpoints.context(endpoint.id)
        return try endpoint.sealed.compactMap { sealed in
            WebhookSecret(try keys.open(sealed, context: context))
        }
    }
}

/// A delivery to make, with its event and endpoint.
struct DueWebhook: Sendable {
    struct Endpoint: Sendable {
        var id: Int64
        var url: Secret
        /// The sealed secret; during a rotation, also the previous one.
        var sealed: [[UInt8]]
        var isDisabled: Bool
    }

    var id: Int64
    var isPending: Bool
    var hasFailed: Bool
    var isTest: Bool
    var expiresAt: Instant
    var reply: String?
    /// The id of the message: the same for each attempt at this event and endpoint.
    var messageID: String
    var body: [UInt8]
    /// Nil if it was removed.
    var endpoint: Endpoint?

    init(_ row: Row) throws {
        id = try row.int64("id")
        isPending = try row.bool("is_pending")
        hasFailed = try row.bool("has_failed")
        expiresAt = try row.timestamp("expires_at")
        reply = try row.optionalText("reply")
        messageID = "msg_" + DueDelivery.uuid(try row.bytes("digest"))
        let kind = try row.text("kind")
        isTest = kind == WebhookDelivery.test
        let head = #"{"type":"\#(kind)","timestamp":"\#(try row.timestamp("occurred_at"))","data":"#
        body = Array(head.utf8) + (try row.json("data")) + [UInt8(ascii: "}")]
        guard let secret = try row.optionalBytes("secret") else { return }
        endpoint = Endpoint(
            id: try row.int64("endpoint_id"), url: Secret(try row.text("url")),
            sealed: [secret] + [try row.optionalBytes("previous_secret")].compactMap(\.self),
            isDisabled: try row.bool("is_disabled"))
    }
}
