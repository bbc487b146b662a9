import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Surveys that expire soon", .database) struct SurveyReminderTests {
    private struct Interrupted: Error {}

    /// 10:00 in Toronto.
    private let ten = "2026-06-15T14:00:00Z"

    @Test func `people are told in the day of their own zone`() async throws {
        let ground = try await SurveyJobGround()
        let expiry = "2026-06-16T12:00:00Z"
        let toronto = try await ground.person(expiring: expiry)
        let dubai = try await ground.person(in: "Asia/Dubai", expiring: expiry)
        let tokyo = try await ground.person(in: "Asia/Tokyo", expiring: expiry)
        // 23:00 in Tokyo: too late to be told.
        #expect(try await ground.remind(ten) == 2)
        #expect(
            try await ground.reminded() == [
                Reminded(toronto, 1, "2026-06-16", [expiry]),
                Reminded(dubai, 1, "2026-06-16", [expiry]),
            ])
        // In Tokyo it was ten o'clock at 01:00 UTC.
        #expect(try await ground.remind("2026-06-15T01:00:00Z") == 1)
        #expect(try await ground.reminded().last == Reminded(tokyo, 1, "2026-06-16", [expiry]))
    }

    @Test(
        "the last day is the one at whose end the invitation ends",
        arguments: [
            ("2026-06-15T14:00:00Z", "2026-06-16T04:00:00Z", nil),
            ("2026-06-15T14:00:00Z", "2026-06-17T04:00:00Z", "1 2026-06-16"),
            ("2026-06-15T14:00:00Z", "2026-06-18T04:00:00Z", nil),
            ("2026-06-15T14:00:00Z", "2026-06-19T04:00:00Z", "3 2026-06-18"),
            ("2026-06-15T14:00:00Z", "2026-06-20T04:00:00Z", nil),
            // The night without the hour from two to three, and that with two of them.
            ("2026-03-07T15:00:00Z", "2026-03-09T04:00:00Z", "1 2026-03-08"),
            ("2026-03-05T15:00:00Z", "2026-03-09T04:00:00Z", "3 2026-03-08"),
            ("2026-10-31T14:00:00Z", "2026-11-02T05:00:00Z", "1 2026-11-01"),
            ("2026-10-29T14:00:00Z", "2026-11-02T05:00:00Z", "3 2026-11-01"),
        ] as [(String, String, String?)])
    func lastDay(due: String, expiry: String, expected: String?) async throws {
        let ground = try await SurveyJobGround()
        _ = try await ground.person(expiring: expiry)
        #expect(try await ground.remind(due) == (expected == nil ? 0 : 1))
        #expect(
            try await ground.reminded().map { "\($0.daysLeft) \($0.lastDay)" }
                == (expected.map { [$0] } ?? []))
    }

    @Test func `a person is told once three days before and once the day before`() async throws {
        let ground = try await SurveyJobGround()
        let expiry = "2026-06-19T04:00:00Z"
        let person = try await ground.person(expiring: expiry)
        var made: [Int] = []
        for day in 14...19 {
            for hour in 0..<24 {
                let time = "2026-06-\(day)T\(hour < 10 ? "0" : "")\(hour):05:00Z"
                if try await ground.remind(time) > 0 { made.append(day * 100 + hour) }
            }
        }
        // The run of 09:05 holds it until 10:00.
        #expect(made == [15_13, 17_13])
        #expect(
            try await ground.reminded() == [
                Reminded(person, 3, "2026-06-18", [expiry]),
                Reminded(person, 1, "2026-06-18", [expiry]),
            ])
    }

    @Test func `several surveys with the same last day are one notice`() async throws {
        let ground = try await SurveyJobGround()
        let (evening, midnight) = ("2026-06-17T01:00:00Z", "2026-06-17T04:00:00Z")
        let later = "2026-06-19T04:00:00Z"
        let ada = try await ground.person(expiring: midnight, later, evening)
        let bob = try await ground.person(expiring: midnight)
        #expect(try await ground.remind(ten, pageSize: 1) == 3)
        #expect(
            try await ground.reminded() == [
                Reminded(ada, 1, "2026-06-16", [evening, midnight]),
                Reminded(ada, 3, "2026-06-18", [later]),
                Reminded(bob, 1, "2026-06-16", [midnight]),
            ])
        // Again, and by two at once: nobody is told twice.
        async let one = ground.remind(ten)
        async let other = ground.remind(ten, pageSize: 1)
        #expect(try await [one, other] == [0, 0])
    }

    @Test func `nobody is told of what was completed, ended or withdrawn`() async throws {
        let ground = try await SurveyJobGround()
        let expiry = "2026-06-17T04:00:00Z"
        for state in ["completed", "expired", "withdrawn"] {
            let person = try await ground.person()
            let id = try await ground.invitation(of: person, until: expiry)
            try await ground.session.script(
                "UPDATE surveys.invitations SET state = '\(state)', ended_at = now() "
                    + "WHERE id = \(id)")
        }
        let blocked = try await ground.person(expiring: expiry)
        try await ground.session.script(
            "UPDATE people.people SET blocked_at = now() WHERE id = \(blocked)")
        #expect(try await ground.remind(ten) == 0)
        #expect(try await ground.reminded().isEmpty)
    }

    @Test func `a run that was interrupted goes on where it was`() async throws {
        let ground = try await SurveyJobGround()
        let expiry = "2026-06-17T04:00:00Z"
        for _ in 0..<5 { _ = try await ground.person(expiring: expiry) }
        await #expect(throws: Interrupted.self) {
            try await ground.remind(ten, pageSize: 2) { _ in throw Interrupted() }
        }
        #expect(try await ground.reminded().count <= 5)
        try await ground.remind(ten, pageSize: 2)
        let told = try await ground.reminded()
        #expect(told.count == 5 && Set(told.map(\.person)).count == 5)
    }
}
