import FoundationEssentials
import ErrandGregorian
import Errand
import ErrandPostgres
package import ErrandRecurrence

/// The facts for deciding about some intents, including earlier decisions about the same intents.
struct Facts: Sendable {
    private struct Subject: Hashable {
        var person: Int64
        var subject: String
        var sender: Int64?
    }

    private(set) var people: [Int64: PersonFacts] = [:]
    /// By position in the list of intents.
    private var histories: [SubjectHistory]
    /// Whether the dedupe key of each intent has a row.
    private(set) var isKnown: [Bool]
    private var cooldowns: [Subject: (until: Instant, mustLeave: Bool)] = [:]
    private var reminders: [Subject: [Instant]] = [:]

    /// Returns the statements whose rows ``init(_:people:histories:zones:)`` reads.
    ///
    /// - Parameter notices: the rows of recorded intents, which do not count against themselves.
    static func statements(
        _ intents: [Intent], kinds: [NoticeKind], notices: [Int64]? = nil, now: Instant
    ) -> [Statement] {
        let ids = Set(intents.map(\.personID)).sorted()
        let hasPromotional = kinds.contains { $0.urgency == .promotional }
        return [
            Statement(
                NoticePlannerStatements.people,
                [.int64Array(ids), .timestamp(now), .bool(hasPromotional)]),
            Statement(
                NoticePlannerStatements.histories,
                [
                    .int32Array(intents.indices.map(Int32.init)),
                    .int64Array(intents.map(\.personID)), .textArray(intents.map(\.subject)),
                    .nullableInt64Array(intents.map(\.senderID)),
                    .nullableTextArray(intents.map { notices == nil ? $0.dedupeKey : nil }),
                    .int64Array(notices ?? []),
                    .timestamp(now.adding(.zero - Policy.week)),
                ]),
        ]
    }

    init(
        _ intents: [Intent], people rows: Rows, histories found: Rows, zones: PeopleZones
    ) throws {
        for row in rows {
            let person = try PersonFacts(row, zones: zones)
            people[person.id] = person
        }
        histories = Array(repeating: SubjectHistory(), count: intents.count)
        isKnown = Array(repeating: false, count: intents.count)
        for row in found {
            let n = Int(try row.int32("n"))
            isKnown[n] = try row.bool("is_known")
            histories[n].cooldownUntil = try row.optionalTimestamp("until")
            histories[n].isStillThere = try row.optionalBool("is_still_there") ?? false
            histories[n].reminders = try row.timestampArray("reminders").compactMap(\.self)
        }
    }

    /// Returns the history of one intent, with the decisions since it was read.
    func history(_ place: Int, _ intent: Intent) -> SubjectHistory {
        var history = histories[place]
        let person = Subject(person: intent.personID, subject: intent.subject)
        if let begun = cooldowns[person] {
            history.cooldownUntil = begun.until
            history.isStillThere = begun.mustLeave
        }
        var reminder = person
        reminder.sender = intent.senderID
        history.reminders += reminders[reminder] ?? []
        return history
    }

    /// Adds a decision to the facts.
    mutating func note(_ plan: NoticePlan, now: Instant) {
        guard case .decided(let decision) = plan.fate else { return }
        let intent = plan.intent
        switch decision {
        case .send:
            if let cooldown = plan.cooldown {
                for subject in plan.subjects {
                    cooldowns[Subject(person: intent.personID, subject: subject)] = (
                        now.adding(cooldown), plan.mustLeave
                    )
                }
            }
            if plan.kind.urgency == .promotional {
                people[intent.personID]?.promotionalCount += 1
            }
        case .hold: break
        case .drop, .expire, .refuse: return
        }
        guard plan.kind.isReminder else { return }
        let subject = Subject(
            person: intent.personID, subject: intent.subject, sender: intent.senderID)
        reminders[subject, default: []].append(now)
    }
}

extension PersonFacts {
    /// Reads only the facts that ``Policy/objection(to:by:_:_:)`` needs.
    init(consentIn row: Row, as id: String = "person_id", zones: PeopleZones) throws {
        self.init(id: try row.int64(id), zone: try zones.zone(named: try row.text("time_zone")))
        birthDate = try row.optionalInt32("birth_day").map {
            CivilDate(daysSince1970: Int($0))
        }
        isAgeVerified = try row.bool("is_age_verified")
        agreesToLocation = try row.bool("agrees_to_location")
        isBlocked = try row.bool("is_blocked")
        isErased = try row.bool("is_erased")
        for choice in try row.textArray("choices") {
            preferences[String(choice.dropLast())] = choice.hasSuffix("+")
        }
    }

    init(_ row: Row, zones: PeopleZones) throws {
        try self.init(consentIn: row, as: "id", zones: zones)
        takesMail = try row.bool("takes_mail")
        mutedUntil = try row.optionalTimestamp("muted_until")
        noticeTime = Int(try row.int32("notice_time"))
        if let from = try row.optionalInt32("quiet_from"),
            let until = try row.optionalInt32("quiet_until")
        {
            quietHours = QuietHours(from: Int(from), until: Int(until))
        }
        promotionalCount = Int(try row.int64("promotional"))
        let (apps, platforms) = (try row.textArray("apps"), try row.textArray("platforms"))
        for (place, id) in try row.int64Array("devices").enumerated() {
            devices.append(Device(id: id, app: apps[place], platform: platforms[place]))
        }
    }
}

/// The time zones of people; an unknown one counts as UTC.
package struct PeopleZones: Sendable {
    /// The zones of this machine, shared by all jobs.
    package static let shared = PeopleZones(ZoneDatabase())

    private let zones: ZoneDatabase

    package init(_ zones: ZoneDatabase) { self.zones = zones }

    /// Reloads the zones if their files have changed.
    package func refresh() { zones.refresh() }

    /// Returns a zone; nil if it is unknown.
    ///
    /// - Throws: if the zone database is unusable, so that no notice is sent at a wrong time.
    package func known(_ name: String) throws -> Zone? {
        do throws(ZoneError) { return try zones.zone(named: name) } catch {
            switch error {
            case .noDatabase, .unreadable, .malformed: throw error
            case .empty, .path, .reserved, .abbreviation, .fixedOffset, .posixRule, .area,
                .unknown:
                return nil
            }
        }
    }

    /// Returns a zone, or throws the reason why it is unknown.
    package func exact(_ name: String) throws(ZoneError) -> Zone { try zones.zone(named: name) }

    func zone(named name: String) throws -> Zone { try known(name) ?? .utc }
}
