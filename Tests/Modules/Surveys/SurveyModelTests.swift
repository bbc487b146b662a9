import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// A random year of surveys in the database and in memory, with equal answers.
@Suite("A year of surveys", .database) struct SurveyModelTests {
    private static let zones = [
        "America/Toronto", "America/Toronto", "America/St_Johns", "Asia/Kathmandu", "Asia/Beirut",
        "Pacific/Auckland",
    ]

    private struct Year {
        let ground: SurveyGround
        var model: SurveyModel
        var random: SplitMix
        var now = SurveyGround.noon
        var receipts: [(number: String, branch: Int64, bought: Int64)] = []
        var requests = 0

        /// A person, who is the same for a while: days have limits.
        var person: Int64 = 1

        mutating func some<Element>(_ all: [Element]) -> Element {
            all[random.number(0...(all.count - 1))]
        }

        mutating func request() -> String {
            requests += 1
            return "request-\(requests)"
        }
    }

    @Test("the database is as the model", arguments: [1, 2] as [UInt64])
    func year(seed: UInt64) async throws {
        let ground = try await SurveyGround(people: Self.zones.count)
        for (person, zone) in zip(1..., Self.zones) {
            _ = try await ground.session.query(
                "UPDATE people.people SET time_zone = $2 WHERE id = $1",
                [.int64(Int64(person)), .text(zone)])
        }
        var year = Year(
            ground: ground,
            model: SurveyModel(
                zones: try Self.zones.map { try #require(TimeZone(identifier: $0)) },
                places: [1: (1, true), 2: (2, true), 3: (1, false)]),
            random: SplitMix(seed: seed))
        for survey in 1...3 as ClosedRange<Int64> { try await put(&year, survey) }
        for step in 1...900 {
            // Some days now and then, which make a year; minutes else.
            year.now +=
                year.random.number(0...7) == 0
                ? year.random.number(0...600_000) : year.random.number(0...600)
            if year.random.number(0...6) == 0 {
                year.person = year.random.number(1...Int64(Self.zones.count))
            }
            switch year.random.number(0...99) {
            case 0...2: try await put(&year, year.random.number(1...3))
            case 3: try await close(&year, year.random.number(1...3))
            case 4...49: try await scan(&year)
            case 50...59: try await invite(&year)
            case 60...94: try await complete(&year)
            default: try await review(&year)
            }
            if step % 10 == 0 { try await compareListings(year) }
        }
        try await compare(year)
    }

    private func put(_ year: inout Year, _ survey: Int64) async throws {
        let version = SurveyModel.Version(
            title: "Survey \(year.random.number(1...3))", days: year.random.number(1...20),
            cut: year.random.number(1...400), coupon: year.some([nil, "A tea", "A cake"]),
            questions: year.random.number(1...3))
        let questions = Array(
            repeating: #"{"kind": "rating", "label": "x", "is_required": true}"#,
            count: version.questions)
        let place = try #require(year.model.places[survey])
        let number = try await year.ground.session.query(
            """
            SELECT surveys.put_survey($1, $2, $3, 2, $4, 500, $5, 'CAD', $6, 9, $7::text::jsonb, $8)
            """,
            [
                .int64(survey), .int64(place.establishment), .text(version.title),
                .int32(Int32(version.days)), .int64(version.cut), .optional(version.coupon),
                .text("[" + questions.joined(separator: ",") + "]"), .bool(place.forReceipts),
            ])
        let expected = year.model.put(survey, version)
        #expect(try Int(number.int32(0, 0)) == expected)
    }

    private func close(_ year: inout Year, _ survey: Int64) async throws {
        _ = try await year.ground.session.query("SELECT surveys.close_survey($1)", [.int64(survey)])
        year.model.closed.insert(survey)
    }

    private func scan(_ year: inout Year) async throws {
        var receipt = (
            number: "R-\(year.receipts.count)", branch: year.some([1, 1, 1, 2, 3] as [Int64]),
            bought: year.now - year.random.number(-700...(3 * SurveyGround.day))
        )
        if !year.receipts.isEmpty, year.random.number(0...3) == 0 {
            receipt = year.some(year.receipts)
        } else {
            year.receipts.append(receipt)
        }
        let establishment = (receipt.branch + 1) / 2
        let (person, now) = (year.person, year.now)
        let given = try await year.ground.scan(
            year.ground.code(
                receipt.number, of: establishment, branch: receipt.branch, at: receipt.bought),
            by: person, request: year.request(), at: now)
        let reason = year.model.scan(
            receipt.number, at: receipt.branch, of: establishment, bought: receipt.bought,
            by: person, now: now)
        #expect(given.reason == reason ?? "ok", "\(receipt) by \(person) at \(now)")
        guard given.reason == "ok", let id = given.invitation,
            let survey = year.model.survey(of: establishment)
        else { return }
        year.model.count(receipt.number, at: receipt.branch, by: person, now: now)
        year.model.invited(id, person, to: survey, from: receipt.bought)
        #expect(try seconds(given.expiresAt ?? "") == year.model.invitations[id]?.expires)
    }

    private func invite(_ year: inout Year) async throws {
        let survey = year.random.number(1...3 as ClosedRange<Int64>)
        let request = year.request()
        let given = try await year.ground.invite(
            year.person, to: survey, request: request, at: year.now)
        #expect(given.reason == (year.model.closed.contains(survey) ? "closed" : "ok"))
        guard let id = given.invitation else { return }
        year.model.invited(id, year.person, to: survey, from: year.now)
        #expect(
            try await year.ground.invite(
                year.person, to: survey, request: request, at: year.now + 50) == given)
    }

