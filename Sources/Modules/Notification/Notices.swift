package import FoundationEssentials
import Errand
package import ErrandPostgres
import ErrandRecurrence

/// The whole story of one notice, from the event to the providers' answers.
package struct NoticeStory: Sendable {
    /// One step of it.
    package struct Step: Sendable, Equatable {
        /// Nil for what has not happened yet.
        package var at: Instant?
        /// In words for an operator, without addresses and tokens.
        package var text: String

        package init(_ at: Instant?, _ text: String) {
            self.at = at
            self.text = text
        }
    }

    /// One way that it takes, without address or token.
    package struct Delivery: Sendable {
        package var id: Int64
        package var provider: String
        package var deviceID: Int64?
        /// As notification.delivery_status has it.
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
    /// In the order of time, what is still to come last.
    package var steps: [Step]
}

/// What operators ask about notices.
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

    /// Everything that is known of a notice; nil when there is none of that id.
    package func story(_ id: Int64) async throws -> NoticeStory? {
        let rows = try await session.pipeline(
            [Self.notice, Self.deliveries, Self.item].map { Statement($0, [.int64(id)]) })
        guard let row = rows[0].first else { return nil }
        let notice = try NoticeRecord(row)
        var story = NoticeStory(
            notice: notice, deliveries: try rows[1].map(NoticeStory.Delivery.init),
            steps: Self.decided(notice, parts: try row.int64Array("parts")))
        for delivery in story.deliveries { story.steps += Self.steps(of: delivery) }
        for item in rows[2] {
            story.steps.append(.init(try item.timestamp("created_at"), "put into the inbox"))
            if let read = try item.optionalTimestamp("read_at") {
                story.steps.append(.init(read, "read by the person"))
            }
        }
        if let ended = notice.answeredAt, notice.status != "merged" {
            let why = notice.reason.map { ": \($0)" } ?? ""
            story.steps.append(.init(ended, "ended as \(notice.status)\(why)"))
        }
        story.steps = story.steps.enumerated().sorted {
            ($0.element.at ?? .infinity, $0.offset) < ($1.element.at ?? .infinity, $1.offset)
        }.map(\.element)
        return story
    }

    /// The steps up to the decision.
    private static func decided(_ notice: NoticeRecord, parts: [Int64]) -> [NoticeStory.Step] {
        let sender = notice.senderID.map { ", sent by person \($0)" } ?? ""
        var steps = [NoticeStory.Step(notice.createdAt, "recorded\(sender)")]
        if let why = notice.holdReason {
            // The time of the first decision is not kept when it is released.
            steps.append(.init(notice.createdAt, "held: \(why)"))
        }
        switch notice.status {
        case "intended": steps.append(.init(nil, "waits for its decision"))
        case "held": steps.append(.init(notice.holdUntil, "is decided again"))
        case "merged":
            let into = notice.mergedInto.map { "notice \($0)" } ?? "another"
            steps.append(.init(notice.decidedAt, "told as part of \(into)"))
        case "pending", "sent", "failed", "withdrawn":
            guard let decided = notice.decidedAt, notice.holdUntil == nil else { break }
            let list = parts.map(String.init).joined(separator: ", ")
            let digest = parts.isEmpty ? "" : ", for the notices \(list)"
            steps.append(.init(decided, "decided to be told\(digest)"))
        default: break
        }
        return steps
    }

    private static func steps(of delivery: NoticeStory.Delivery) -> [NoticeStory.Step] {
        let device = delivery.deviceID.map { " to device \($0)" } ?? ""
        let name = "delivery \(delivery.id) by \(delivery.provider)\(device)"
        let reply = delivery.reply.map { ": \($0)" } ?? ""
        let tries = delivery.attempts == 1 ? "1 attempt" : "\(delivery.attempts) attempts"
        return [
            NoticeStory.Step(delivery.createdAt, "\(name) begins"),
            NoticeStory.Step(
                delivery.answeredAt, "\(name) is \(delivery.status) after \(tries)\(reply)"),
        ]
    }

    /// What would be decided as of `now` about a new notice of a kind for a person, without
    /// telling anybody.
    ///
    /// - Parameter subject: what it would be about; without one, nothing was told of it before.
    /// - Returns: nil when there is no such person.
    /// - Throws: `JobError.invalid` for a kind that is not declared.
    package func wouldDo(
        person id: Int64, kind name: String, subject: String = "", from sender: Int64? = nil,
        now: Date
    ) async throws -> NoticeOutlook? {
        guard let kind = catalogue.kinds[name] else {
            let known = catalogue.kinds.keys.sorted().joined(separator: ", ")
            throw JobError.invalid("\(name) is no declared kind of notice; these are: \(known)")
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
