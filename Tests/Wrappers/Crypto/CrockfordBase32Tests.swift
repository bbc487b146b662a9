import ErrandCrypto
import Testing

@Suite("Crockford base 32")
struct CrockfordBase32Tests {
    struct Example: Sendable {
        var value: UInt64
        var text: String
        var check: Character
    }

    /// Values with the check symbols that Crockford's rule gives.
    static let examples = [
        Example(value: 0, text: "0", check: "0"),
        Example(value: 31, text: "Z", check: "Z"),
        Example(value: 32, text: "10", check: "*"),
        Example(value: 33, text: "11", check: "~"),
        Example(value: 34, text: "12", check: "$"),
        Example(value: 35, text: "13", check: "="),
        Example(value: 36, text: "14", check: "U"),
        Example(value: 1_234, text: "16J", check: "D"),
        Example(value: 1_000_000_000, text: "XSNJG0", check: "1"),
        Example(value: 123_456_789_012, text: "3JZ9J6GM", check: "B"),
        Example(value: 1 << 40 - 1, text: "ZZZZZZZZ", check: "F"),
        Example(value: .max, text: "FZZZZZZZZZZZZ", check: "B"),
    ]

    @Test("known numbers have known texts", arguments: examples)
    func known(example: Example) throws {
        let length = example.text.count
        for (isChecked, text) in [
            (false, example.text), (true, example.text + String(example.check)),
        ] {
            #expect(
                try CrockfordBase32.encode(example.value, length: length, isChecked: isChecked)
                    == text)
            #expect(
                try CrockfordBase32.decode(text, length: length, isChecked: isChecked)
                    == example.value)
        }
    }

    @Test func `shorter numbers get zeros in front, and longer ones are refused`() throws {
        #expect(try CrockfordBase32.encode(1_234, length: 8, isChecked: true) == "0000016JD")
        #expect(try CrockfordBase32.decode("0000016JD", length: 8, isChecked: true) == 1_234)
        #expect(try CrockfordBase32.encode(1 << 40 - 1, length: 8, isChecked: false).count == 8)
        #expect(throws: CrockfordBase32.Refusal.tooLarge) {
            try CrockfordBase32.encode(1 << 40, length: 8, isChecked: false)
        }
        #expect(throws: CrockfordBase32.Refusal.tooLarge) {
            try CrockfordBase32.decode("G000000000000", length: 13, isChecked: false)
        }
    }

    @Test(
        "what people make of a code is read",
        arguments: [
            "3JZ9J6GMB", "3jz9j6gmb", "3JZ9-J6GM-B", " 3jz9 j6gm\u{A0}b\n", "3JZ9‑J6GM–B",
        ])
    func tolerance(text: String) throws {
        #expect(
            try CrockfordBase32.decode(text, length: 8, isChecked: true) == 123_456_789_012)
    }

    @Test func `I and L are read as 1, O as 0, and U only as the check symbol`() throws {
        #expect(try CrockfordBase32.decode("1IiLl", length: 5, isChecked: false) == 0x108421)
        #expect(try CrockfordBase32.decode("0Oo", length: 3, isChecked: false) == 0)
        #expect(try CrockfordBase32.decode("i4u", length: 2, isChecked: true) == 36)
        // 38 is 1 modulo 37.
        #expect(try CrockfordBase32.decode("16l", length: 2, isChecked: true) == 38)
        #expect(throws: CrockfordBase32.Refusal.foreign("U")) {
            try CrockfordBase32.decode("1U4", length: 3, isChecked: false)
        }
        #expect(throws: CrockfordBase32.Refusal.foreign("*")) {
            try CrockfordBase32.decode("*00", length: 2, isChecked: true)
        }
    }

    @Test(
        "what is no code is refused",
        arguments: [
            ("", .wrongLength(expected: 4, found: 0)),
            ("16J", .wrongLength(expected: 4, found: 3)),
            ("16JDD", .wrongLength(expected: 4, found: 5)),
            ("16J!", .foreign("!")), ("1éJD", .foreign("é")), ("１6JD", .foreign("１")),
            ("16J\u{7F}", .foreign("\u{7F}")), ("16JE", .wrongCheck),
        ] as [(String, CrockfordBase32.Refusal)])
    func refused(text: String, refusal: CrockfordBase32.Refusal) {
        #expect(throws: refusal) { try CrockfordBase32.decode(text, length: 3, isChecked: true) }
    }

    @Test func `every wrong symbol and every swap of neighbours is found`() throws {
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U")
        for _ in 0..<20 {
            let value = UInt64.random(in: 0..<1 << 60)
            let code = Array(try CrockfordBase32.encode(value, length: 12, isChecked: true))
            #expect(try CrockfordBase32.decode(String(code), length: 12, isChecked: true) == value)
            for place in code.indices {
                var faulty = alphabet.filter { $0 != code[place] }.map { symbol in
                    var wrong = code
                    wrong[place] = symbol
                    return String(wrong)
                }
                if place > 0, code[place] != code[place - 1] {
                    var swapped = code
                    swapped.swapAt(place, place - 1)
                    faulty.append(String(swapped))
                }
                for text in faulty {
                    #expect(throws: CrockfordBase32.Refusal.self, "\(String(code)) as \(text)") {
                        try CrockfordBase32.decode(text, length: 12, isChecked: true)
                    }
                }
            }
        }
    }
}
