import Delivery
import FoundationEssentials
package import JobQueue
import Postgres
import Synchronization

/// The kinds of job by which notices leave us: reads many at once, sends them side by side, and
/// writes the answers as they come, so that little is repeated after a crash.
///
/// An answer is written before the job ends: a job that runs again finds its delivery answered.
/// Only a crash between a provider's answer and its record sends twice, under the same id.
package struct Deliveries: Sendable {
    /// Deliveries of one batch.
    static let pushLimit = 64
    static let mailLimit = 8

    private let catalogue: NoticeCatalogue
    private let policy: Policy
    /// By the name of their provider.
    private let channels: [String: any Channel]

    /// Deliveries by the channels that are set up here, by the names in ``Provider``.
    package init(
        _ catalogue: NoticeCatalogue, channels: [String: any Channel], policy: Policy = Policy()
    ) {
        self.catalogue = catalogue
        self.channels = channels
        self.policy = policy
    }

    /// Adds the kinds for which there are channels to those of a program.
    package func add(to kinds: inout JobKinds) {
        if channels[Provider.mail] != nil {
            kinds.handleBatch(EmailDelivery.self, upTo: Self.mailLimit) { try await handle($0) }
        }
        if channels[Provider.apns] != nil || channels[Provider.fcm] != nil {
            kinds.handleBatch(PushDelivery.self, upTo: Self.pushLimit) { try await handle($0) }
        }
    }

    private func handle(_ batch: JobBatch<some DeliveryJob>) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let rows = try await context.database.withSession {
            try await $0.query(
                DeliveryStatements.read, [.int64Array(batch.items.map(\.job.deliveryID).sorted())])
        }
        var found: [Int64: DueDelivery] = [:]
        for row in rows {
            let due = try DueDelivery(row, zones: .shared)
            found[due.id] = due
        }
        for provider in Set(found.values.map(\.provider)).sorted() where channels[provider] == nil {
            context.log.error("\(provider) is not set up here: its deliveries wait")
        }
        let book = AnswerBook(expected: batch.items.count)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, item) in batch.items.enumerated() {
                let due = found[item.job.deliveryID]
                group.addTask { book.add(await answer(due, item.context), at: place) }
            }
            // Not cancelled with the handler: what a provider took must be known as sent.
            let writing = Task { try await book.write(to: context.database, now: context.now) }
            try await group.waitForAll()
            return try await writing.value
        }
    }

    private func answer(_ due: DueDelivery?, _ context: JobContext) async -> DeliveryAnswer {
        guard let due else { return DeliveryAnswer(.discard(reason: "the notice is gone")) }
        guard due.isPending else { return DeliveryAnswer(.done) }
        guard let kind = catalogue.kinds[due.kind] else {
            // Another worker's program may have it.
            let reason = "no notices of kind \(due.kind) are declared here"
            return DeliveryAnswer(.deferred(reason: reason, retryAfter: nil), to: due, context)
        }
        let outgoing: Outgoing
        switch prepare(due, kind, context) {
        case .success(let made): outgoing = made
        case .failure(let obstacle):
            return DeliveryAnswer(
                due, obstacle.status, obstacle.reason,
                obstacle.isOurs
                    ? .dead(reason: obstacle.reason)
                    : .discard(reason: "\(obstacle.status): \(obstacle.reason)"))
        }
        guard let channel = channels[due.provider] else {
            return DeliveryAnswer(
                .unavailable(reason: StrandedDeliveries.reply, retryAfter: .seconds(60)), to: due,
                context)
        }
        let verdict = await channel.send(outgoing)
        return DeliveryAnswer(verdict, to: due, context)
    }

    /// Why a delivery is not sent.
    private struct Obstacle: Error {
        var status: String
        var reason: String
        /// Whether somebody has to mend the program.
        var isOurs = false
    }

    /// Checks again what may have changed since it was decided, and makes the words.
    private func prepare(
        _ due: DueDelivery, _ kind: NoticeKind, _ context: JobContext
    ) -> Result<Outgoing, Obstacle> {
        let now = Instant(date: context.now)
        guard due.expiresAt > now else {
            return .failure(Obstacle(status: "expired", reason: "it was of no more use"))
        }
        if let objection = policy.objection(to: kind, due.person, now) {
            return .failure(Obstacle(status: "withdrawn", reason: objection))
        }
        guard let address = due.address else {
            let reason =
                due.provider == Provider.mail
                ? "there is no address that takes mail" : "the device takes no more of them"
            return .failure(Obstacle(status: "failed", reason: reason))
        }
        do {
            let words = try catalogue.wording.words(
                of: due.kind, on: due.provider == Provider.mail ? .email : .push,
                data: due.data, zone: due.person.zone)
            return .success(
                Outgoing(
                    address: address, id: due.uuid, noticeID: due.publicID, number: due.noticeID,
                    kind: kind, words: words, data: due.data, collapseID: due.collapseID,
                    decidedAt: due.decidedAt.date, expiresAt: due.expiresAt.date))
        } catch {
            return .failure(
                Obstacle(
                    status: "rejected", reason: "it cannot be put into words: \(error)",
                    isOurs: true))
        }
    }
}

/// A delivery as it is read when it is to be made.
struct DueDelivery: Sendable {
    var id: Int64
    var noticeID: Int64
    var publicID: String
    var isPending: Bool
    var provider: String
    var deviceID: Int64?
    var registeredAt: Instant?
    var kind: String
    var data: [UInt8]
    var person: PersonFacts
    var email: String?
    /// Nil when there is none that takes anything.
    var address: Outgoing.Address?
    var uuid: String
    var collapseID: String
    var decidedAt: Instant
    var expiresAt: Instant

    init(_ row: Row, zones: PeopleZones) throws {
        id = try row.int64("id")
        noticeID = try row.int64("notice_id")
        publicID = try row.text("public_id")
        isPending = try row.bool("is_pending")
        provider = try row.text("provider")
        deviceID = try row.optionalInt64("device_id")
        registeredAt = try row.optionalTimestamp("registered_at")
        kind = try row.text("kind")
        data = try row.json("data")
        person = try PersonFacts(consentIn: row, zones: zones)
        email = try row.optionalText("email")
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

    /// The first half of a hash as a UUID of version 8 (RFC 9562, section 5.8).
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
