import Foundation
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import Testing

@Suite("Quiet hours and own times by people's clocks") struct QuietHoursTests {
    private static func seconds(_ time: String) -> Int {
        let parts = time.split(separator: ":").compactMap { Int($0) }
        return parts[0] * 3_600 + parts[1] * 60
    }

    @Test(
        "quiet hours end when clocks show their end, or the first moment after it",
        arguments: [
            // Over midnight, from both sides; half-open.
            ("UTC", "22:00", "07:00", "2026-06-15T21:59:59Z", nil),
            ("UTC", "22:00", "07:00", "2026-06-15T22:00:00Z", "2026-06-16T07:00:00Z"),
            ("UTC", "22:00", "07:00", "2026-06-16T00:00:00Z", "2026-06-16T07:00:00Z"),
            ("UTC", "22:00", "07:00", "2026-06-16T06:59:59.999Z", "2026-06-16T07:00:00Z"),
            ("UTC", "22:00", "07:00", "2026-06-16T07:00:00Z", nil),
            // Within a day, to midnight, and none at all.
            ("UTC", "13:00", "15:00", "2026-06-15T14:00:00Z", "2026-06-15T15:00:00Z"),
            ("UTC", "22:00", "00:00", "2026-06-15T23:00:00Z", "2026-06-16T00:00:00Z"),
            ("UTC", "09:00", "09:00", "2026-06-15T09:00:00Z", nil),
            // Elsewhere.
            ("America/Toronto", "22:00", "07:00", "2026-06-16T02:00:00Z", "2026-06-16T11:00:00Z"),
            ("Asia/Kolkata", "22:00", "07:00", "2026-06-15T16:30:00Z", "2026-06-16T01:30:00Z"),
            // The night without the hour from two to three is an hour shorter.
            ("America/Toronto", "22:00", "07:00", "2026-03-08T03:00:00Z", "2026-03-08T11:00:00Z"),
            // Their end is in that hour: 03:00 follows 01:59:59.
            ("America/Toronto", "22:00", "02:30", "2026-03-08T03:00:00Z", "2026-03-08T07:00:00Z"),
            ("America/Toronto", "22:00", "02:30", "2026-03-08T07:00:00Z", nil),
            // They lie in that hour altogether.
            ("America/Toronto", "02:15", "02:45", "2026-03-08T07:00:00Z", nil),
            // The night in which the hour from one to two comes twice is an hour longer.
            ("America/Toronto", "22:00", "07:00", "2026-11-01T02:00:00Z", "2026-11-01T12:00:00Z"),
            // Their end comes twice, and what lies between shows quiet hours again.
            ("America/Toronto", "22:00", "01:30", "2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z"),
            ("America/Toronto", "22:00", "01:30", "2026-11-01T05:40:00Z", nil),
            ("America/Toronto", "22:00", "01:30", "2026-11-01T06:10:00Z", "2026-11-01T06:30:00Z"),
            // They end where the clocks go back into them: at 02:00, which is 01:00 first.
            ("America/Toronto", "22:00", "02:00", "2026-11-01T05:59:00Z", "2026-11-01T07:00:00Z"),
            // Half an hour is left out on Lord Howe: 02:30 follows 01:59:59.
            (
                "Australia/Lord_Howe", "22:00", "02:15", "2026-10-03T14:00:00Z",
                "2026-10-03T15:30:00Z"
            ),
        ] as [(String, String, String, String, String?)])
    func end(zone: String, from: String, until: String, now: String, expected: String?) throws {
        let quiet = QuietHours(from: Self.seconds(from), until: Self.seconds(until))
        let end = quiet.end(after: try moment(now), in: try ZoneDatabase().zone(named: zone))
        #expect(end?.description == expected)
    }

    @Test(
        "the own time of a day is the first moment at which clocks show it or a later one",
        arguments: [
            ("America/Toronto", "10:00", "2026-06-15T05:00:00Z", "2026-06-15T14:00:00Z"),
            ("America/Toronto", "10:00", "2026-06-15T03:00:00Z", nil),
            ("America/Toronto", "02:30", "2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z"),
            ("America/Toronto", "01:30", "2026-11-01T04:30:00Z", "2026-11-01T05:30:00Z"),
            ("America/Toronto", "01:30", "2026-11-01T06:10:00Z", nil),
            ("Pacific/Kiritimati", "10:00", "2026-06-15T11:00:00Z", "2026-06-15T20:00:00Z"),
        ] as [(String, String, String, String?)])
    func ownTime(zone: String, time: String, now: String, expected: String?) throws {
        var person = PersonFacts(id: 1, zone: try ZoneDatabase().zone(named: zone))
        person.noticeTime = Self.seconds(time)
        var kind = NoticeKind("test.kind", app: .household, channels: [.inbox], fields: [:])
        kind.timing = .ownTime
        let decision = Policy().decide(
            kind, person: person, history: SubjectHistory(), expires: .infinity,
            now: try moment(now))
        guard let expected else {
            #expect(decision == .send([.inbox]))
            return
        }
        let until = try moment(expected)
        #expect(
            decision
                == .hold(until: until, why: "waits for the person's own time until \(expected)"))
    }
}
