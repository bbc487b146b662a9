import ErrandDelivery
import FoundationEssentials
package import Errand
import ErrandPostgres
import Synchronization

/// Handles the jobs that deliver notices.
///
/// Reads the deliveries of many jobs together, and writes their results together as they arrive.
///
/// A result is written before its job ends, so a job that runs again finds it. Only a crash
/// between a provider's answer and its record sends a notice twice, under the same id. The number
/// of such notices is limited by the queue's concurrency. Retrying a dead job reopens its delivery.
package struct Deliveries: Sendable {
    private let catalogue: NoticeCatalogue
    private let policy: Policy
    /// The channels by provider.
    private let channels: [String: any Channel]
    private let unsubscribePage: UnsubscribePage?
    private let reads: DeliveryLoader<DueDelivery>
    private let results: DeliveryResultWriter<DeliveryAnswer>
    private let throttle = LogThrottle()

    /// Creates the handlers for the channels that are set up here.
    ///
    /// - Parameters:
    ///   - channels: by the names in ``Provider``.
    ///   - unsubscribePage: the page for unsubscribe links; nil for mails without a link.
    package init(
        _ catalogue: NoticeCatalogue, channels: [String: any Channel],
        unsubscribePage: UnsubscribePage? = nil, policy: Policy = Policy()
    ) {
        self.catalogue = catalogue
        self.unsubscribePage = unsubscribePage
        self.channels = channels
        self.policy = policy
        reads = DeliveryLoader { ids, context in
            let rows = try await context.database.withSession {
                try await $0.query(DeliveryStatements.read, [.int64Array(ids)])
            }
            let found = try rows.map { try DueDelivery($0, zones: .shared) }
            return Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0) })
        }
        let bounceLimit = policy.bounceLimit
        results = DeliveryResultWriter {
            DeliveryAnswer.statements($0, now: $1, bounceLimit: bounceLimit)
        }
    }

    /// Registers the kinds that have channels.
    package func add(to kinds: inout JobKinds) {
        if channels[Provider.mail] != nil {
            kinds.handleWithOutcome(EmailDelivery.self) { try await handle($0, $1) }
        }
        if channels[Provider.apns] != nil || channels[Provider.fcm] != nil {
            kinds.handleWithOutcome(PushDelivery.self) { try await handle($0, $1) }
        }
    }

    private func handle(_ job: some DeliveryJob, _ context: JobContext) async throws -> Outcome {
        guard var due = try await reads.due(job.deliveryID, in: context) else {
            return .discard(reason: "the notice is gone")
        }
        // The first attempt at an ended delivery: an operator has retried the job.
        if context.attempt == 1, due.mayReopen {
            let reopened = due
            try await context.database.transaction { transaction in
                _ = try await transaction.pipeline([
                    Statement(DeliveryStatements.lockNotices, [.int64Array([reopened.noticeID])]),
                    Statement(DeliveryStatements.reopen, [.int64Array([reopened.id])]),
                ])
            }
            due.isPending = true
        }
        guard due.isPending else { return .done }
        let answer = await answer(due, context)
        try await results.write(answer, in: context)
        return answer.outcome
    }

    private func answer(_ due: DueDelivery, _ context: JobContext) async -> DeliveryAnswer {
        guard let kind = catalogue.kinds[due.kind] else {
            // Another worker's program may have it.
            let reason = "notice kind \(due.kind) is not declared here"
            return DeliveryAnswer(.deferred(reason: reason, retryAfter: nil), to: due, context)
        }
        let outgoing: OutboundMessage
        switch prepare(due, kind, context) {
        case .success(let made): outgoing = made
        case .failure(let blocker):
            return DeliveryAnswer(
                due, blocker.status, blocker.reason,
                blocker.isOurs
                    ? .dead(reason: blocker.reason)
                    : .discard(reason: "\(blocker.status): \(blocker.reason)"))
        }
        guard let channel = channels[due.provider] else {
            throttle.warn(
                context.log, "\(due.provider) is not set up here: its deliveries wait")
            return DeliveryAnswer(
                .unavailable(reason: StrandedDeliveries.reply, retryAfter: .seconds(60)), to: due,
                context)
        }
        // Servers may quote what they refuse.
        let verdict = NoticeSecrets.hidden(due.secrets, in: await channel.send(outgoing))
        return DeliveryAnswer(verdict, to: due, context)
    }

    /// Why a delivery is not sent.
    private struct DeliveryBlocker: Error {
        var status: String
        var reason: String
        /// Whether the program must be fixed.
        var isOurs = false
    }

    /// Checks the facts that may have changed since the decision, and renders the notice.
    private func prepare(
        _ due: DueDelivery, _ kind: NoticeKind, _ context: JobContext
    ) -> Result<OutboundMessage, DeliveryBlocker> {
        let now = Instant(date: context.now)
        guard due.expiresAt > now else {
            return .failure(DeliveryBlocker(status: "expired", reason: "the notice has expired"))
        }
        let channel: NoticeKind.Channel = due.provider == Provider.mail ? .email : .push
        if let objection = policy.objection(to: kind, by: channel, due.person, now) {
            return .failure(DeliveryBlocker(status: "withdrawn", reason: objection))
        }
        guard let address = due.address else {
            let reason =
                channel == .email
                ? "there is no address that takes mail"
                : "the device is disabled or has another owner"
            return .failure(DeliveryBlocker(status: "failed", reason: reason))
        }
        guard !due.lacksSecrets else {
            return .failure(DeliveryBlocker(status: "failed", reason: NoticeSecrets.gone))
        }
        let link = unsubscribePage.flatMap { $0.link(for: kind, token: due.unsubscribeToken) }
        do {
            let words = try catalogue.wording.words(
                of: due.kind, on: channel, data: due.allFacts, zone: due.person.zone,
                unsubscribe: link?.url)
            return .success(
                OutboundMessage(
                    address: address, id: due.uuid, noticeID: due.publicID, number: due.noticeID,
                    kind: kind, subject: due.subject, words: words, unsubscribe: link,
                    data: due.data,
                    collapseID: due.collapseID,
                    decidedAt: due.decidedAt.date, expiresAt: due.expiresAt.date))
        } catch {
            return .failure(
                DeliveryBlocker(
                    status: "rejected", reason: "cannot render the notice: \(error)",
                    isOurs: true))
        }
    }
}

