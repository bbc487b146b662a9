package import ErrandPostgres

/// An event of which a person may be notified.
package struct Intent: Sendable {
    /// The name of a ``NoticeKind``.
    package var kind: String
    package var personID: Int64
    /// The subject: the key of cooldowns and limits.
    ///
    /// On devices, a notice replaces an earlier one of the same subject.
    package var subject: String
    /// The facts that the kind declares, as a JSON object.
    package var data: [UInt8]
    /// The key of the event: recording it again changes nothing.
    package var dedupeKey: String
    /// The time from which on the notice is not delivered.
    package var expiresAt: Instant
    /// The sender of a reminder.
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

/// The decision about an intent.
package struct Answer: Sendable, Equatable {
    /// The id of its row; nil for a drop without a row.
    package var noticeID: Int64?
    /// Nil if the event was already recorded: nothing changed.
    package var decision: NoticeDecision?

    /// Whether the person is notified, now or later.
    package var isKept: Bool {
        switch decision {
        case .send, .hold: true
        case .drop, .expire, .refuse, nil: false
        }
    }

    /// Why the person is not notified; nil if they are, or were before.
    package var objection: String? {
        switch decision {
        case .drop(let why), .expire(let why), .refuse(_, let why): why
        case .send, .hold, nil: nil
        }
    }
}

/// An intent with its kind, the devices of its person, and the decision.
struct NoticePlan: Sendable {
    /// The result of the planning.
    enum Fate: Sendable {
        case decided(NoticeDecision)
        /// Merged into a digest, given by its position in the list of digests.
        case merged(into: Int)
    }

    var intent: Intent
    var kind: NoticeKind
    var devices: [PersonFacts.Device]
    var fate: Fate
    /// The text for the inbox.
    var words: NoticeTemplates.Rendered?
    /// The id of its row, once inserted.
    var noticeID: Int64?
    /// The subjects of the notice, each with its cooldown.
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

    /// The channels by which it is sent now; empty if it is not.
    var channels: [NoticeKind.Channel] {
        if case .decided(.send(let channels)) = fate { channels } else { [] }
    }

    /// Whether it gets an item in the inbox.
    var hasItem: Bool { words != nil && !channels.isEmpty }

    /// The provider and device of each delivery.
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

/// The providers, as named in the table of deliveries.
///
/// Each has a queue with its name.
package enum Provider {
    package static let mail = "mail"
    package static let apns = "apns"
    package static let fcm = "fcm"
}
