package import ErrandGregorian
package import ErrandPostgres
package import ErrandRecurrence

/// The facts about a person that the policy needs.
package struct PersonFacts: Sendable {
    /// A device that accepts pushes.
    package struct Device: Sendable, Equatable {
        package var id: Int64
        package var app: String
        /// `apns` or `fcm`.
        package var platform: String

        package init(id: Int64, app: String, platform: String) {
            self.id = id
            self.app = app
            self.platform = platform
        }
    }

    package var id: Int64
    package var zone: Zone
    package var birthDate: CivilDate?
    package var isAgeVerified = false
    /// Whether the person gets nothing more: their erasure was requested, or they are too young.
    package var isBlocked = false
    /// Whether all but the id was erased.
    package var isErased = false
    package var agreesToLocation = false
    /// Whether the person has an e-mail address that was not refused.
    package var takesMail = false
    package var devices: [Device] = []
    package var mutedUntil: Instant?
    /// The person's preferences, by `kind channel`, with `*` for all kinds.
    package var preferences: [String: Bool] = [:]
    /// Seconds since local midnight.
    package var noticeTime = 36_000
    package var quietHours: QuietHours?
    /// The number of promotional notices in the last 24 hours.
    package var promotionalCount = 0

    package init(id: Int64, zone: Zone) {
        self.id = id
        self.zone = zone
    }
}

/// The history of notices to a person about one subject.
package struct SubjectHistory: Sendable, Equatable {
    package var cooldownUntil: Instant?
    /// Whether the person has not been seen away from the subject since the last notice.
    package var isStillThere = false
    /// The times of the sender's reminders to the person in the last week, oldest first.
    package var reminders: [Instant] = []

    package init() {}
}

/// The decision about an intent.
///
/// Reasons are texts for operators, without personal data.
package enum NoticeDecision: Sendable, Equatable {
    /// Send now through these channels.
    case send([NoticeKind.Channel])
    /// Decide again at a time.
    case hold(until: Instant, why: String)
    case drop(String)
    /// Too late, either now or at the earliest time to send it.
    case expire(String)
    /// Refuse a reminder; the sender may try again at a time.
    case refuse(until: Instant, why: String)
}

