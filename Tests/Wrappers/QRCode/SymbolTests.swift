import ErrandQRCode
import Testing

@Suite("QR symbols")
struct SymbolTests {
    @Test func `a symbol is of version 2 and level M unless another is asked for`() throws {
        let symbol = try QRSymbol("HELLO WORLD")
        #expect(symbol.version == 2 && symbol.level == .medium && symbol.side == 25)
        #expect(try symbol == QRSymbol("HELLO WORLD", level: .medium, version: 2))
        #expect(try symbol != QRSymbol("HELLO WORLE"))
    }

    @Test("the level that was asked for is in the symbol", arguments: QRSymbol.Level.allCases)
    func level(level: QRSymbol.Level) throws {
        let symbol = try QRSymbol("A", level: level)
        // The first two modules of the format information, under its mask (ISO/IEC 18004, 7.9).
        let bits = (0...1).map { symbol.isDark(row: 8, column: $0) }
        let written: [QRSymbol.Level: [Bool]] = [
            .low: [true, true], .medium: [true, false], .quartile: [false, true],
            .high: [false, false],
        ]
        #expect(bits == written[level])
    }

    @Test("what lies around the symbol is light", arguments: [-1, 25, .min, .max])
    func outside(place: Int) throws {
        let symbol = try QRSymbol("HELLO WORLD")
        #expect(symbol.isDark(row: 0, column: 0) && symbol.isDark(row: 24, column: 0))
        #expect(!symbol.isDark(row: place, column: 0) && !symbol.isDark(row: 0, column: place))
    }

    @Test("a level takes as much as the standard says", arguments: QRSymbol.Level.allCases)
    func capacity(level: QRSymbol.Level) throws {
        for (index, count) in try #require(capacities[level]).enumerated() {
            let version = index + 1
            let full = String(repeating: "A", count: count)
            #expect(try QRSymbol(full, level: level, version: version).side == 17 + 4 * version)
            #expect(
                throws: QRCodeError.tooLong(
                    count: count + 1, version: version, level: level, fits: version + 1)
            ) { try QRSymbol(full + "A", level: level, version: version) }
        }
    }

    @Test func `digits count as characters, so that the text alone decides what fits`() throws {
        #expect(throws: QRCodeError.self) { try QRSymbol(String(repeating: "0", count: 39)) }
    }

    @Test func `the largest symbol takes 4,296 characters, and none takes more`() throws {
        let full = String(repeating: "Z", count: 4_296)
        #expect(try QRSymbol(full, level: .low, version: 40).side == 177)
        let error = #expect(
            throws: QRCodeError.tooLong(count: 4_297, version: 2, level: .low, fits: nil)
        ) { try QRSymbol(full + "Z", level: .low) }
        #expect(error?.description.hasSuffix(", nor into any other version") == true)
    }

    @Test(
        "a text that the alphanumeric mode does not have is refused",
        arguments: ["a", "Aa", "A_B", "~", "=", "É", "１", "1\u{301}", "A\n", "A\r\n", "\0", "👍"])
    func foreign(text: String) throws {
        let character = try #require(text.last { !"AB".contains($0) })
        let error = #expect(throws: QRCodeError.character(character)) { try QRSymbol(text) }
        #expect(error?.description.hasPrefix("'\(character)' is invalid in") == true)
    }

    @Test func `an empty text is refused`() {
        #expect(throws: QRCodeError.empty) { try QRSymbol("") }
    }

    @Test("there are 40 versions", arguments: [0, 41, -1, .max])
    func badVersion(version: Int) {
        #expect(throws: QRCodeError.badVersion(version)) { try QRSymbol("A", version: version) }
    }

    @Test func `many tasks make symbols at once`() async throws {
        let expected = try QRSymbol("HELLO WORLD", level: .high)
        try await withThrowingTaskGroup(of: QRSymbol.self) { group in
            for _ in 0..<100 {
                group.addTask { @concurrent in try QRSymbol("HELLO WORLD", level: .high) }
            }
            for try await symbol in group { #expect(symbol == expected) }
        }
    }
}
