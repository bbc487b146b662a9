package import FoundationEssentials
import Errand
package import ErrandPostgres
import ErrandRecurrence

/// The history of one notice, from the event to the providers' answers.
package struct NoticeHistory: Sendable {
    /// One step of the history.
    package struct Step: Sendable, Equatable {
        /// The time; nil for a future step.
        package var at: Instant?
        /// A text for operators, without addresses and tokens.
        package var text: String

        package init(_ at: Instant?, _ text: String) {
            self.at = at
            self.text = text
        }
    }

    /// One delivery, without address or token.
    package struct Delivery: Sendable {
        package var id: Int64
        package var provider: String
        package var deviceID: Int64?
        /// A value of `notification.delivery_status`.
        package var status: String
        package var attempts: Int
        /// The provider's answer, or why nothing was sent.
        package var reply: String?
        package var createdAt: Instant
        package var answeredAt: Instant?

        fileprivate init(_ row: Row) throws {
            id = try row.int64("id")
            provider = try row.text("provider")
            deviceID = try row.optionalInt64("device_id")
            status = try row.text("status")
            attempts = Int(try row.int16("attempts"))
            reply = try row.optionalText("reply")
            createdAt = try row.timestamp("created_at")
            answeredAt = try row.optionalTimestamp("answered_at")
        }
    }

    package var notice: NoticeRecord
    package var deliveries: [Delivery]
    /// In the order of time, future steps last.
    package var steps: [Step]
}

/// The operators' queries on notices.
package struct Notices: Sendable {
    private let session: Session
    private let catalogue: NoticeCatalogue
    private let zones: PeopleZones
    private let policy: Policy

    package init(
        session: Session, catalogue: NoticeCatalogue, zones: PeopleZones = .shared,
        policy: Policy = Policy()
    ) {
        self.session = session
        self.catalogue = catalogue
        self.zones = zones
        self.policy = policy
    }

    private static let notice = """
        SELECT \(NoticeRecord.columns),
            ARRAY(SELECT m.id FROM notification.notices m WHERE m.merged_into = n.id ORDER BY m.id)
                AS parts
        FROM notification.notices n WHERE id = $1
        """

    private static let deliveries = """
        SELECT d.id, d.provider, d.device_id, d.status::text AS status, d.attempts, d.reply,
            d.created_at, d.answered_at
        FROM notification.deliveries d WHERE d.notice_id = $1 ORDER BY d.id
        """

    private static let item = """
        SELECT created_at, read_at FROM notification.inbox_items WHERE notice_id = $1
        """

    /// Returns the history of a notice; nil if it does not exist.
    package func history(_ id: Int64) async throws -> NoticeHistory? {
        let rows = try await session.pipeline(
            [Self.notice, Self.deliveries, Self.item].map { Statement($0, [.int64(id)]) })
        guard let row = rows[0].first else { return nil }
        let notice = try NoticeRecord(row)
        var history = NoticeHistory(
            notice: notice, deliveries: try rows[1].map(NoticeHistory.Delivery.init),
            steps: Self.decided(notice, parts: try row.int64Array("parts")))
        for delivery in history.deliveries { history.steps += Self.steps(of: delivery) }
        for item in rows[2] {
            history.steps.append(.init(try item.timestamp("created_at"), "added to the inbox"))
            if let read = try item.optionalTimestamp("read_at") {
                history.steps.append(.init(read, "read by the person"))
            }
        }
        if let ended = notice.answeredAt, notice.status != "merged" {
            let why = notice.reason.map { ": \($0)" } ?? ""
            history.steps.append(.init(ended, "ended as \(notice.status)\(why)"))
        }
        history.steps = history.steps.enumerated().sorted {
            ($0.element.at ?? .infinity, $0.offset) < ($1.element.at ?? .infinity, $1.offset)
        }.map(\.element)
        return history
    }

    /// Returns the steps up to the decision.
    private static func decided(_ notice: NoticeRecord, parts: [Int64]) -> [NoticeHistory.Step] {
        let sender = notice.senderID.map { ", sent by person \($0)" } ?? ""
        var steps = [NoticeHistory.Step(notice.createdAt, "recorded\(sender)")]
        if let why = notice.holdReason {
            // The row does not keep the time of the first decision.
            steps.append(.init(notice.createdAt, "held: \(why)"))
        }
        switch notice.status {
        case "intended": steps.append(.init(nil, "awaits a decision"))
        case "held": steps.append(.init(notice.holdUntil, "next decision"))
        case "merged":
            let into = notice.mergedInto.map { "notice \($0)" } ?? "another"
            steps.append(.init(notice.decidedAt, "merged into \(into)"))
        case "pending", "sent", "failed", "withdrawn":
            guard let decided = notice.decidedAt, notice.holdUntil == nil else { break }
            let list = parts.map(String.init).joined(separator: ", ")
            let digest = parts.isEmpty ? "" : ", for the notices \(list)"
            steps.append(.init(decided, "decided to send\(digest)"))
        default: break
        }
        return steps
    }

    private static func steps(of delivery: NoticeHistory.Delivery) -> [NoticeHistory.Step] {
        let device = delivery.deviceID.map { " to device \($0)" } ?? ""
        let name = "delivery \(delivery.id) by \(delivery.provider)\(device)"
        let reply = delivery.reply.map { ": \($0)" } ?? ""
        let tries = delivery.attempts == 1 ? "1 attempt" : "\(delivery.attempts) attempts"
        return [
            NoticeHistory.Step(delivery.createdAt, "\(name) begins"),
            NoticeHistory.Step(
                delivery.answeredAt, "\(name) is \(delivery.status) after \(tries)\(reply)"),
        ]
    }

    /// Returns the policy's decision as of `now` about a new notice to a person; sends nothing.
    ///
    /// - Parameter subject: the subject of the notice; without one, there is no history.
    /// - Returns: nil if the person does not exist.
    /// - Throws: `JobError.invalid` for an undeclared kind.
    package func wouldDo(
        person id: Int64, kind name: String, subject: String = "", from sender: Int64? = nil,
        now: Date
    ) async throws -> NoticeOutlook? {
        guard let kind = catalogue.kinds[name] else {
            let known = catalogue.kinds.keys.sorted().joined(separator: ", ")
            throw JobError.invalid("\(name) is not a declared kind of notice; declared: \(known)")
        }
        let now = Instant(date: now)
        let intent = Intent(
            name, to: id, of: subject, data: [], dedupeKey: "", expiresAt: .infinity, from: sender)
        let rows = try await session.pipeline(
            Facts.statements([intent], kinds: [kind], notices: [], now: now))
        let facts = try Facts([intent], people: rows[0], histories: rows[1], zones: zones)
        guard let person = facts.people[id] else { return nil }
        let decision = policy.decide(
            kind, person: person, history: facts.history(0, intent), expires: .infinity, now: now)
        return NoticeOutlook(
            decision: decision, ways: policy.ways(kind, person), zone: person.zone.name)
    }
}
