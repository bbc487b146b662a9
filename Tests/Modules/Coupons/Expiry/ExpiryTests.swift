import ErrandCoupons
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Coupons that expire soon", .database) struct ExpiryTests {
    private struct Interrupted: Error {}

    /// 10:00 in Toronto.
    private let ten = "2026-06-15T14:00:00Z"

    @Test func `people are told in the day of their own zone`() async throws {
        let ground = try await ExpiryGround()
        let expiry = "2026-06-16T12:00:00Z"
        let toronto = try await ground.person(expiring: expiry)
        let dubai = try await ground.person(in: "Asia/Dubai", expiring: expiry)
        let tokyo = try await ground.person(in: "Asia/Tokyo", expiring: expiry)
        // 23:00 in Tokyo: too late to be told.
        #expect(try await ground.run(ten) == 2)
        #expect(
            try await ground.reminded() == [
                Reminded(toronto, 1, "2026-06-16", [expiry]),
                Reminded(dubai, 1, "2026-06-16", [expiry]),
            ])
        // Of no more use when their days are over, which are not the same.
        #expect(
            try await ground.town.notices().map(\.expiresAt.description)
                == ["2026-06-16T04:00:00Z", "2026-06-15T20:00:00Z"])
        try await ground.expectOneJobEach()
        // In Tokyo it was ten o'clock at 01:00 UTC.
        #expect(try await ground.run("2026-06-15T01:00:00Z") == 1)
        #expect(try await ground.reminded().last == Reminded(tokyo, 1, "2026-06-16", [expiry]))
    }

    @Test(
        "the last day is the one that ends when the coupon does, or in which it does",
        arguments: [
            ("2026-06-15T14:00:00Z", "2026-06-16T04:00:00Z", nil),
            ("2026-06-15T14:00:00Z", "2026-06-16T04:00:00.000001Z", "1 2026-06-16"),
            ("2026-06-15T14:00:00Z", "2026-06-17T04:00:00Z", "1 2026-06-16"),
            ("2026-06-15T14:00:00Z", "2026-06-17T04:00:00.000001Z", nil),
            ("2026-06-15T14:00:00Z", "2026-06-18T04:00:00Z", nil),
            ("2026-06-15T14:00:00Z", "2026-06-18T16:00:00Z", "3 2026-06-18"),
            ("2026-06-15T14:00:00Z", "2026-06-19T04:00:00Z", "3 2026-06-18"),
            ("2026-06-15T14:00:00Z", "2026-06-19T04:00:00.000001Z", nil),
            // The night without the hour from two to three.
            ("2026-03-07T15:00:00Z", "2026-03-08T05:00:00Z", nil),
            ("2026-03-07T15:00:00Z", "2026-03-08T05:00:01Z", "1 2026-03-08"),
            ("2026-03-07T15:00:00Z", "2026-03-09T04:00:00Z", "1 2026-03-08"),
            ("2026-03-07T15:00:00Z", "2026-03-09T04:00:01Z", nil),
            ("2026-03-05T15:00:00Z", "2026-03-09T04:00:00Z", "3 2026-03-08"),
            ("2026-03-05T15:00:00Z", "2026-03-09T05:00:00Z", nil),
            // The night in which that hour comes twice.
            ("2026-10-31T14:00:00Z", "2026-11-01T04:00:00Z", nil),
            ("2026-10-31T14:00:00Z", "2026-11-02T04:30:00Z", "1 2026-11-01"),
            ("2026-10-31T14:00:00Z", "2026-11-02T05:00:00Z", "1 2026-11-01"),
            ("2026-10-31T14:00:00Z", "2026-11-02T05:00:01Z", nil),
            ("2026-10-29T14:00:00Z", "2026-11-02T05:00:00Z", "3 2026-11-01"),
        ] as [(String, String, String?)])
    func lastDay(due: String, expiry: String, expected: String?) async throws {
        let ground = try await ExpiryGround()
        _ = try await ground.person(expiring: expiry)
        #expect(try await ground.run(due) == (expected == nil ? 0 : 1))
        #expect(
            try await ground.reminded().map { "\($0.daysLeft) \($0.lastDay)" }
                == (expected.map { [$0] } ?? []))
    }

    @Test func `a person is told once three days before and once the day before`() async throws {
        let ground = try await ExpiryGround()
        let expiry = "2026-06-18T16:00:00Z"
        let person = try await ground.person(expiring: expiry)
        var made: [Int] = []
        for day in 13...18 {
            for hour in 0..<24 {
                let time = "2026-06-\(day)T\(hour < 10 ? "0" : "")\(hour):00:00Z"
                let count = try await ground.run(time)
                if count > 0 { made.append(day * 100 + hour) }
            }
        }
        #expect(made == [15_14, 17_14])
        #expect(
            try await ground.reminded() == [
                Reminded(person, 3, "2026-06-18", [expiry]),
                Reminded(person, 1, "2026-06-18", [expiry]),
            ])
        try await ground.expectOneJobEach()
    }

    @Test func `coupons of a person with the same last day are told of together`() async throws {
        let ground = try await ExpiryGround()
        let (noon, evening) = ("2026-06-16T16:00:00Z", "2026-06-17T01:00:00Z")
        let (midnight, later) = ("2026-06-17T04:00:00Z", "2026-06-18T16:00:00Z")
        let ada = try await ground.person(expiring: midnight, noon, later, evening)
        let bob = try await ground.person(expiring: evening)
        #expect(try await ground.run(ten) == 3)
        #expect(
            try await ground.reminded() == [
                Reminded(ada, 1, "2026-06-16", [noon, evening, midnight]),
                Reminded(ada, 3, "2026-06-18", [later]), Reminded(bob, 1, "2026-06-16", [evening]),
            ])
        try await ground.expectOneJobEach()
    }

    @Test func `a notice lists twenty coupons and counts the others`() async throws {
        let ground = try await ExpiryGround()
        let ada = try await ground.person()
        for minute in 10..<35 {
            _ = try await ground.coupon(of: ada, until: "2026-06-16T16:\(minute):00Z")
        }
        #expect(try await ground.run(ten, pageSize: 7) == 1)
        let told = try #require(try await ground.reminded().first)
        #expect(told.titles == (10..<30).map { "2026-06-16T16:\($0):00Z" })
        let count = "SELECT (data -> 'count')::bigint FROM notification.notices"
        #expect(try await ground.town.number(count) == 25)
    }

    @Test(
        "only live coupons of people who can be told count",
        arguments: [
            ("UPDATE coupons.coupons SET redeemed_at = '2026-06-01Z'", 0),
            ("UPDATE coupons.coupons SET voided_at = '2026-06-01Z'", 0),
            ("UPDATE coupons.coupons SET valid_from = '2026-06-15T14:00:00Z'", 1),
            ("UPDATE coupons.coupons SET valid_from = '2026-06-15T14:00:01Z'", 0),
            // The inbox takes it, too.
            ("UPDATE people.people SET email = NULL", 1),
            ("UPDATE people.people SET email_refused_at = '2026-06-01Z'", 1),
            // It does not depend on a place.
            ("UPDATE people.people SET location_consent_at = NULL", 1),
            ("UPDATE people.people SET birth_date = NULL", 0),
            ("UPDATE people.people SET age_verified_at = NULL", 0),
            ("UPDATE people.people SET birth_date = '2011-01-01'", 0),
        ])
    func live(change: String, expected: Int) async throws {
        let ground = try await ExpiryGround()
        _ = try await ground.person(expiring: "2026-06-16T12:00:00Z")
        try await ground.town.run(change)
        #expect(try await ground.run(ten) == expected)
        try await ground.expectOneJobEach()
    }

    @Test func `a redeemed coupon is left out of what is told of the others`() async throws {
        let ground = try await ExpiryGround()
        let (noon, evening) = ("2026-06-16T16:00:00Z", "2026-06-17T01:00:00Z")
        let ada = try await ground.person(expiring: noon, evening)
        try await ground.town.run(
            "UPDATE coupons.coupons SET redeemed_at = now() WHERE title = $1", [.text(noon)])
        try await ground.run(ten)
        #expect(try await ground.reminded() == [Reminded(ada, 1, "2026-06-16", [evening])])
    }

    @Test func `after an outage people are told late that day, but not at night`() async throws {
        let expiry = "2026-06-16T12:00:00Z"
        let late = try await ExpiryGround()
        let ada = try await late.person(expiring: expiry)
        // 20:00 in Toronto; those in Paris sleep.
        _ = try await late.person(in: "Europe/Paris", expiring: expiry)
        #expect(try await late.run("2026-06-16T00:00:00Z") == 1)
        #expect(try await late.reminded() == [Reminded(ada, 1, "2026-06-16", [expiry])])
        #expect(try await late.town.notices()[0].expiresAt.description == "2026-06-16T04:00:00Z")
        // 21:00.
        _ = try await late.person(expiring: expiry)
        #expect(try await late.run("2026-06-16T01:00:00Z") == 0)
    }

    @Test(
        "each is told at their own time, in the run before it or the first after it",
        arguments: [
            ("10:00", "2026-06-15T13:00:00Z", nil), ("10:00", "2026-06-15T14:00:00Z", "pending"),
            ("10:30", "2026-06-15T13:00:00Z", nil), ("10:30", "2026-06-15T14:00:00Z", "held"),
            ("10:30", "2026-06-15T15:00:00Z", "pending"), ("08:00", "2026-06-15T11:00:00Z", nil),
            ("08:00", "2026-06-15T12:00:00Z", "pending"),
            ("08:00", "2026-06-16T01:00:00Z", nil), ("21:15", "2026-06-16T01:00:00Z", "held"),
            ("21:15", "2026-06-16T02:00:00Z", nil),
        ] as [(String, String, String?)])
    func ownTime(time: String, due: String, status: String?) async throws {
        let ground = try await ExpiryGround()
        _ = try await ground.person(expiring: "2026-06-16T12:00:00Z")
        try await ground.town.run(
            "UPDATE people.people SET notice_time = $1::text::time", [.text(time)])
        #expect(try await ground.run(due) == (status == nil ? 0 : 1))
        #expect(try await ground.town.notices().map(\.status) == (status.map { [$0] } ?? []))
        try await ground.expectOneJobEach()
    }

    @Test func `a job that comes to run when its day is over tells nobody`() async throws {
        let ground = try await ExpiryGround()
        let expiry = "2026-06-16T12:00:00Z"
        _ = try await ground.person(expiring: expiry)
        #expect(try await ground.run(ten, clock: "2026-06-16T04:00:00Z") == 0)
        #expect(try await ground.run(ten, clock: "2026-06-16T03:59:00Z") == 1)
    }

    @Test func `people in a zone that is not known are told by UTC, and the log counts them`()
        async throws
    {
        let ground = try await ExpiryGround()
        let expiry = "2026-06-16T12:00:00Z"
        // PostgreSQL takes rules for names of zones.
        let ada = try await ground.person(in: "Ada5", expiring: expiry)
        let bob = try await ground.person(in: "<-03>3", expiring: expiry)
        let lines = Notebook<String>()
        let log = Log { lines.add("\($0.level) \($0.message) \($0.fields)") }
        #expect(try await ground.run("2026-06-15T09:00:00Z") == 0)
        #expect(try await ground.run("2026-06-15T10:00:00Z", log: log) == 2)
        #expect(try await ground.reminded().map(\.person) == [ada, bob])
        #expect(
            lines.all == [
                "warning used UTC for people in time zones that the time zone database lacks "
                    + #"[(name: "people", value: "2")]"#
            ])
        #expect(
            try await ground.town.notices().map(\.expiresAt.description)
                == ["2026-06-16T00:00:00Z", "2026-06-16T00:00:00Z"])
    }

    @Test(
        "over many pages each person is told once, of all that belongs together",
        arguments: [1, 3, 30, 1_000] as [Int32])
    func pages(size: Int32) async throws {
        let ground = try await ExpiryGround()
        var expected: [Reminded] = []
        for number in 10..<25 {
            // Their two of a day lie far apart, and many coupons expire at the same moment.
            let (noon, night) = ("2026-06-16T16:00:00Z", "2026-06-17T03:\(number):00Z")
            let later = "2026-06-18T16:00:00Z"
            let person = try await ground.person(expiring: night, noon, later)
            expected += [
                Reminded(person, 1, "2026-06-16", [noon, night]),
                Reminded(person, 3, "2026-06-18", [later]),
            ]
        }
        let ends = Notebook<Int>()
        #expect(try await ground.run(ten, pageSize: size) { _ in ends.add(1) } == 30)
        #expect(ends.count == 1)
        #expect(try await ground.reminded() == expected)
        try await ground.expectOneJobEach()
    }

    @Test func `a run that fails at its end leaves whole pages, and the next does the rest`()
        async throws
    {
        let ground = try await ExpiryGround()
        for number in 10..<20 {
            _ = try await ground.person(expiring: "2026-06-16T16:\(number):00Z")
        }
        await #expect(throws: Interrupted.self) {
            try await ground.run(ten, pageSize: 4) { _ in throw Interrupted() }
        }
        // The empty page of the three-day walk is the last: it alone was undone.
        #expect(try await ground.reminded().count == 10)
        for number in 10..<13 {
            _ = try await ground.person(expiring: "2026-06-18T16:\(number):00Z")
        }
        await #expect(throws: Interrupted.self) {
            try await ground.run(ten, pageSize: 2) { _ in throw Interrupted() }
        }
        #expect(try await ground.reminded().count == 12)
        try await ground.expectOneJobEach()
        #expect(try await ground.run(ten) == 1)
        try await ground.expectOneJobEach()
    }

    @Test func `of runs at the same time one tells`() async throws {
        let ground = try await ExpiryGround()
        for number in 10..<60 {
            _ = try await ground.person(
                expiring: "2026-06-16T16:\(number):00Z", "2026-06-16T17:\(69 - number):00Z",
                "2026-06-18T16:\(number):00Z")
        }
        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for turn in 0..<8 {
                group.addTask {
                    // Hours and pages differ, so that they come to the same people in turns.
                    try await ground.run(
                        "2026-06-15T1\(4 + turn % 4):00:00Z", pageSize: [3, 7, 20, 100][turn / 2])
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(made == 100)
        #expect(try await ground.reminded().count == 100)
        try await ground.expectOneJobEach()
    }
}
