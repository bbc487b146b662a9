import Coupons
import Foundation
import Postgres
import TestServices
import Testing

@Suite("Coupons near by", .database) struct ProximityTests {
    private let town: Town
    private let here = Place.montreal

    init() throws { town = try Town() }

    @Test func `a person is told of their own coupons and of nobody else's`() async throws {
        let cafe = try await town.establishment(at: here)
        let ada = try await town.person("ada@example.org")
        let bob = try await town.person("bob@example.org")
        let hers = try await town.coupon(of: ada, at: cafe)
        _ = try await town.coupon(of: bob, at: cafe)
        let finding = try await town.look(ada, at: here)
        let notices = try await town.notices()
        #expect(notices.map(\.id) == finding.notices)
        #expect(notices.map(\.person) == [ada])
        #expect(notices.map(\.subject) == ["coupon:\(hers)"])
        #expect(notices.map(\.status) == ["pending"])
    }

    @Test func `only branches of the coupon's establishment count`() async throws {
        let ada = try await town.person()
        _ = try await town.establishment(at: here)
        let other = try await town.establishment(at: here.north(10_000))
        _ = try await town.coupon(of: ada, at: other)
        #expect(try await town.look(ada, at: here).notices.isEmpty)
    }

    @Test(
        "only coupons that may be used now are told of",
        arguments: [
            ("expires_at = $2", 0.0, 0), ("expires_at = $2", 0.001, 1),
            ("expires_at = $2", -86_400, 0), ("valid_from = $2", 0, 1),
            ("valid_from = $2", 0.001, 0), ("redeemed_at = $2", -60, 0),
            ("voided_at = $2", -60, 0), ("title = title || $2", 0, 1),
        ] as [(String, Double, Int)])
    func live(change: String, seconds: Double, expected: Int) async throws {
        let ada = try await town.person()
        let coupon = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        let at = Instant(date: Town.noon.addingTimeInterval(seconds))
        try await town.run(
            "UPDATE coupons.coupons SET \(change) WHERE id = $1", [.int64(coupon), .timestamp(at)])
        let finding = try await town.look(ada, at: here)
        #expect(finding.objection == nil)
        #expect(finding.notices.count == expected)
    }

