import ErrandPaymentFiles
import Testing

/// Records of a bank's file, put together field by field and not by the writer.
struct BankRecords {
    var lines: [[UInt8]] = []
    var sums: [Character: (amount: Int, count: Int)] = [:]

    static func field(_ text: String, _ width: Int) -> String {
        text.padding(to: width)
    }

    static func zeros(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: width - digits.count) + digits
    }

    mutating func add(_ type: Character, _ rest: String) {
        let head = "\(type)" + Self.zeros(lines.count + 1, 9) + "ORIG000001" + "0007"
        lines.append(Array((head + rest).padding(to: 1_464).utf8))
    }

    /// A record with payments.
    mutating func add(_ type: Character, _ segments: [Segment]) {
        for segment in segments {
            sums[type, default: (0, 0)].amount += segment.amount
            sums[type, default: (0, 0)].count += 1
        }
        add(type, segments.map(\.text).joined())
    }

    mutating func addEnd() {
        let text = ["DJ", "CI", "E", "F"].map { letters in
            let amount = letters.reduce(0) { $0 + (sums[$1]?.amount ?? 0) }
            let count = letters.reduce(0) { $0 + (sums[$1]?.count ?? 0) }
            return Self.zeros(amount, 14) + Self.zeros(count, 8)
        }
        add("Z", text.joined())
    }

    func bytes(end: String = "\r\n") -> [UInt8] { lines.flatMap { $0 + Array(end.utf8) } }

    struct Segment {
        var code: Int
        var amount: Int
        var reference: String
        var stored = 0
        var trace = "0102003200042000000001"
        var invalid = 0

        var text: String {
            zeros(code, 3) + zeros(amount, 10) + "027015" + "000300012"
                + field("1234567", 12) + field("9999888880001000000009", 22) + zeros(stored, 3)
                + field("SHORT", 15) + field("PAYEE", 30) + field("LONG", 30)
                + field("ORIG000001", 10) + field(reference, 19) + "000312345"
                + field("7654321", 12) + field("", 15) + field(trace, 22) + "  "
                + zeros(invalid, 11)
        }
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String {
        precondition(utf8.count <= width)
        return self + String(repeating: " ", count: width - utf8.count)
    }
}

@Suite("AFT returns")
struct AFTReturnsTests {
    /// One of everything.
    private func records() -> BankRecords {
        var records = BankRecords()
        records.add("A", "026365" + "01020")
        records.add(
            "I",
            (0..<6).map {
                let codes = [902, 905, 910, 912, 911, 999]
                return .init(code: codes[$0], amount: 100 + $0, reference: "P\($0)")
            })
        records.add("I", [.init(code: 450, amount: 7, reference: "LATE", stored: 914)])
        records.add("J", [.init(code: 901, amount: 50, reference: "DEBIT")])
        records.add(
            "C",
            [
                .init(code: 450, amount: 1, reference: "FINE"),
                .init(code: 450, amount: 2, reference: "BAD", invalid: 8),
            ])
        records.add("E", [.init(code: 450, amount: 9, reference: "FIXED")])
        records.add("U", "anything at all")
        records.addEnd()
        return records
    }

    @Test(
        "returned and refused payments are read, whatever ends a record",
        arguments: ["\r\n", "\n", ""])
    func read(end: String) throws {
        let file = try AFTReturns(records().bytes(end: end))
        #expect(file.originatorID == "ORIG000001" && file.fileNumber == 7)
        #expect(file.skipped == ["E": 1, "U": 1])
        #expect(
            file.items.map(\.reference)
                == ["P0", "P1", "P2", "P3", "P4", "P5", "LATE", "DEBIT", "BAD"])
        #expect(
            file.items.map(\.reason.code)
                == ["902", "905", "910", "912", "911", "999", "914", "901", "900"])
        #expect(file.items.map(\.amount) == [100, 101, 102, 103, 104, 105, 7, 50, 2])
        #expect(
            file.items.map(\.reason.action) == [
                .askForDetails, .askForDetails, .review, .askForDetails, .review, .review,
                .askForDetails, .review, .fixOurFile,
            ])
        #expect(file.items.map(\.isCredit) == Array(repeating: true, count: 7) + [false, true])
        #expect(file.items.map(\.record) == [2, 2, 2, 2, 2, 2, 3, 4, 5])
        #expect(file.items.last?.kind == .rejected)
        #expect(file.items.last?.trace == "9999888880001000000009")
        #expect(file.items.first?.kind == .returned)
        #expect(file.items.first?.trace == "0102003200042000000001")
        #expect(file.items.first?.reason.meaning == "account not found")
    }

    @Test func `a file of ours has nothing that came back`() throws {
        let file = try AFTReturns(try AFTCase().write(canadian(20)).bytes)
        #expect(file.items.isEmpty && file.fileNumber == 42)
    }

    @Test(
        "a file that is not whole is refused with the place, and nothing of it shown",
        arguments: 0..<16)
    func refused(place: Int) throws {
        typealias Case = (record: Int, column: Int, spoil: (inout BankRecords) -> Void)
        let cases: [Case] = [
            (1, 1, { $0.lines[0][0] = UInt8(ascii: "B") }),
            (8, 1, { $0.lines[7][0] = UInt8(ascii: "Y") }),
            (3, 2, { $0.lines.remove(at: 2) }),
            (2, 11, { $0.lines[1][10] = UInt8(ascii: "X") }),
            (2, 28, { $0.lines[1][27] = UInt8(ascii: "A") }),
            (3, 25, { $0.lines[2][24] = UInt8(ascii: " ") }),
            (8, 47, { $0.lines[7][59] = UInt8(ascii: "9") }),
            (8, 61, { $0.lines[7][67] = UInt8(ascii: "7") }),
            (2, 500, { $0.lines[1][499] = 0xC9 }),
            (2, 500, { $0.lines[1][499] = 10 }),
            (8, 1_464, { $0.lines[7].removeLast() }),
            (9, 1, { $0.lines.append($0.lines[1]) }),
            (2, 1, { $0.lines[1][0] = UInt8(ascii: "5") }),
            (2, 1, { $0.lines[1][0] = UInt8(ascii: "A") }),
            (
                5, 985,
                { records in
                    // A payment behind an unused segment.
                    records.lines[4].replaceSubrange(984..<1_224, with: records.lines[4][24..<264])
                }
            ),
            (
                4, 25,
                { $0.lines[3].replaceSubrange(24..<264, with: [UInt8](repeating: 32, count: 240)) }
            ),
        ]
        var records = records()
        cases[place].spoil(&records)
        var renumbered = records
        if place == 11 {
            renumbered.lines[8].replaceSubrange(1..<10, with: Array("000000009".utf8))
        }
        let error = #expect(throws: ReturnFileError.self) {
            try AFTReturns(renumbered.bytes(end: place == 10 ? "" : "\r\n"))
        }
        #expect(error?.record == (place == 11 ? 8 : cases[place].record))
        #expect(error?.column == cases[place].column)
        #expect(error?.description.contains("1234567") == false)
    }

    @Test func `an empty file is refused`() {
        #expect(throws: ReturnFileError.self) { try AFTReturns([]) }
    }

    @Test func `no byte that is changed makes it crash`() throws {
        let whole = records().bytes()
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var bytes = whole
            for _ in 0..<3 {
                bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255)
            }
            _ = try? AFTReturns(bytes)
            _ = try? AFTReturns(Array(bytes.prefix(Int.random(in: bytes.indices))))
        }
    }
}
