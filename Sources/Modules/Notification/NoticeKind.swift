/// A kind of notice, declared by its module.
///
/// The module states the event and its facts; the policy decides whether, when and how a person is
/// notified.
package struct NoticeKind: Sendable, Equatable {
    /// The app whose users get it; a module names its own.
    package struct App: Sendable, Equatable {
        /// The name with which devices are registered.
        package let name: String
        /// Whether its users get no notices until their age is verified and sufficient.
        package let needsAge: Bool

        package init(_ name: String, needsAge: Bool = false) {
            self.name = name
            self.needsAge = needsAge
        }

        /// The account itself: its notices go to the devices of all apps.
        package static let account = App("account")
    }

    /// A channel by which a notice reaches a person.
    package enum Channel: String, Sendable, CaseIterable {
        case push, email, inbox
    }

    /// The urgency, which determines whether quiet hours, preferences and caps apply.
    package enum Urgency: String, Sendable, CaseIterable {
        /// Codes and results of votes: ignores quiet hours and caps, and cannot be muted.
        case urgent
        /// The person's own affairs: held in quiet hours, can be muted by channel.
        case normal
        /// Promotional: counts against the daily cap.
        case promotional
    }

    /// When in the person's day it is sent.
    package enum Timing: Sendable, Equatable {
        /// As soon as quiet hours allow.
        case soon
        /// At the person's own time for automatic notices.
        case ownTime
        /// At the person's own time if that is before the time in this fact; otherwise as soon as
        /// quiet hours allow.
        case ownTimeBefore(String)
    }

    /// The type of a fact that templates may use.
    package enum Field: Sendable, Equatable {
        case text, count, metres, amount, day, time
        /// A URL that the reader opens, such as `https://host/path` or one that opens the app.
        case link
        /// A list of texts, or of amounts with the names of the creditors.
        case list
        /// Amounts in several currencies.
        case amounts
    }

    /// The name, such as `coupon.nearby`; also the name of its templates.
    package let name: String
    package let app: App
    package var urgency = Urgency.normal
    package var timing = Timing.soon
    /// The channels, unless the person's preferences exclude them.
    package let channels: [Channel]
    /// Whether it reveals the location of a person.
    package var needsLocationConsent = false
    /// The minimum time between two notices of one subject to a person.
    package var cooldown: Duration?
    /// Whether the cooldown lasts, beyond ``cooldown``, until the person was seen away from the
    /// subject.
    package var mustLeave = false
    /// Whether mail goes only to people without a device for pushes, unless they have chosen mail.
    package var mailsOnlyWithoutPush = false
    /// Whether a dropped notice is recorded: false for events that recur with each report of a
    /// device.
    package var recordsDrops = true
    /// Whether each person gets it, such as changed terms: quiet hours apply, but nobody can mute
    /// it or turn it off.
    package var isMandatory = false
    /// Whether it is a reminder from one person to another, which the policy limits.
    package var isReminder = false
    /// Whether several held notices merge into one: see ``digest``.
    package var mergesHeld = false
    /// The fact that the digest lists, of a kind that merges.
    package var listedInDigest: String?
    /// The kind that preferences name: for a digest, the kind of its notices.
    package private(set) var chosenAs: String
    /// The facts in its data by name, all required.
    package let fields: [String: Field]
    /// The facts that are secret, such as a code: they are recorded apart, for mail and push only,
    /// and are deleted when the notice ends.
    package var secrets: Set<String> = []

    /// Creates a kind; the other properties have defaults.
    package init(_ name: String, app: App, channels: [Channel], fields: [String: Field]) {
        self.name = name
        chosenAs = name
        self.app = app
        self.channels = channels
        self.fields = fields
    }

    /// Whether it is sent whatever the person has muted or turned off.
    package var ignoresPreferences: Bool { urgency == .urgent || isMandatory }

    /// The kind of the digest of several held notices; nil if they do not merge.
    ///
    /// Its facts are their count and one fact of each.
    package var digest: NoticeKind? {
        guard mergesHeld, listedInDigest != nil else { return nil }
        var digest = NoticeKind(
            name + ".digest", app: app, channels: channels,
            fields: ["count": .count, "items": .list])
        digest.chosenAs = chosenAs
        digest.urgency = urgency
        digest.isMandatory = isMandatory
        digest.needsLocationConsent = needsLocationConsent
        digest.mailsOnlyWithoutPush = mailsOnlyWithoutPush
        return digest
    }
}
