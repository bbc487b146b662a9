import ErrandLedger
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Money") struct MoneyTests {
    private let yen: Currency
    private let dinar: Currency

    init() throws {
        yen = try #require(Currency("JPY"))
        dinar = try #require(Currency("KWD"))
    }

    @Test("amounts are written with groups of three and the currency's decimals")
    func written() {
        for (units, digits) in [
            (0, "0.00"), (5, "0.05"), (-5, "-0.05"), (123, "1.23"), (123_456, "1,234.56"),
            (100_000, "1,000.00"), (-12_345_678_90, "-12,345,678.90"),
            (Int64.max, "92,233,720,368,547,758.07"), (Int64.min, "-92,233,720,368,547,758.08"),
        ] { #expect(Money(units, .cad).digits == digits) }
        #expect(Money(1_234_567, yen).digits == "1,234,567")
        #expect(Money(12, dinar).digits == "0.012")
        #expect("\(Money(-150, .usd))" == "-1.50 USD")
    }

    @Test("what was written is read back; commas stand between groups of three or nowhere")
    func read() throws {
        var random = SplitMix(seed: 7)
        for currency in [Currency.cad, yen, dinar] {
            for _ in 0..<500 {
                let units =
                    Int64(truncatingIfNeeded: random.next())
                    >> Int64.random(
                        in: 0..<63, using: &random)
                let money = Money(units, currency)
                #expect(try Money(parsing: money.digits, currency) == money)
                let plain = money.digits.filter { $0 != "," }
                #expect(try Money(parsing: plain, currency) == money)
            }
        }
        #expect(try Money(parsing: "1234.5", .cad).minorUnits == 123_450)
        #expect(try Money(parsing: "-12", .cad).minorUnits == -1_200)
        for text in [
            "", "-", ".", "1.", ".5", "1.234", "1,23", "12,34.00", "1234,567", ",123", "1 234",
            "1e3", "+1", "--1", "1.-5", "٣", "1.5 ", "1,,234",
        ] {
            #expect(throws: MoneyError.malformed(text, .cad)) { try Money(parsing: text, .cad) }
        }
        #expect(throws: MoneyError.malformed("1.0", yen)) { try Money(parsing: "1.0", yen) }
        #expect(throws: MoneyError.tooLarge(.cad)) {
            try Money(parsing: "92,233,720,368,547,758.08", .cad)
        }
    }

    @Test("parts add up, differ from their share by less than one, and go by largest remainder")
    func split() throws {
        #expect(try Money(100, .cad).split(by: [1, 1, 1]).map(\.minorUnits) == [34, 33, 33])
        #expect(try Money(-100, .cad).split(by: [1, 1, 1]).map(\.minorUnits) == [-34, -33, -33])
        #expect(try Money(10, .cad).split(by: [1, 6, 3]).map(\.minorUnits) == [1, 6, 3])
        #expect(try Money(7, .cad).split(by: [0, 50, 50]).map(\.minorUnits) == [0, 4, 3])
        #expect(try Money(1, .cad).split(by: [10, 11]).map(\.minorUnits) == [0, 1])
        #expect(
            try Money(.min, .cad).split(by: [.max]).map(\.minorUnits) == [.min],
            "the least amount, whole")
        var random = SplitMix(seed: 11)
        for _ in 0..<1_000 {
            let units = Int64.random(in: -1_000_000...1_000_000, using: &random)
            let weights = (0..<Int.random(in: 1...9, using: &random)).map { _ in
                Int64.random(in: 0...1_000, using: &random)
            }
            let sum = weights.reduce(0, +)
            guard sum > 0 else { continue }
            let parts = try Money(units, .cad).split(by: weights).map(\.minorUnits)
            #expect(parts.reduce(0, +) == units)
            for (part, weight) in zip(parts, weights) {
                #expect(abs(part * sum - units * weight) < sum)
            }
        }
        for weights: [Int64] in [[], [0], [0, 0], [-1, 2]] {
            #expect(throws: MoneyError.noParts) { try Money(5, .cad).split(by: weights) }
        }
        #expect(throws: MoneyError.tooLarge(.cad)) { try Money(5, .cad).split(by: [.max, 1]) }
    }

    @Test("what does not fit, and other currencies, are errors")
    func arithmetic() throws {
        #expect(try Money(5, .cad).adding(Money(-7, .cad)) == Money(-2, .cad))
        #expect(throws: MoneyError.tooLarge(.cad)) { try Money(.max, .cad).adding(Money(1, .cad)) }
        #expect(throws: MoneyError.tooLarge(.cad)) {
            try Money(.min, .cad).subtracting(Money(1, .cad))
        }
        #expect(throws: MoneyError.tooLarge(.cad)) { try Money(.min, .cad).negated() }
        #expect(throws: MoneyError.differentCurrencies(.cad, .usd)) {
            try Money(5, .cad).adding(Money(5, .usd))
        }
    }
}

@Suite("Currencies", .database) struct CurrencyTests {
    @Test("the database and the program know the same ones")
    func same() async throws {
        let rows = try await TestDatabase.here().session().query(
            "SELECT code, exponent FROM ledger.currencies")
        var known: [String: Int] = [:]
        for row in rows { known[try row.text(0)] = Int(try row.int16(1)) }
        #expect(known == Currency.exponents)
        #expect(known.count > 150)
        #expect(Currency("cad") == nil)
        #expect(Currency("QQQ") == nil)
        #expect(Currency.cad.minorUnits == 100)
    }
}
