import ErrandCrypto
import ErrandPostgres
import ErrandTestServices
import Testing

/// Ten thousand receipts that are wrong in every way, by many people.
@Suite("Bad receipts", .database) struct BadReceiptTests {
    private static let noon = SurveyGround.noon
    private static let day = SurveyGround.day
    private static let people: Int64 = 1_000

    private struct Bad: Sendable {
        var code: String
        var reason: String
        /// The person who has scanned it before, or who scans it too often.
        var person: Int64
    }

    /// One of each kind in turn; person by person, so that nobody reaches the limit of wrong codes.
    private func bad(_ number: Int, _ ground: SurveyGround, _ random: inout SplitMix) throws -> Bad
    {
        let person = Int64(number) % Self.people + 1
        let name = "B-\(number)"
        let good = try ground.code(name)
        switch number / Int(Self.people) {
        case 0:  // Forged: one digit of the MAC.
            let place = random.number(0...19)
            var digits = Array(good)
            let index = digits.count - 1 - place
            digits[index] = digits[index] == "A" ? "B" : "A"
            return Bad(code: String(digits), reason: "unknown", person: person)
        case 1:  // Forged: random MACs.
            let mac = (0..<20).map { _ in Array("0123456789ABCDEF")[random.number(0...15)] }
            return Bad(
                code: String(good.dropLast(20)) + String(mac), reason: "unknown", person: person)
        case 2:  // Replayed: scanned by somebody else.
            return Bad(code: try ground.code("G-\(person)"), reason: "used", person: person)
        case 3:  // Another establishment's: its key, or its branch.
            let code =
                number % 2 == 0
                ? try ground.code(name, key: ground.keys[2]) : try ground.code(name, branch: 3)
            return Bad(code: code, reason: "unknown", person: person)
        case 4:  // Clocks ahead.
            let ahead = random.number(601...1_000_000 as ClosedRange<Int64>)
            return Bad(
                code: try ground.code(name, at: Self.noon + ahead), reason: "from_future",
                person: person)
        case 5:  // Bought too long ago.
            let age = random.number((15 * Self.day)...(4_000 * Self.day))
            return Bad(
                code: try ground.code(name, at: Self.noon - age), reason: "too_old", person: person)
        case 6:  // Changed after it was signed.
            let code =
                random.number(0...1) == 0
                ? good.replacing(".B-", with: ".C-")
                : good.replacing(".\(Self.noon).", with: ".\(Self.noon - 60).")
            return Bad(code: code, reason: "unknown", person: person)
        case 7:  // Cut, or with more behind it.
            let code =
                random.number(0...1) == 0
                ? String(good.dropLast(random.number(1...30))) : good + "0"
            return Bad(code: code, reason: "malformed", person: person)
        case 8:  // No receipts at all.
            let length = random.number(0...300)
            let text = String(
                (0..<length).map { _ in
                    Character(
                        Unicode.Scalar(
                            random.number(UInt8(1)...UInt8(126))))
                })
            return Bad(code: text, reason: "malformed", person: person)
        default:  // Establishments that do not exist, or have no key.
            return Bad(
                code: try ground.code(
                    name, of: Int64(100 + number), key: ground.keys[1]), reason: "unknown",
                person: person)
        }
    }

    @Test("each gets its reason, and none an invitation", arguments: [1, 2] as [UInt64])
    func bad(seed: UInt64) async throws {
        let ground = try await SurveyGround(people: Int(Self.people) + 1_000)
        try await ground.put()
        // The genuine receipts, scanned by the people with the ids from 1001.
        for number in 1...Self.people {
            let given = try await ground.scan(
                ground.code("G-\(number)"), by: Self.people + number)
            #expect(given.reason == "ok")
        }
        let before = try await ground.text(
            "SELECT md5(string_agg(i::text, ',' ORDER BY i.id)) FROM surveys.invitations i")
        var random = SplitMix(seed: seed)
        let all = try (0..<10_000).map { try bad($0, ground, &random) }
        var wrong: [String] = []
        for start in stride(from: 0, to: all.count, by: 500) {
            let some = Array(all[start..<(start + 500)])
            let rows = try await ground.session.query(
                """
                SELECT (surveys.scan_at(b.person, b.code, 'r' || $4 + b.n, to_timestamp($3))).reason
                FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS b (person, code, n)
                ORDER BY n
                """,
                [
                    .int64Array(some.map(\.person)), .textArray(some.map(\.code)),
                    .double(Double(Self.noon)), .int64(Int64(start)),
                ])
            for (bad, row) in zip(some, rows) {
                let reason = try row.text("reason")
                if reason != bad.reason { wrong.append("\(bad): \(reason)") }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(5))")
        #expect(
            try await ground.text(
                "SELECT md5(string_agg(i::text, ',' ORDER BY i.id)) FROM surveys.invitations i")
                == before)
        #expect(try await ground.number("SELECT count(*) FROM surveys.receipts") == Self.people)
    }
}
