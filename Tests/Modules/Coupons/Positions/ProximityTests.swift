import ErrandCoupons
import Foundation
import ErrandPostgres
import ErrandTestServices
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
            ("1990-05-17", "UTC", true, nil),
            ("1990-05-17", "UTC", false, "no consent to notices by place"),
            (nil, "UTC", true, "the person's age is not verified"),
            ("2010-06-15", "UTC", true, nil),
            ("2010-06-16", "UTC", true, "the person is under 16"),
            ("2010-06-16", "Pacific/Auckland", true, nil),
        ] as [(String?, String, Bool, String?)])
    func mayBeTold(born: String?, zone: String, agrees: Bool, objection: String?) async throws {
        let person = try await town.person(born: born, zone: zone, agrees: agrees)
        _ = try await town.coupon(of: person, at: try await town.establishment(at: here))
        let finding = try await town.look(person, at: here)
        #expect(finding.notices.count == (objection == nil ? 1 : 0))
        #expect(finding.objection == objection)
    }

    @Test(
        "who has no address that takes mail is not told, and is told once there is one",
        arguments: ["email = NULL", "email_refused_at = now()"])
    func noAddress(change: String) async throws {
        let ada = try await town.person()
        _ = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        try await town.run("UPDATE people.people SET \(change)")
        let silent = try await town.look(ada, at: here)
        #expect(silent.objection == "no device of the app and no address that takes mail")
        #expect(silent.notices.isEmpty)
        try await town.run(
            "UPDATE people.people SET email = 'ada@example.org', email_refused_at = NULL")
        #expect(try await town.look(ada, at: here).notices.count == 1)
    }

    @Test func `a report of nobody we know is dropped with its reason`() async throws {
        let finding = try await town.look(999, at: here)
        #expect(finding.objection == "no consent to notices by place")
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

    @Test func `of one coupon a person hears again after 24 hours and having left, not before`()
        async throws
    {
        let ada = try await town.person()
        _ = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        let day = 86_400.0
        // Metres from the branch: within 150 the coupon counts, from 225 on they have left.
        let steps: [(after: Double, metres: Double, isNotified: Bool)] = [
            (0, 0, true), (1, 0, false), (60, 160, false), (120, 0, false),
            // The day is over, but they were not seen away.
            (day, 0, false), (day + 60, 224, false), (day + 61, 0, false),
            (day + 62, 226, false), (day + 63, 151, false), (day + 64, 149, true),
            // Away at once, and back too early: counted from the last notice.
            (day + 65, 300, false), (2 * day + 63, 0, false), (2 * day + 64, 0, true),
        ]
        for step in steps {
            let finding = try await town.look(
                ada, at: here.north(step.metres), now: Town.noon.addingTimeInterval(step.after))
            #expect(finding.objection == nil)
            #expect(finding.notices.count == (step.isNotified ? 1 : 0), "\(step.after) s later")
        }
        #expect(try await town.notices().count == 3)
    }

    @Test func `who is still near one branch of several has not left`() async throws {
        let ada = try await town.person()
        _ = try await town.coupon(
            of: ada, at: try await town.establishment(at: here, here.north(1_000)))
        try await town.look(ada, at: here)
        let next = Town.noon.addingTimeInterval(86_400)
        #expect(try await town.look(ada, at: here.north(990), now: next).notices.isEmpty)
        let away = Town.noon.addingTimeInterval(60)
        try await town.look(ada, at: here.north(500), now: away)
        #expect(try await town.look(ada, at: here.north(990), now: next).notices.count == 1)
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

    @Test func `a wait that is over for an hour is forgotten, once the person has left`()
        async throws
    {
        let cafe = try await town.establishment(at: here)
        let day = 86_400.0
        for (after, leaves, kept) in [
            (0.0, true, 1), (3_600, false, 2), (day + 3_600, true, 3), (day + 3_601, true, 3),
            (80 * day, true, 2), (91 * day + 3_600, true, 2), (91 * day + 3_602, true, 2),
        ] {
            let person = try await town.person()
            _ = try await town.coupon(of: person, at: cafe)
            let now = Town.noon.addingTimeInterval(after)
            try await town.look(person, at: here, now: now)
            let count = try await town.number("SELECT count(*) FROM notification.cooldowns")
            #expect(count == kept, "\(after) s later")
            if leaves {
                try await town.look(
                    person, at: here.north(1_000), now: now.addingTimeInterval(1))
            }
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
        let findings = try await town.look(at: reports)
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
            "INSERT INTO people.people (time_zone) VALUES ('Mars/Olympus_Mons')",
            "UPDATE coupons.coupons SET title = E'Coffee\\r\\nBcc: all@example.org'",
            "UPDATE coupons.coupons SET title = ''",
            "UPDATE establishments.branches SET name = E'Rue\\n'",
            "UPDATE coupons.coupons SET radius_m = 5001",
        ])
    func refusedWhenWritten(sql: String) async throws {
        let ada = try await town.person()
        _ = try await town.coupon(of: ada, at: try await town.establishment(at: here))
        await #expect(throws: PostgresError.self) { try await town.run(sql) }
    }
}
