import ErrandJSONText
import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// The scanner beside two others that know JSON: Foundation, and PostgreSQL, which has to store
/// what the scanner lets through.
@Suite("JSON scanner and its oracles", .database) struct JSONOracleTests {
    private func refusal(_ bytes: [UInt8]) -> JSONSyntaxError? {
        do {
            try JSONScanner.checkObject(bytes[...])
            return nil
        } catch { return error }
    }

    private func foundationTakes(_ bytes: [UInt8]) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(bytes))) is [String: Any]
    }

    /// Foundation lets a comma stand before a closing bracket.
    private func isAtTrailingComma(_ bytes: [UInt8], _ refusal: JSONSyntaxError) -> Bool {
        let before = bytes[..<(refusal.column - 1)].reversed()
            .first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let isClosing =
            refusal.column <= bytes.count && [0x5D, 0x7D].contains(bytes[refusal.column - 1])
        return before == UInt8(ascii: ",") && isClosing
    }

    /// Foundation's numbers end at 1.8e308, so that more digits than these are not compared.
    private func hasLargeExponent(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self)
            .range(of: "[eE][+-]?[0-9]{3}|[0-9]{200}", options: .regularExpression) != nil
    }

    /// What PostgreSQL says of each text: whether it is an object that jsonb can hold.
    private func postgresTakes(_ texts: [[UInt8]]) async throws -> [Bool] {
        let session = try TestDatabase.here().session()
        try await session.script(
            """
            CREATE OR REPLACE FUNCTION pg_temp.takes(bytes bytea) RETURNS boolean
            LANGUAGE plpgsql AS $$
            BEGIN
                RETURN jsonb_typeof(convert_from(bytes, 'UTF8')::jsonb) = 'object';
            EXCEPTION WHEN others THEN
                RETURN false;
            END $$
            """)
        let rows = try await session.query(
            """
            SELECT pg_temp.takes(decode(hex, 'hex'))
            FROM unnest($1::text[]) WITH ORDINALITY AS t (hex, n) ORDER BY n
            """,
            [.textArray(texts.map { $0.map { String(format: "%02x", $0) }.joined() })])
        return try (0..<rows.count).map { try rows.bool($0, 0) }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `objects made at random are taken by all three`(_ seed: UInt64) async throws {
        var mutations = JSONMutations(seed: seed)
        let texts = (0..<300).map { _ in Array(mutations.object().utf8) }
        for text in texts {
            #expect(refusal(text) == nil, "\(String(decoding: text, as: UTF8.self))")
            #expect(foundationTakes(text), "\(String(decoding: text, as: UTF8.self))")
        }
        #expect(try await postgresTakes(texts).allSatisfy { $0 })
    }

    @Test(arguments: [11, 12, 13] as [UInt64])
    func `of damaged objects the scanner takes those that Foundation takes`(_ seed: UInt64) {
        var mutations = JSONMutations(seed: seed)
        var taken = 0
        for _ in 0..<4_000 {
            let text = mutations.damaged()
            let shown = "seed \(seed): \(String(decoding: text, as: UTF8.self))"
            if let refusal = refusal(text) {
                // Foundation stores U+0000, and PostgreSQL does not.
                if isAtTrailingComma(text, refusal) || refusal.problem.contains("U+0000") {
                    continue
                }
                #expect(!foundationTakes(text), "\(shown): \(refusal)")
            } else if !hasLargeExponent(text) {
                taken += 1
                #expect(foundationTakes(text), "\(shown)")
            }
        }
        #expect((200..<3_800).contains(taken), "the damage is neither always nor never harmless")
    }

    @Test(arguments: [21, 22, 23] as [UInt64])
    func `of damaged objects the scanner takes exactly those that PostgreSQL stores`(
        _ seed: UInt64
    ) async throws {
        var mutations = JSONMutations(seed: seed)
        let texts = (0..<4_000).map { _ in mutations.damaged() }
        for (text, isStored) in zip(texts, try await postgresTakes(texts)) {
            #expect(
                (refusal(text) == nil) == isStored,
                "seed \(seed): \(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test func `the scanner knows which numbers PostgreSQL stores`() async throws {
        let zeros = { (count: Int) in String(repeating: "0", count: count) }
        let nines = { (count: Int) in String(repeating: "9", count: count) }
        let numbers = [
            "1e131071", "1e131072", "-1e131071", "-1e131072", "12e131070", "12e131071",
            "0.1e131072", "0.1e131073", "0.001e131074", "0.001e131075", "0.0e200000", "0e200000",
            "0e1073741822", "0e1073741823", "1e1073741823", "0e99999999999999999999",
            "1e-16383", "1e-16384", "0e-16383", "0e-16384", "1.5e-16382", "1.5e-16383",
            "1e-99999999999999999999", "0.000e-16380", "0.000e-16381", "10.0e131070",
            "10.0e131071", nines(131_072), nines(131_073), "0." + nines(16_383),
            "0." + nines(16_384), "0." + zeros(16_384), "1" + zeros(140_000) + "e-10000",
            "1" + zeros(140_000) + "e-8000", nines(2_000) + "." + nines(2_000), "1e1000",
            "1E+0000000000000000000000001", "0." + zeros(10_000) + "1e141072",
            "0." + zeros(10_000) + "1e141073", "0." + nines(20_000) + "e5000",
            "0." + nines(20_000) + "e3000",
        ]
        let texts = numbers.map { Array("{\"n\": \($0)}".utf8) }
        for (number, (text, isStored)) in zip(
            numbers, zip(texts, try await postgresTakes(texts)))
        {
            #expect(
                (refusal(text) == nil) == isStored, "\(number.prefix(40)), \(number.count) digits")
        }
        #expect(
            refusal(texts[1])?.description
                == "column 7: expected a number with up to 131072 digits before the point and "
                + "16383 after it")
    }

    @Test func `the deepest nesting that the scanner takes is stored`() async throws {
        let text =
            #"{"a":"# + String(repeating: "[", count: 254) + String(repeating: "]", count: 254)
            + "}"
        #expect(refusal(Array(text.utf8)) == nil)
        #expect(foundationTakes(Array(text.utf8)))
        #expect(try await postgresTakes([Array(text.utf8)]) == [true])
    }
}
