package import FoundationEssentials
import JobQueue
package import Postgres

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

    package var id: Int64
    package var publicID: String
    package var personID: Int64
    package var kind: String
    package var subject: String
    package var dedupeKey: String
    /// As notification.notice_status has it.
    package var status: String
    package var reason: String?
    package var expiresAt: Instant
    /// The job that recorded or decided it.
    package var jobID: Int64?
    /// The notice as part of which it was told.
    package var mergedInto: Int64?
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
        SELECT id, public_id::text AS public_id, person_id, kind, subject, dedupe_key,
            status::text AS status, reason, created_at, decided_at, expires_at, answered_at,
            hold_until, hold_reason, sender_id, job_id, merged_into,
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
        var story = NoticeStory(
            id: id, publicID: try row.text("public_id"), personID: try row.int64("person_id"),
            kind: try row.text("kind"), subject: try row.text("subject"),
            dedupeKey: try row.text("dedupe_key"), status: try row.text("status"),
            reason: try row.optionalText("reason"), expiresAt: try row.timestamp("expires_at"),
            jobID: try row.optionalInt64("job_id"),
            mergedInto: try row.optionalInt64("merged_into"), steps: [])
        story.steps = try Self.decided(row)
        for delivery in rows[1] { story.steps += try Self.steps(of: delivery) }
        for item in rows[2] {
            story.steps.append(.init(try item.timestamp("created_at"), "put into the inbox"))
            if let read = try item.optionalTimestamp("read_at") {
                story.steps.append(.init(read, "read by the person"))
            }
        }
        if let ended = try row.optionalTimestamp("answered_at"), story.status != "merged" {
            let why = story.reason.map { ": \($0)" } ?? ""
            story.steps.append(.init(ended, "ended as \(story.status)\(why)"))
        }
        story.steps = story.steps.enumerated().sorted {
            ($0.element.at ?? .infinity, $0.offset) < ($1.element.at ?? .infinity, $1.offset)
        }.map(\.element)
        return story
    }

    /// The steps up to the decision.
    private static func decided(_ row: Row) throws -> [NoticeStory.Step] {
        let recorded = try row.timestamp("created_at")
        let sender = try row.optionalInt64("sender_id").map { ", sent by person \($0)" } ?? ""
        var steps = [NoticeStory.Step(recorded, "recorded\(sender)")]
        let decided = try row.optionalTimestamp("decided_at")
        if let why = try row.optionalText("hold_reason") {
            // The time of the first decision is not kept when it is released.
            steps.append(.init(recorded, "held: \(why)"))
        }
        switch try row.text("status") {
        case "intended": steps.append(.init(nil, "waits for its decision"))
        case "held":
            steps.append(.init(try row.optionalTimestamp("hold_until"), "is decided again"))
        case "merged":
            let into = try row.optionalInt64("merged_into").map { "notice \($0)" } ?? "another"
            steps.append(.init(decided, "told as part of \(into)"))
        case "pending", "sent", "failed", "withdrawn":
            let parts = try row.int64Array("parts").map(String.init).joined(separator: ", ")
            let digest = parts.isEmpty ? "" : ", for the notices \(parts)"
            steps.append(.init(decided, "decided to be told\(digest)"))
        default: break
        }
        return steps
    }

    private static func steps(of row: Row) throws -> [NoticeStory.Step] {
        let device = try row.optionalInt64("device_id").map { " to device \($0)" } ?? ""
        let name = "delivery \(try row.int64("id")) by \(try row.text("provider"))\(device)"
        let reply = try row.optionalText("reply").map { ": \($0)" } ?? ""
        let (status, attempts) = (try row.text("status"), try row.int16("attempts"))
        let tries = attempts == 1 ? "1 attempt" : "\(attempts) attempts"
        let ended = try row.optionalTimestamp("answered_at")
        return [
            NoticeStory.Step(try row.timestamp("created_at"), "\(name) begins"),
            NoticeStory.Step(ended, "\(name) is \(status) after \(tries)\(reply)"),
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
    ) async throws -> NoticeDecision? {
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
        return policy.decide(
            kind, person: person, history: facts.history(0, intent), expires: .infinity, now: now)
    }
}
