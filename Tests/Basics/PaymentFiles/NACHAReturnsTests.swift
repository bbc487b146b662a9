import ErrandPaymentFiles
import Testing

@Suite("Nacha returns")
struct NACHAReturnsTests {
    private static func zeros(_ number: Int, _ width: Int) -> String {
        BankRecords.zeros(number, width)
    }

    private static func entry(_ code: String, _ amount: Int, _ reference: String) -> String {
        "6\(code)121000358" + BankRecords.field("5556667", 17) + zeros(amount, 10)
            + BankRecords.field(reference, 15) + BankRecords.field("PAYEE", 22) + "  1"
            + "021000020000001"
    }

    private static func addenda(_ type: String, _ code: String, _ trace: String) -> String {
        "7\(type)\(code)\(trace)" + BankRecords.field("", 6) + "12100035"
            + BankRecords.field("1234567", 44) + "021000020000001"
    }

    private static let batch = BankRecords.field("5200COMPANY", 78) + "1021000020000001"

    private static func control(
        _ count: Int, _ banks: Int, _ debits: Int, _ credits: Int
    ) -> String {
        "8200" + zeros(count, 6) + zeros(12_100_035 * banks, 10) + zeros(debits, 12)
            + zeros(credits, 12) + BankRecords.field("1123456789", 35) + "021000020000001"
    }

    private static func end(
        _ batches: Int, _ blocks: Int, _ count: Int, _ banks: Int, _ debits: Int, _ credits: Int
    ) -> String {
        "9" + zeros(batches, 6) + zeros(blocks, 6) + zeros(count, 8)
            + zeros(12_100_035 * banks, 10) + zeros(debits, 12) + zeros(credits, 12)
            + BankRecords.field("", 39)
    }

    /// Two returns and a notice of change in one batch, a debit in another.
    private func lines() -> [String] {
        let head =
            "101 123456789 0210000212612310905A094101" + BankRecords.field("US", 23)
            + BankRecords.field("BANK", 31)
        let whole = [
            head, Self.batch, Self.entry("21", 1_250, "US1"),
            Self.addenda("99", "R03", "121000350000007"), Self.entry("31", 99, "US2"),
            Self.addenda("99", "R16", "121000350000008"), Self.entry("21", 0, "US3"),
            Self.addenda("98", "C01", "121000350000009"), Self.control(6, 3, 0, 1_349),
            Self.batch, Self.entry("26", 77, "US4"),
            Self.addenda("99", "R85", "121000350000010"), Self.control(2, 1, 77, 0),
            Self.end(2, 2, 8, 4, 77, 1_349),
        ]
        return whole + Array(repeating: String(repeating: "9", count: 94), count: 6)
    }

    private func bytes(_ lines: [String], end: String = "\n") -> [UInt8] {
        Array(lines.map { $0 + end }.joined().utf8)
    }

    @Test("returns and changes are read, whatever ends a line", arguments: ["\n", "\r\n", ""])
    func read(end: String) throws {
        let items = try NACHAReturns(bytes(lines(), end: end)).items
        #expect(items.map(\.reference) == ["US1", "US2", "US3", "US4"])
        #expect(items.map(\.reason.code) == ["R03", "R16", "C01", "R85"])
        #expect(items.map(\.kind) == [.returned, .returned, .change, .returned])
        #expect(items.map(\.amount) == [1_250, 99, 0, 77])
        #expect(items.map(\.isCredit) == [true, true, true, false])
        #expect(
            items.map(\.reason.action)
                == [.askForDetails, .review, .askForDetails, .review])
        #expect(
            items.map(\.trace) == [
                "121000350000007", "121000350000008", "121000350000009", "121000350000010",
            ])
        #expect(items.map(\.record) == [3, 5, 7, 11])
    }

    @Test(
        "a file that is not whole is refused with the place", arguments: 0..<16)
    func refused(place: Int) throws {
        func replaced(_ line: Int, _ column: Int, _ with: String) -> [String] {
            var lines = lines()
            var bytes = Array(lines[line - 1].utf8)
            bytes.replaceSubrange(column - 1..<column - 1 + with.utf8.count, with: Array(with.utf8))
            lines[line - 1] = String(decoding: bytes, as: UTF8.self)
            return lines
        }
        func without(_ line: Int) -> [String] {
            var lines = lines()
            lines.remove(at: line - 1)
            return lines
        }
        let cases: [(record: Int, column: Int, lines: [String])] = [
            (1, 1, without(1)), (2, 1, without(2)), (4, 1, without(4)), (3, 1, without(3)),
            (9, 1, without(9)), (13, 1, without(13)), (14, 2, without(14)),
            (9, 5, replaced(9, 10, "7")), (9, 11, replaced(9, 20, "0")),
            (9, 33, replaced(9, 44, "8")), (14, 2, replaced(14, 7, "3")),
            (3, 30, replaced(3, 30, "x")), (3, 79, replaced(3, 79, "0")),
            (4, 2, replaced(4, 2, "05")), (4, 4, replaced(4, 4, "X03")),
            (15, 1, replaced(15, 40, "8")),
        ]
        let error = #expect(throws: ReturnFileError.self) {
            try NACHAReturns(bytes(cases[place].lines))
        }
        #expect(error?.record == cases[place].record && error?.column == cases[place].column)
    }

    @Test func `a file of ours has no addenda, and is refused`() throws {
        #expect(throws: ReturnFileError.self) {
            try NACHAReturns(try NACHACase().write(american(3)).bytes)
        }
    }

    @Test func `no byte that is changed makes it crash`() throws {
        let whole = bytes(lines())
        for _ in 0..<5_000 {
            var bytes = whole
            for _ in 0..<3 { bytes[Int.random(in: bytes.indices)] = .random(in: 0...255) }
            _ = try? NACHAReturns(bytes)
            _ = try? NACHAReturns(Array(bytes.prefix(Int.random(in: bytes.indices))))
        }
    }
}