/// The policy: who is notified of what, when, and how.
///
/// Pure: the caller passes the facts and the time.
package struct Policy: Sendable {
    /// The maximum number of promotional notices in 24 hours.
    package var promotionalCap = 3
    /// The maximum number of reminders from one person to another about one subject.
    package var remindersPerDay = 1
    package var remindersPerWeek = 3
    /// How long a person's own time for automatic notices overrides their quiet hours.
    package var ownTimeGrace = Duration.seconds(3_600)

    /// The number of bounced notices in a row after which an address gets no mail.
    package var bounceLimit = 3

    package init() {}

    private static let day = Duration.seconds(86_400)
    static let week = Duration.seconds(7 * 86_400)
    private static let adult = 16

    /// Decides about one intent; the first rule that objects decides.
    ///
    /// - Parameter deadline: the time from which on the person's own time is too late for the
    ///   kind; nil for no deadline.
    package func decide(
        _ kind: NoticeKind, person: PersonFacts, history: SubjectHistory, expires: Instant,
        deadline: Instant? = nil, now: Instant
    ) -> NoticeDecision {
        guard expires > now else { return .expire("the notice has expired") }
        if let objection = objection(to: kind, person, now) { return .drop(objection) }
        if !kind.ignoresPreferences, let muted = person.mutedUntil, muted > now {
            return .drop("the person has muted all notices until \(muted)")
        }
        let wanted = kind.channels.filter { isWanted(kind, $0, by: person) }
        guard !wanted.isEmpty else { return .drop("the person has switched this kind off") }
        let channels = reaching(kind, wanted, person)
        guard !channels.isEmpty else { return .drop("no \(Self.missing(for: wanted))") }
        if kind.isReminder, let refusal = refusal(history, now) { return refusal }
        if kind.cooldown != nil {
            if let until = history.cooldownUntil, until > now {
                return .drop("notified of the same before; the cooldown ends at \(until)")
            }
            if kind.mustLeave, history.isStillThere {
                return .drop("notified of the same before, and has not left since")
            }
        }
        if kind.urgency == .promotional, person.promotionalCount >= promotionalCap {
            return .drop("the cap of \(promotionalCap) promotional notices in 24 hours is reached")
        }
        return time(kind, person, expires: expires, deadline: deadline, now: now)
            ?? .send(channels)
    }

    /// Returns why a person may not get notices of this kind; nil if they may.
    package func objection(
        to kind: NoticeKind, _ person: PersonFacts, _ now: Instant
    ) -> String? {
        if person.isBlocked || person.isErased { return Self.blocked }
        if kind.app.needsAge {
            guard person.isAgeVerified, let born = person.birthDate else {
                return "the person's age is not verified"
            }
            guard Self.isAdult(born, on: person.zone.date(at: now)) else {
                return "the person is under \(Self.adult)"
            }
        }
        if kind.needsLocationConsent, !person.agreesToLocation {
            return "the person has not agreed to notices by place"
        }
        return nil
    }

    /// Returns why a channel may no longer send a decided notice; nil if it may.
    ///
    /// Checked before sending.
    func objection(
        to kind: NoticeKind, by channel: NoticeKind.Channel, _ person: PersonFacts, _ now: Instant
    ) -> String? {
        objection(to: kind, person, now)
            ?? (isWanted(kind, channel, by: person) ? nil : Self.switchedOff)
    }

    static let switchedOff = "the person has switched it off"
    /// The reason of notices to blocked people.
    static let blocked = "blocked"

    /// Returns whether a person is of age; a birthday on 29 February counts on 1 March in common
    /// years.
    static func isAdult(_ born: CivilDate, on today: CivilDate) -> Bool {
        let year = born.year + adult
        let isMissing = born.month == 2 && born.day == 29 && !CivilDate.isLeap(year)
        let birthday =
            isMissing
            ? CivilDate(year: year, month: 3, day: 1)
            : CivilDate(year: year, month: born.month, day: born.day)
        return today >= birthday
    }

    func isWanted(
        _ kind: NoticeKind, _ channel: NoticeKind.Channel, by person: PersonFacts
    ) -> Bool {
        kind.ignoresPreferences || choice(of: channel, kind, by: person) ?? true
    }

    /// Returns what the person has chosen for a channel; nil for no choice.
    private func choice(
        of channel: NoticeKind.Channel, _ kind: NoticeKind, by person: PersonFacts
    ) -> Bool? {
        person.preferences["\(kind.chosenAs) \(channel.rawValue)"]
            ?? person.preferences["* \(channel.rawValue)"]
    }

    func reaching(
        _ kind: NoticeKind, _ wanted: [NoticeKind.Channel], _ person: PersonFacts
    ) -> [NoticeKind.Channel] {
        let takesPush = wanted.contains(.push) && !person.devices(of: kind.app).isEmpty
        return wanted.filter { channel in
            switch channel {
            case .push: takesPush
            case .email:
                // Who has chosen mail gets both.
                person.takesMail
                    && (!(kind.mailsOnlyWithoutPush && takesPush)
                        || choice(of: .email, kind, by: person) == true)
            case .inbox: true
            }
        }
    }

    private static func missing(for wanted: [NoticeKind.Channel]) -> String {
        wanted.map { channel in
            switch channel {
            case .push: "device of the app"
            case .email: "address that takes mail"
            case .inbox: "inbox"
            }
        }.joined(separator: " and no ")
    }

    private func refusal(_ history: SubjectHistory, _ now: Instant) -> NoticeDecision? {
        /// Returns the time of the next permitted reminder under a cap; nil if one is permitted
        /// now.
        func next(_ most: Int, in period: Duration) -> Instant? {
            let counted = history.reminders.filter { $0.adding(period) > now }
            return counted.count < most ? nil : counted[counted.count - most].adding(period)
        }
        let (daily, weekly) = (
            next(remindersPerDay, in: Self.day), next(remindersPerWeek, in: Self.week)
        )
        guard let until = [daily, weekly].compactMap(\.self).max() else { return nil }
        return .refuse(
            until: until,
            why:
                "at most \(remindersPerDay) reminder of this a day and \(remindersPerWeek) a week: "
                + "the next is allowed at \(until)")
    }

    /// Returns a hold if it is the wrong time of the person's day; nil otherwise.
    private func time(
        _ kind: NoticeKind, _ person: PersonFacts, expires: Instant, deadline: Instant?,
        now: Instant
    ) -> NoticeDecision? {
        func hold(_ until: Instant, _ why: String) -> NoticeDecision {
            guard until < expires else {
                return .expire("\(why) until \(until), after the notice expires")
            }
            return .hold(until: until, why: "\(why) until \(until)")
        }
        guard kind.urgency != .urgent else { return nil }
        if kind.timing != .soon {
            let own = person.zone.time(person.noticeTime, onDayOf: now)
            if own > now, own < deadline ?? .infinity {
                return hold(own, "waits for the person's own time")
            }
            if own <= now, now < own.adding(ownTimeGrace) { return nil }
        }
        guard let quiet = person.quietHours, let end = quiet.end(after: now, in: person.zone)
        else { return nil }
        return hold(end, "quiet hours")
    }
}

extension PersonFacts {
    /// Returns the devices of an app; all devices for notices about the account.
    package func devices(of app: NoticeKind.App) -> [Device] {
        app == .account ? devices : devices.filter { $0.app == app.name }
    }
}