    private func complete(_ year: inout Year) async throws {
        // Mostly what the person can answer, else any.
        let open = year.model.invitations.values.filter {
            $0.person == year.person && $0.request == nil && $0.expires > year.now
        }.map(\.id).sorted()
        let all = year.model.invitations.keys.sorted()
        guard !all.isEmpty else { return }
        let isOpen = !open.isEmpty && year.random.number(0...3) > 0
        let id = isOpen ? year.some(open) : year.some(all)
        guard let held = year.model.invitations[id] else { return }
        let version = try #require(year.model.versions[held.survey]?[held.version - 1])
        let isComplete = year.random.number(0...9) > 0
        let ratings = (1...version.questions).map {
            "\"\($0)\": \(isComplete || $0 > 1 ? "\(year.random.number(1...5))" : "null")"
        }
        let repeated = held.request != nil && year.random.number(0...1) == 0
        let answers =
            repeated ? held.answers ?? "" : "{" + ratings.joined(separator: ", ") + "}"
        let request = repeated ? held.request ?? "" : year.request()
        let person = year.random.number(0...19) == 0 ? year.person : held.person
        let done = try await year.ground.complete(
            id, by: person, answers, request: request, at: year.now)
        let before = year.model.balances[person] ?? 0
        let reason = year.model.complete(
            id, by: person, answers, isComplete: isComplete, request: request, now: year.now)
        #expect(done.reason == reason, "\(held) by \(person) at \(year.now)")
        if reason == "ok" {
            #expect(done.reward == version.cut)
            #expect((done.coupon != nil) == (version.coupon != nil))
        }
        if repeated { #expect(year.model.balances[person] ?? 0 == before) }
    }

    private func review(_ year: inout Year) async throws {
        let done = year.model.invitations.values.filter { $0.request != nil }.map(\.id).sorted()
        guard !done.isEmpty else { return }
        let (id, verdict) = (year.some(done), year.some(["good", "good", "bad", "fraud"]))
        let answer = try await year.ground.text(
            "SELECT surveys.review(\(id), '\(verdict)', 'Olga', 'why')")
        let known = year.model.verdicts[id]
        #expect(answer == (known == nil ? "recorded" : known == verdict ? "same" : "replaced"))
        year.model.verdicts[id] = verdict
    }

    private func compareListings(_ year: Year) async throws {
        for person in 1...Int64(Self.zones.count) {
            let listed = try await year.ground.texts(
                "SELECT invitation_id || ' ' || title || ' ' || days_left "
                    + "FROM surveys.listing_at(\(person), 1000, to_timestamp(\(year.now)))")
            #expect(listed == year.model.listing(person, now: year.now), "\(person)")
        }
    }

    private func compare(_ year: Year) async throws {
        let ground = year.ground
        for person in 1...Int64(Self.zones.count) {
            #expect(
                try await ground.number(
                    "SELECT coalesce(sum(amount), 0)::bigint FROM ledger.reward_balance(\(person))")
                    == year.model.balances[person] ?? 0)
            #expect(
                try await ground.texts(
                    "SELECT title FROM coupons.coupons WHERE person_id = \(person) ORDER BY id")
                    == year.model.coupons[person] ?? [])
            #expect(
                try await ground.number(
                    "SELECT coalesce(sum(deeds), 0)::bigint FROM badges.counts "
                        + "WHERE person_id = \(person) AND kind = 'surveys_done'")
                    == Int64(
                        year.model.invitations.values.count {
                            $0.person == person && $0.request != nil
                                && (year.model.verdicts[$0.id] ?? "good") == "good"
                        }))
        }
        #expect(
            try await ground.number("SELECT count(*) FROM surveys.receipts")
                == Int64(year.model.used.count))
        let rejected = year.model.verdicts.filter { $0.value != "good" }.keys.sorted()
        #expect(
            try await ground.texts(
                "SELECT c.invitation_id::text FROM surveys.completions c WHERE state = 'rejected' "
                    + "ORDER BY c.invitation_id") == rejected.map { "\($0)" })
        // The ledger's own rule: all is balanced.
        #expect(try await ground.number("SELECT sum(amount)::bigint FROM ledger.postings") == 0)
        #expect(year.model.balances.values.reduce(0, +) > 0)
        #expect(year.now > SurveyGround.noon + 250 * SurveyGround.day)
    }
}
