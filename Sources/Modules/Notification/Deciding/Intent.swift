package import ErrandPostgres

/// That something happened of which a person may be told.
package struct Intent: Sendable {
    /// The name of a ``NoticeKind``.
    package var kind: String
    package var personID: Int64
    /// What it is about: cooldowns and limits go by it, and on devices a later notice replaces an
    /// earlier one of the same subject.
    package var subject: String
    /// The facts that the kind declares, as a JSON object.
    package var data: [UInt8]
    /// Names the event: the same again changes nothing.
    package var dedupeKey: String
    /// From then on nobody is told any more.
    package var expiresAt: Instant
    /// Who sends a reminder.
    package var senderID: Int64?

    package init(
        _ kind: String, to person: Int64, of subject: String, data: [UInt8], dedupeKey: String,
        expiresAt: Instant, from sender: Int64? = nil
    ) {
        self.kind = kind
        personID = person
        self.subject = subject
        self.data = data
        self.dedupeKey = dedupeKey
        self.expiresAt = expiresAt
        senderID = sender
    }
}

/// What was decided about an intent.
package struct Answer: Sendable, Equatable {
    /// The row that records it; nil for a drop that leaves none.
    package var noticeID: Int64?
    /// Nil when the event was known before: nothing was changed.
    package var decision: NoticeDecision?

    /// Whether the person is told, now or later.
    package var isKept: Bool {
        switch decision {
        case .tell, .hold: true
        case .drop, .expire, .refuse, nil: false
        }
    }

    /// Why the person is not told; nil when they are, or were before.
    package var objection: String? {
        switch decision {
        case .drop(let why), .expire(let why), .refuse(_, let why): why
        case .tell, .hold, nil: nil
        }
    }
}

/// One intent with the kind that it is of, the facts about its person, and what was decided.
struct Ruling: Sendable {
    /// What becomes of it.
    enum Fate: Sendable {
        case decided(NoticeDecision)
        /// Told as part of another, by its place in the list of rulings.
        case merged(into: Int)
    }

    var intent: Intent
    var kind: NoticeKind
    var devices: [PersonFacts.Device]
    var fate: Fate
    /// For the inbox.
    var words: NoticeTemplates.Words?
    /// Once it has a row.
    var noticeID: Int64?
    /// The subjects of which the person is told by it, and how long not again.
    var subjects: [String]
    var cooldown: Duration?
    var mustLeave: Bool

    init(_ intent: Intent, _ kind: NoticeKind, _ decision: NoticeDecision) {
        self.intent = intent
        self.kind = kind
        devices = []
        fate = .decided(decision)
        subjects = [intent.subject]
        cooldown = kind.cooldown
        mustLeave = kind.mustLeave
    }

    /// The channels by which it is told now; none for what is not.
    var channels: [NoticeKind.Channel] {
        if case .decided(.tell(let channels)) = fate { channels } else { [] }
    }

    /// Whether it stands in the inbox of the person's app.
    var hasItem: Bool { words != nil && !channels.isEmpty }

    /// Provider and device of each delivery that it needs.
    var ways: [(provider: String, device: Int64?)] {
        var ways: [(provider: String, device: Int64?)] = []
        for channel in channels {
            switch channel {
            case .push: ways += devices.map { ($0.platform, $0.id) }
            case .email: ways.append((Provider.mail, nil))
            case .inbox: break
            }
        }
        return ways
    }
}

/// Those who carry notices, as the table of deliveries calls them.
///
/// Each has a queue of its name.
package enum Provider {
    package static let mail = "mail"
    package static let apns = "apns"
    package static let fcm = "fcm"
}
