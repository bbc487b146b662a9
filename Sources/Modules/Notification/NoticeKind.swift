/// One kind of thing that people are told, as the domain that tells it declares it.
///
/// The domain says what happened and what these facts are called; whether, when and how a person
/// hears of it is the business of the policy.
package struct NoticeKind: Sendable, Equatable {
    /// The app whose users are told; a module names its own.
    package struct App: Sendable, Equatable {
        /// As devices are registered with.
        package let name: String
        /// Whether its users are told nothing until their age was verified, and is enough.
        package let needsAge: Bool

        package init(_ name: String, needsAge: Bool = false) {
            self.name = name
            self.needsAge = needsAge
        }

        /// Whatever belongs to the account and not to one app: it goes to all devices.
        package static let account = App("account")
    }

    /// How a notice reaches a person.
    package enum Channel: String, Sendable, CaseIterable {
        case push, email, inbox
    }

    /// How much the notice matters; what passes quiet hours, preferences and caps follows from it.
    package enum Urgency: String, Sendable, CaseIterable {
        /// Codes, results of votes: passes quiet hours and caps, and cannot be muted.
        case urgent
        /// Something of the person's own: held in quiet hours, can be muted by channel.
        case normal
        /// Ours to tell rather than theirs to know: counts against the daily cap.
        case promotional
    }

    /// When in the person's day it is told.
    package enum Timing: Sendable, Equatable {
        /// As soon as quiet hours allow.
        case soon
        /// At the person's own time for automatic notices.
        case ownTime
        /// The same where that comes before the time in this fact of the notice; otherwise as soon
        /// as quiet hours allow.
        case ownTimeBefore(String)
    }

    /// A fact that the notice's words may use.
    package enum Field: Sendable, Equatable {
        case text, count, metres, amount, day, time
        /// Of texts, or of amounts with the names of those to whom they are owed.
        case list
        /// Amounts in several currencies, in one sentence.
        case amounts
    }

    /// Dotted, as `coupon.nearby`; also the name of its templates.
    package let name: String
    package let app: App
    package var urgency = Urgency.normal
    package var timing = Timing.soon
    /// Those that it uses, unless the person chose otherwise.
    package let channels: [Channel]
    /// Whether it tells where a person is or was near to.
    package var needsLocationConsent = false
    /// How long a person is not told again of the same subject.
    package var cooldown: Duration?
    /// Whether that lasts, beyond ``cooldown``, until they were seen away from it.
    package var mustLeave = false
    /// E-mail is for those only whom no push reaches.
    package var mailsOnlyWithoutPush = false
    /// Whether it leaves a row when the policy drops it: not where the same thing happens again
    /// with each report of a device.
    package var recordsDrops = true
    /// Sent by one person to another: limited, so that nobody is pestered.
    package var isReminder = false
    /// Whether several that were held become one: see ``digest``.
    package var mergesHeld = false
    /// The fact of each that the digest lists; of a kind that merges.
    package var listedInDigest: String?
    /// The kind by whose name people switch it on and off; a digest goes with the kind it is of.
    package private(set) var chosenAs: String
    /// The facts in its data by name, all of them required.
    package let fields: [String: Field]

    /// A kind with the given facts; the rest has defaults.
    package init(_ name: String, app: App, channels: [Channel], fields: [String: Field]) {
        self.name = name
        chosenAs = name
        self.app = app
        self.channels = channels
        self.fields = fields
    }

    /// The kind of the one notice that several held ones become; nil where they do not merge.
    ///
    /// It has their count, and one fact of each.
    package var digest: NoticeKind? {
        guard mergesHeld, listedInDigest != nil else { return nil }
        var digest = NoticeKind(
            name + ".digest", app: app, channels: channels,
            fields: ["count": .count, "items": .list])
        digest.chosenAs = chosenAs
        digest.urgency = urgency
        digest.needsLocationConsent = needsLocationConsent
        digest.mailsOnlyWithoutPush = mailsOnlyWithoutPush
        return digest
    }
}
