import Foundation
import ErrandGregorian
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import Testing

/// A moment as RFC 3339.
func moment(_ text: String) throws -> Instant {
    try #require(Instant(text), "\(text) is no time")
}

/// Changes a value in place, for tables of cases.
func made<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
    var value = value
    change(&value)
    return value
}

@Suite("The policy, line by line") struct PolicyTests {
    /// What a case is about: everything is fine with it unless it says otherwise.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var kind: @Sendable (inout NoticeKind) -> Void
        var app: NoticeKind.App
        var person: @Sendable (inout PersonFacts) -> Void
        var history: @Sendable (inout SubjectHistory) -> Void
        var expires: String
        /// `tell` with the channels, or the case and its words.
        var expected: String

        init(
            _ what: String, app: NoticeKind.App = .places,
            kind: @escaping @Sendable (inout NoticeKind) -> Void = { _ in },
            person: @escaping @Sendable (inout PersonFacts) -> Void = { _ in },
            history: @escaping @Sendable (inout SubjectHistory) -> Void = { _ in },
            expires: String = "2026-07-01T00:00:00Z", _ expected: String
        ) {
            testDescription = what
            self.app = app
            self.kind = kind
            self.person = person
            self.history = history
            self.expires = expires
            self.expected = expected
        }
    }

    /// Noon in summer, UTC, which is the person's zone.
    private static let noon = "2026-06-15T12:00:00Z"

    private static func text(_ decision: NoticeDecision) -> String {
        switch decision {
        case .send(let channels): "send " + channels.map(\.rawValue).joined(separator: " ")
        case .hold(let until, let why): "hold \(until): \(why)"
        case .drop(let why): "drop: \(why)"
        case .expire(let why): "expire: \(why)"
        case .refuse(let until, let why): "refuse \(until): \(why)"
        }
    }

    @Test(
        "each rule",
        arguments: [
            Case("nothing against it", "send push email inbox"),
            // Time.
            Case("expired", expires: "2026-06-15T12:00:00Z", "expire: the notice has expired"),
            Case(
                "expired goes before all else",
                person: { $0.mutedUntil = .infinity }, expires: "2026-06-15T11:59:59Z",
                "expire: the notice has expired"),
            // Age, in the survey app alone.
            Case("grown up", app: .survey, "send push email inbox"),
            Case(
                "age not verified", app: .survey, person: { $0.isAgeVerified = false },
                "drop: the person's age is not verified"),
            Case(
                "no birth date", app: .survey, person: { $0.birthDate = nil },
                "drop: the person's age is not verified"),
            Case(
                "age not verified elsewhere", person: { $0.isAgeVerified = false },
                "send push email inbox"),
            Case(
                "urgent does not outweigh age", app: .survey, kind: { $0.urgency = .urgent },
                person: { $0.isAgeVerified = false }, "drop: the person's age is not verified"),
            // Location.
            Case(
                "by place, with consent", kind: { $0.needsLocationConsent = true },
                "send push email inbox"),
            Case(
                "by place, without consent", kind: { $0.needsLocationConsent = true },
                person: { $0.agreesToLocation = false },
                "drop: the person has not agreed to notices by place"),
            // Muting.
            Case(
                "muted", person: { $0.mutedUntil = Instant("2026-06-16T00:00:00Z") },
                "drop: the person has muted all notices until 2026-06-16T00:00:00Z"),
            Case(
                "muted until now", person: { $0.mutedUntil = Instant(noon) },
                "send push email inbox"),
            Case(
                "muted, but urgent", kind: { $0.urgency = .urgent },
                person: { $0.mutedUntil = .infinity }, "send push email inbox"),
            // Preferences.
            Case(
                "one channel off", person: { $0.preferences["test.kind email"] = false },
                "send push inbox"),
            Case(
                "a channel off for all kinds", person: { $0.preferences["* push"] = false },
                "send email inbox"),
            Case(
                "off for all, on for this",
                person: { $0.preferences = ["* push": false, "test.kind push": true] },
                "send push email inbox"),
            Case(
                "another kind off", person: { $0.preferences["other.kind push"] = false },
                "send push email inbox"),
            Case(
                "all channels off",
                person: { $0.preferences = ["* push": false, "* email": false, "* inbox": false] },
                "drop: the person has switched this kind off"),
            Case(
                "all off, but urgent", kind: { $0.urgency = .urgent },
                person: { $0.preferences = ["* push": false, "* email": false] },
                "send push email inbox"),
            // Ways.
            Case("no device", person: { $0.devices = [] }, "send email inbox"),
            Case("a device of another app", app: .vote, "send email inbox"),
            Case("a device of any app, for the account", app: .account, "send push email inbox"),
            Case("no address", person: { $0.takesMail = false }, "send push inbox"),
            Case(
                "mail only without push", kind: { $0.mailsOnlyWithoutPush = true },
                "send push inbox"),
            Case(
                "mail because there is no push", kind: { $0.mailsOnlyWithoutPush = true },
                person: { $0.devices = [] }, "send email inbox"),
            // "*both* cannot be had for coupons: `mailsOnlyWithoutPush` outweighs a person's own
            // `email = true`; their explicit choice should win".
            Case(
                "push and mail both, by the person's choice",
                kind: { $0.mailsOnlyWithoutPush = true },
                person: { $0.preferences["test.kind email"] = true }, "send push email inbox"),
            Case(
                "push and mail both for all kinds", kind: { $0.mailsOnlyWithoutPush = true },
                person: { $0.preferences["* email"] = true }, "send push email inbox"),
            Case(
                "both for all kinds, but no mail of this", kind: { $0.mailsOnlyWithoutPush = true },
                person: { $0.preferences = ["* email": true, "test.kind email": false] },
                "send push inbox"),
            Case(
                "both, urgent",
                kind: {
                    $0.mailsOnlyWithoutPush = true
                    $0.urgency = .urgent
                }, person: { $0.preferences["test.kind email"] = true }, "send push email inbox"),
            Case("blocked", person: { $0.isBlocked = true }, "drop: blocked"),
            Case(
                "blocked, however urgent", kind: { $0.urgency = .urgent },
                person: { $0.isBlocked = true }, "drop: blocked"),
            Case(
                "mail because push is off", kind: { $0.mailsOnlyWithoutPush = true },
                person: { $0.preferences["* push"] = false }, "send email inbox"),
            Case(
                "no way but the inbox",
                person: {
                    $0.devices = []
                    $0.takesMail = false
                }, "send inbox"),
            Case(
                "the inbox off, and no other way",
                person: {
                    $0.devices = []
                    $0.takesMail = false
                    $0.preferences["* inbox"] = false
                }, "drop: no device of the app and no address that takes mail"),
            // Reminders between people.
            Case("a first reminder", kind: { $0.isReminder = true }, "send push email inbox"),
            Case(
                "a second within a day", kind: { $0.isReminder = true },
                history: { $0.reminders = [Instant("2026-06-14T12:00:01Z")!] },
                "refuse 2026-06-15T12:00:01Z: at most 1 reminder of this a day and 3 a week: "
                    + "the next is allowed at 2026-06-15T12:00:01Z"),
            Case(
                "a second after a day", kind: { $0.isReminder = true },
                history: { $0.reminders = [Instant("2026-06-14T12:00:00Z")!] },
                "send push email inbox"),
            Case(
                "a fourth within a week", kind: { $0.isReminder = true },
                history: {
                    $0.reminders = [
                        Instant("2026-06-09T08:00:00Z")!, Instant("2026-06-11T08:00:00Z")!,
                        Instant("2026-06-13T08:00:00Z")!,
                    ]
                },
                "refuse 2026-06-16T08:00:00Z: at most 1 reminder of this a day and 3 a week: "
                    + "the next is allowed at 2026-06-16T08:00:00Z"),
            Case(
                "a fourth as the first is a week old", kind: { $0.isReminder = true },
                history: {
                    $0.reminders = [
                        Instant("2026-06-08T12:00:00Z")!, Instant("2026-06-11T08:00:00Z")!,
                        Instant("2026-06-13T08:00:00Z")!,
                    ]
                }, "send push email inbox"),
            Case(
                "both limits: the later counts", kind: { $0.isReminder = true },
                history: {
                    $0.reminders = [
                        Instant("2026-06-08T13:00:00Z")!, Instant("2026-06-11T08:00:00Z")!,
                        Instant("2026-06-15T08:00:00Z")!,
                    ]
                },
                "refuse 2026-06-16T08:00:00Z: at most 1 reminder of this a day and 3 a week: "
                    + "the next is allowed at 2026-06-16T08:00:00Z"),
            // Cooldown.
            Case(
                "told before", kind: { $0.cooldown = .seconds(86_400) },
                history: { $0.cooldownUntil = Instant("2026-06-15T12:00:01Z") },
                "drop: notified of the same before; the cooldown ends at 2026-06-15T12:00:01Z"),
            Case(
                "told before, and the time is over", kind: { $0.cooldown = .seconds(86_400) },
                history: {
                    $0.cooldownUntil = Instant(noon)
                    $0.isStillThere = true
                }, "send push email inbox"),
            Case(
                "told before, and never left",
                kind: {
                    $0.cooldown = .seconds(86_400)
                    $0.mustLeave = true
                },
                history: {
                    $0.cooldownUntil = Instant(noon)
                    $0.isStillThere = true
                }, "drop: notified of the same before, and has not left since"),
            // Cap.
            Case(
                "a third promotional notice", kind: { $0.urgency = .promotional },
                person: { $0.promotionalCount = 2 }, "send push email inbox"),
            Case(
                "a fourth", kind: { $0.urgency = .promotional },
                person: { $0.promotionalCount = 3 },
                "drop: the cap of 3 promotional notices in 24 hours is reached"),
            Case(
                "one of another urgency", person: { $0.promotionalCount = 3 },
                "send push email inbox"),
            // Quiet hours.
            Case(
                "quiet hours", person: { $0.quietHours = QuietHours(from: 39_600, until: 46_800) },
                "hold 2026-06-15T13:00:00Z: quiet hours until 2026-06-15T13:00:00Z"),
            Case(
                "quiet hours, but urgent", kind: { $0.urgency = .urgent },
                person: { $0.quietHours = QuietHours(from: 39_600, until: 46_800) },
                "send push email inbox"),
            Case(
                "quiet hours begin now",
                person: { $0.quietHours = QuietHours(from: 43_200, until: 46_800) },
                "hold 2026-06-15T13:00:00Z: quiet hours until 2026-06-15T13:00:00Z"),
            Case(
                "quiet hours end now",
                person: { $0.quietHours = QuietHours(from: 39_600, until: 43_200) },
                "send push email inbox"),
            Case(
                "quiet hours outlast it",
                person: { $0.quietHours = QuietHours(from: 39_600, until: 46_800) },
                expires: "2026-06-15T13:00:00Z",
                "expire: quiet hours until 2026-06-15T13:00:00Z, after the notice expires"),
            // The person's own time.
            Case(
                "before the own time", kind: { $0.timing = .ownTime },
                person: { $0.noticeTime = 64_800 },
                "hold 2026-06-15T18:00:00Z: waits for the person's own time until "
                    + "2026-06-15T18:00:00Z"),
            Case(
                "at the own time, in quiet hours", kind: { $0.timing = .ownTime },
                person: {
                    $0.noticeTime = 43_200
                    $0.quietHours = QuietHours(from: 39_600, until: 82_800)
                }, "send push email inbox"),
            Case(
                "an hour after the own time, in quiet hours", kind: { $0.timing = .ownTime },
                person: {
                    $0.noticeTime = 39_600
                    $0.quietHours = QuietHours(from: 39_600, until: 82_800)
                }, "hold 2026-06-15T23:00:00Z: quiet hours until 2026-06-15T23:00:00Z"),
            Case(
                "after the own time", kind: { $0.timing = .ownTime },
                person: { $0.noticeTime = 28_800 }, "send push email inbox"),
            Case(
                "the own time outlasts it", kind: { $0.timing = .ownTime },
                person: { $0.noticeTime = 64_800 }, expires: "2026-06-15T17:00:00Z",
                "expire: waits for the person's own time until 2026-06-15T18:00:00Z, after the "
                    + "notice expires"),
        ])
    func rule(each: Case) throws {
        let kind = made(
            NoticeKind("test.kind", app: each.app, channels: [.push, .email, .inbox], fields: [:]),
            each.kind)
        let person = made(try Self.person(), each.person)
        let history = made(SubjectHistory(), each.history)
        let decision = Policy().decide(
            kind, person: person, history: history, expires: try moment(each.expires),
            now: try moment(Self.noon))
        #expect(Self.text(decision) == each.expected)
    }

    @Test(
        "an own time that comes too late is not waited for",
        arguments: [
            // In order: own time and end of quiet hours, in hours; the deadline; what is decided
            // at noon about what is of use until 20:00.
            (18, nil, "2026-06-15T18:00:01Z", "hold 2026-06-15T18:00:00Z"),
            (18, nil, "2026-06-15T18:00:00Z", "send"), (18, nil, "2026-06-15T08:00:00Z", "send"),
            (18, 14, "2026-06-15T17:00:00Z", "hold 2026-06-15T14:00:00Z"),
            (18, 19, "2026-06-15T17:00:00Z", "hold 2026-06-15T19:00:00Z"),
            (18, 21, "2026-06-15T17:00:00Z", "expire"),
            // Their own time outweighs quiet hours only when it has come.
            (12, 14, "2026-06-15T08:00:00Z", "send"),
            (10, 14, "2026-06-15T17:00:00Z", "hold 2026-06-15T14:00:00Z"),
        ] as [(Int, Int?, String, String)])
    func deadline(own: Int, quiet: Int?, deadline: String, expected: String) throws {
        let kind = made(NoticeKind("test.kind", app: .household, channels: [.inbox], fields: [:])) {
            $0.timing = .ownTimeBefore("due_at")
        }
        let person = made(try Self.person()) { person in
            person.noticeTime = own * 3_600
            person.quietHours = quiet.map { QuietHours(from: 36_000, until: $0 * 3_600) }
        }
        let data = Array(#"{"due_at":"\#(deadline)"}"#.utf8)
        #expect(kind.deadline(in: data) == (try moment(deadline)))
        let decision = Policy().decide(
            kind, person: person, history: SubjectHistory(),
            expires: try moment("2026-06-15T20:00:00Z"), deadline: kind.deadline(in: data),
            now: try moment(Self.noon))
        #expect(Self.text(decision).hasPrefix(expected))
    }

    @Test func `the cap can be another`() throws {
        var policy = Policy()
        policy.promotionalCap = 1
        let kind = made(
            NoticeKind("test.kind", app: .places, channels: [.inbox], fields: [:])
        ) { $0.urgency = .promotional }
        let person = made(try Self.person()) { $0.promotionalCount = 1 }
        let decision = policy.decide(
            kind, person: person, history: SubjectHistory(), expires: .infinity,
            now: try moment(Self.noon))
        #expect(decision == .drop("the cap of 1 promotional notices in 24 hours is reached"))
    }

    @Test(
        "sixteen is reached at midnight of the person's own zone",
        arguments: [
            ("UTC", "2010-06-15", noon, true), ("UTC", "2010-06-16", noon, false),
            ("Pacific/Auckland", "2010-06-16", noon, true),
            ("America/Toronto", "2010-06-15", "2026-06-15T03:59:59Z", false),
            ("America/Toronto", "2010-06-15", "2026-06-15T04:00:00Z", true),
            ("UTC", "2008-02-29", "2024-02-28T23:59:59Z", false),
            ("UTC", "2008-02-29", "2024-02-29T00:00:00Z", true),
            // The year 2100 is no leap year.
            ("UTC", "2084-02-29", "2100-02-28T12:00:00Z", false),
            ("UTC", "2084-02-29", "2100-03-01T00:00:00Z", true),
        ])
    func sixteen(zone: String, born: String, now: String, isNotified: Bool) throws {
        var person = PersonFacts(id: 1, zone: try ZoneDatabase().zone(named: zone))
        person.isAgeVerified = true
        person.birthDate = try Self.date(born)
        let kind = NoticeKind("test.kind", app: .survey, channels: [.inbox], fields: [:])
        let objection = Policy().objection(to: kind, person, try moment(now))
        #expect(objection == (isNotified ? nil : "the person is under 16"))
    }

    private static func date(_ text: String) throws -> CivilDate {
        let day = try #require(Instant("\(text)T00:00:00Z")).date.timeIntervalSince1970 / 86_400
        return CivilDate(daysSince1970: Int(day))
    }

    private static func person() throws -> PersonFacts {
        var person = PersonFacts(id: 1, zone: .utc)
        person.birthDate = try date("1990-05-17")
        person.isAgeVerified = true
        person.agreesToLocation = true
        person.takesMail = true
        person.devices = [
            .init(id: 1, app: "places", platform: "fcm"),
            .init(id: 2, app: "survey", platform: "apns"),
        ]
        return person
    }
}
