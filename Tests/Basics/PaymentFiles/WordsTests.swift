import ErrandLatinText
import ErrandPaymentFiles
import Testing

@Suite("Words and digits")
struct WordsTests {
    @Test(
        "an amount in words",
        arguments: [
            (0, "Zero and 00/100"), (1, "Zero and 01/100"), (100, "One and 00/100"),
            (1_110, "Eleven and 10/100"), (2_100, "Twenty-one and 00/100"),
            (2_000, "Twenty and 00/100"), (10_000, "One hundred and 00/100"),
            (10_100, "One hundred one and 00/100"), (11_500, "One hundred fifteen and 00/100"),
            (99_999, "Nine hundred ninety-nine and 99/100"),
            (100_000, "One thousand and 00/100"),
            (111_111, "One thousand one hundred eleven and 11/100"),
            (123_456, "One thousand two hundred thirty-four and 56/100"),
            (1_000_100, "Ten thousand one and 00/100"),
            (100_000_000, "One million and 00/100"),
            (100_000_001, "One million and 01/100"),
            (100_010_000, "One million one hundred and 00/100"),
            (4_000_019_005, "Forty million one hundred ninety and 05/100"),
            (
                99_999_999_999,
                "Nine hundred ninety-nine million nine hundred ninety-nine thousand "
                    + "nine hundred ninety-nine and 99/100"
            ),
        ] as [(Int64, String)])
    func words(cents: Int64, text: String) {
        #expect(AmountInWords.text(cents: cents) == text)
    }

    @Test func `no two amounts share their words`() {
        var seen: Set<String> = []
        for dollars in 0..<20_000 as Range<Int64> {
            #expect(seen.insert(AmountInWords.text(cents: dollars * 100)).inserted)
        }
    }

    @Test(
        "an amount in digits",
        arguments: [
            (0, 2, "0.00", "0.00"), (5, 2, "0.05", "0.05"), (-5, 2, "-0.05", "-0.05"),
            (99, 2, "0.99", "0.99"), (100, 2, "1.00", "1.00"),
            (123_456, 2, "1234.56", "1,234.56"), (-123_456, 2, "-1234.56", "-1,234.56"),
            (100_000_000, 2, "1000000.00", "1,000,000.00"), (1_234, 0, "1234", "1,234"),
            (-7, 0, "-7", "-7"), (1_234_567, 3, "1234.567", "1,234.567"),
            (.max, 2, "92233720368547758.07", "92,233,720,368,547,758.07"),
            (.min, 2, "-92233720368547758.08", "-92,233,720,368,547,758.08"),
        ] as [(Int64, Int, String, String)])
    func digits(amount: Int64, fraction: Int, plain: String, grouped: String) {
        #expect(DecimalText.plain(amount, fraction: fraction) == plain)
        #expect(DecimalText.grouped(amount, fraction: fraction) == grouped)
    }

    @Test(
        "a name in the capitals of a bank's file",
        arguments: [
            ("Élodie Œuvray", 30, "ELODIE OEUVRAY"), ("d’Arcy", 30, "D'ARCY"),
            ("Straße", 30, "STRASSE"), ("  a  b  ", 30, "A B"), ("abc def", 3, "ABC"),
            ("abc def", 4, "ABC"), ("abc def", 5, "ABC D"), ("aß", 2, "AS"),
            ("e\u{301}", 30, "E"), ("山🙂", 30, ""), ("", 30, ""), ("a🙂b", 30, "AB"),
            ("a★ b", 30, "A B"), ("a ★ b", 30, "A B"),
        ])
    func capitals(text: String, limit: Int, expected: String) {
        var bytes: [UInt8] = [1]
        let count = PlainLetters.appendCapitals(
            of: text, limit: limit, where: { $0 != UInt8(ascii: "*") }, to: &bytes)
        #expect(String(decoding: bytes.dropFirst(), as: UTF8.self) == expected)
        #expect(count == expected.utf8.count)
    }

    @Test func `each letter of the table becomes ASCII letters or marks`() {
        for value in 0xA0...0x1EFF as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value),
                let plain = PlainLetters.text(for: scalar)
            else { continue }
            #expect(plain.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        }
        // All of Latin-1 that is a letter, and all of Latin Extended-A.
        for value in Array(0xC0...0x17F) as [UInt32] where value != 0xD7 && value != 0xF7 {
            #expect(Unicode.Scalar(value).map { PlainLetters.text(for: $0) ?? "" } != "")
        }
    }

    @Test(
        "a field of a spreadsheet is no formula, and comes back as it was",
        arguments: [
            ("plain", "plain"), ("", ""), ("a,b", "\"a,b\""), ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a\r\nb", "\"a\r\nb\""), ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"),
            ("@a", "'@a"), ("\ta", "'\ta"), ("=a,\"b\"", "\"'=a,\"\"b\"\"\""),
            ("\r\na", "\"'\r\na\""), ("\u{FF1D}1", "'\u{FF1D}1"), ("\u{A0}=1", "'\u{A0}=1"),
            ("'=1", "''=1"), ("\"=1\"", "\"'\"\"=1\"\"\""),
        ])
    func fields(text: String, field: String) {
        #expect(CSVText.field(text) == field)
    }
}