    @Test(
        "nobody is told who has not agreed, or is not known to be 16 wherever they are",
        arguments: [
            ("1990-05-17", true, true), ("1990-05-17", false, false), (nil, true, false),
            // 16 on the 14th: so it is everywhere. 16 on the 15th: not yet west of UTC.
            ("2010-06-14", true, true), ("2010-06-15", true, false), ("2011-01-01", true, false),
        ] as [(String?, Bool, Bool)])
    func mayBeTold(born: String?, agrees: Bool, expected: Bool) async throws {
        let person = try await town.person(born: born, agrees: agrees)
        _ = try await town.coupon(of: person, at: try await town.establishment(at: here))
        let finding = try await town.look(person, at: here)
        #expect((finding.notices.count == 1) == expected)
        #expect(
            finding.objection
                == (expected ? nil : "no consent to notices by place, or not known to be 16"))
    }

    @Test(
        "who has no address that takes mail is not told, and is told once there is one",
        arguments: ["email = NULL", "email_refused_at = now()"])
    func noAddress(change: String) async throws {
        let ada = try await town.person()
        _ = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        try await town.run("UPDATE notification.people SET \(change)")
        let silent = try await town.look(ada, at: here)
        #expect(silent.objection == "no address that takes mail")
        #expect(silent.notices.isEmpty)
        try await town.run(
            "UPDATE notification.people SET email = 'ada@example.org', email_refused_at = NULL")
        #expect(try await town.look(ada, at: here).notices.count == 1)
    }

    @Test func `a report of nobody we know is dropped with its reason`() async throws {
        let finding = try await town.look(999, at: here)
        #expect(finding.objection == "no consent to notices by place, or not known to be 16")
    }

    @Test func `a report serves the coupons for which it is accurate enough`() async throws {
        let ada = try await town.person()
        let cafe = try await town.establishment(at: here)
        _ = try await town.coupon(of: ada, at: cafe, radius: 50)
        let wide = try await town.coupon(of: ada, at: cafe, radius: 500)
        let poor = try await town.look(ada, at: here, accuracy: 501)
        #expect(poor.objection == "accuracy 501 m is worse than the radius of 500 m")
        #expect(poor.notices.isEmpty)
        let fair = try await town.look(ada, at: here, accuracy: 500)
        #expect(fair.objection == nil)
        #expect(try await town.notices().map(\.subject) == ["coupon:\(wide)"])
    }

    @Test func `several branches near by give one notice, of the nearest`() async throws {
        let ada = try await town.person()
        let chain = try await town.establishment(
            at: here.north(90), here.north(-40), here.north(60), here.north(5_000))
        _ = try await town.coupon(of: ada, at: chain)
        #expect(try await town.look(ada, at: here).notices.count == 1)
        let notices = try await town.notices()
        #expect(notices.map(\.branch) == ["Branch 2"])
        #expect(abs(try #require(notices.first?.distance) - 40) < 1)
    }

    @Test func `of one coupon a person hears again after 24 hours, not a minute before`()
        async throws
    {
        let ada = try await town.person()
        _ = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        let day = 86_400.0
        // Counted from the last notice: the ones that were held back do not prolong the wait.
        let told: [(after: Double, isTold: Bool)] = [
            (0, true), (0, false), (60, false), (day - 60, false), (day - 0.001, false),
            (day, true), (day + 1, false), (2 * day - 60, false), (2 * day, true),
        ]
        for each in told {
            let finding = try await town.look(
                ada, at: here, now: Town.noon.addingTimeInterval(each.after))
            #expect(finding.objection == nil)
            #expect(finding.notices.count == (each.isTold ? 1 : 0), "\(each.after) s later")
        }
        #expect(try await town.notices().count == 3)
    }

    @Test func `the wait for one coupon does not hold back another`() async throws {
        let ada = try await town.person()
        let cafe = try await town.establishment(at: here)
        _ = try await town.coupon(of: ada, at: cafe)
        try await town.look(ada, at: here)
        let second = try await town.coupon(of: ada, at: cafe)
        try await town.look(ada, at: here, now: Town.noon.addingTimeInterval(60))
        #expect(try await town.notices().map(\.subject).last == "coupon:\(second)")
        #expect(try await town.notices().count == 2)
    }

    @Test func `a wait that is over for an hour is forgotten`() async throws {
        let cafe = try await town.establishment(at: here)
        let day = 86_400.0
        for (after, kept) in [(0.0, 1), (3_600, 2), (day + 3_600, 3), (day + 3_601, 3)] {
            let person = try await town.person()
            _ = try await town.coupon(of: person, at: cafe)
            try await town.look(person, at: here, now: Town.noon.addingTimeInterval(after))
            let count = try await town.number("SELECT count(*) FROM notification.cooldowns")
            #expect(count == kept, "\(after) s later")
        }
    }

    @Test func `two reports of one person in a batch give each notice once`() async throws {
        let ada = try await town.person()
        let bob = try await town.person()
        let cafe = try await town.establishment(at: here, here.north(1_000))
        _ = try await town.coupon(of: ada, at: cafe)
        _ = try await town.coupon(of: ada, at: cafe)
        _ = try await town.coupon(of: bob, at: cafe)
        let findings = try await town.look([
            (ada, here.north(50)), (bob, here), (ada, here), (ada, here.north(1_000)),
        ])
        #expect(findings.allSatisfy { $0.objection == nil })
        #expect(findings.map(\.notices.count) == [2, 1, 0, 0])
        let notices = try await town.notices()
        #expect(Set(findings.flatMap(\.notices)) == Set(notices.map(\.id)))
        #expect(notices.filter { $0.person == ada }.allSatisfy { ($0.distance ?? 9) < 1 })
    }

    @Test func `bad reports in a batch do not hold back the good one`() async throws {
        let ada = try await town.person()
        _ = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        let reports = [
            town.report(ada, here, at: Town.noon.addingTimeInterval(-601)),
            town.report(ada, Place(500, 100), at: Town.noon),
            town.report(ada, here, accuracy: 9_999, at: Town.noon),
            town.report(ada, here, at: Town.noon),
        ]
        let findings = try await town.pool.transaction {
            try await Proximity.look(at: reports, now: Town.noon, in: $0)
        }
        #expect(findings.map { $0.objection == nil } == [false, false, false, true])
        #expect(findings.map(\.notices.count) == [0, 0, 0, 1])
    }

    @Test(
        "a coupon's last day is that of the person's calendar",
        arguments: [
            ("UTC", "2026-06-20T04:00:00Z", "2026-06-20"),
            ("America/Toronto", "2026-06-20T04:00:00Z", "2026-06-19"),
            ("UTC", "2026-06-20T00:00:00Z", "2026-06-19"),
            ("Pacific/Auckland", "2026-06-20T11:59:00Z", "2026-06-20"),
            ("Pacific/Auckland", "2026-06-20T13:00:00Z", "2026-06-21"),
        ])
    func lastDay(zone: String, until: String, day: String) async throws {
        let person = try await town.person(zone: zone)
        let cafe = try await town.establishment(at: here)
        _ = try await town.coupon(of: person, at: cafe, until: until)
        try await town.look(person, at: here)
        #expect(try await town.notices().map(\.lastDay) == [day])
    }

    @Test func `a notice is of use for an hour, or as long as the coupon`() async throws {
        let ada = try await town.person()
        let cafe = try await town.establishment(at: here)
        _ = try await town.coupon(of: ada, at: cafe)
        _ = try await town.coupon(of: ada, at: cafe, until: "2026-06-15T12:20:00Z")
        try await town.look(ada, at: here)
        let notices = try await town.notices()
        #expect(notices.allSatisfy { $0.createdAt == Instant(date: Town.noon) })
        #expect(
            Set(notices.map(\.expiresAt.description))
                == ["2026-06-15T13:00:00Z", "2026-06-15T12:20:00Z"])
    }

    @Test(
        "what would spoil a mail or a batch is refused where it is written",
        arguments: [
            "INSERT INTO notification.people (time_zone) VALUES ('Mars/Olympus_Mons')",
            "UPDATE coupons.coupons SET title = E'Coffee\\r\\nBcc: all@example.org'",
            "UPDATE coupons.coupons SET title = ''",
            "UPDATE coupons.branches SET name = E'Rue\\n'",
            "UPDATE coupons.coupons SET radius_m = 5001",
        ])
    func refusedWhenWritten(sql: String) async throws {
        let ada = try await town.person()
        _ = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        await #expect(throws: PostgresError.self) { try await town.run(sql) }
    }
}