/// A delivery to make, with its notice, person and address.
struct DueDelivery: Sendable {
    var id: Int64
    var noticeID: Int64
    var publicID: String
    var isPending: Bool
    /// Whether the delivery ended with its job, so that retrying the job reopens it.
    var mayReopen: Bool
    var provider: String
    var deviceID: Int64?
    var registeredAt: Instant?
    var kind: String
    var subject: String
    var data: [UInt8]
    /// The data with the secret facts.
    var allFacts: [UInt8]
    /// The secret facts; nil for none, or once they are deleted.
    var secrets: [UInt8]?
    /// Whether its secret facts are gone.
    var lacksSecrets: Bool
    var person: PersonFacts
    var email: String?
    /// The person's token; mails only.
    var unsubscribeToken: String?
    /// Nil if the address or device is missing or disabled.
    var address: OutboundMessage.Address?
    var uuid: String
    var collapseID: String
    var decidedAt: Instant
    var expiresAt: Instant

    init(_ row: Row, zones: PeopleZones) throws {
        id = try row.int64("id")
        noticeID = try row.int64("notice_id")
        publicID = try row.text("public_id")
        isPending = try row.bool("is_pending")
        mayReopen = try row.bool("may_reopen")
        provider = try row.text("provider")
        deviceID = try row.optionalInt64("device_id")
        registeredAt = try row.optionalTimestamp("registered_at")
        kind = try row.text("kind")
        subject = try row.text("subject")
        data = try row.json("data")
        allFacts = try row.optionalJSON("all_facts") ?? data
        secrets = try row.optionalJSON("secrets")
        lacksSecrets = try row.bool("has_secrets") && secrets == nil
        person = try PersonFacts(consentIn: row, zones: zones)
        email = try row.optionalText("email")
        unsubscribeToken = try row.optionalText("unsubscribe_token")
        collapseID = try row.text("collapse_id")
        decidedAt = try row.timestamp("decided_at")
        expiresAt = try row.timestamp("expires_at")
        uuid = Self.uuid(try row.bytes("digest"))
        if provider == Provider.mail {
            address = email.map { .mail($0) }
        } else if try row.optionalBool("takes_pushes") ?? false {
            address = .device(
                token: try row.text("token"), topic: try row.text("topic"),
                environment: try row.text("environment"))
        }
    }

    /// Returns the first half of a hash as a UUID of version 8 (RFC 9562, section 5.8).
    static func uuid(_ hash: [UInt8]) -> String {
        var bytes = Array(hash.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef")
        var text = ""
        for (place, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(place) { text.append("-") }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return text
    }
}
