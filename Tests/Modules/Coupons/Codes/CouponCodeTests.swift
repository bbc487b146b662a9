import ErrandCoupons
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Codes that people type", .database) struct CouponCodeTests {
    @Test("the database reads in a code what the command does, and refuses the same")
    func agreement() async throws {
        let session = try TestDatabase.here().session()
        let characters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyzoOiIlLuU*~$=")
        let texts = (0..<4_000).map { number in
            let symbols = (0..<13).map { _ in
                String(characters[.random(in: characters.indices)])
            }
            let groups = [symbols[..<4], symbols[4..<8], symbols[8...]].map { $0.joined() }
            return groups.joined(separator: ["-", " ", ""][number % 3])
        }
        let read = texts.map { try? CouponCode($0).text }
        let rows = try await session.query(
            """
            SELECT r.fault IS NULL AS is_code, row(r.*) IS NOT DISTINCT FROM row(p.*) AS is_same
            FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS t (typed, plain, n)
            CROSS JOIN LATERAL coupons.read_code(t.typed) r
            CROSS JOIN LATERAL coupons.read_code(coalesce(t.plain, t.typed)) p
            ORDER BY t.n
            """, [.textArray(texts), .nullableTextArray(read)])
        for (row, (text, plain)) in zip(rows, zip(texts, read)) {
            #expect(try row.bool("is_code") == (plain != nil), "\(text)")
            #expect(try row.bool("is_same"), "\(text)")
        }
        // One in 37 has the right check symbol, and most of the rest is refused for it.
        #expect(read.contains { $0 != nil } && read.contains(nil))
    }

    @Test("the text of a QR code is taken as it was copied")
    func payload() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let payload = try #require(try await ground.codes(at: 1).payload)
        for text in [
            payload, " \(payload.lowercased())\n", payload.prefix(9) + " " + payload.dropFirst(9),
        ] {
            #expect(try CouponCode(String(text)).text == payload)
            #expect(try await ground.answer(to: CouponCode(String(text)).text, at: 1) == "ok")
        }
        #expect(throws: CouponCode.Refusal.partOfQR(count: 37)) {
            try CouponCode(String(payload.dropLast()))
        }
    }
}
