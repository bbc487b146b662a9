import ErrandCommand
import ErrandMatching
import ErrandTerminal

/// Reads an instance of missions and shoppers from JSON:
/// `{"missions":[{"id","slots"}],"shoppers":[{"id","capacity"}],"edges":[{"mission","shopper",
/// "score"}]}`, all values whole numbers.
///
/// It knows this form alone, so that a million edges need little more than their text.
struct InstanceReader {
    /// What is wrong, and where.
    private struct Malformed: Error {
        var place: Int
        var text: String
    }

    private let bytes: [UInt8]
    private var at = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The instance in a file; `-` is standard input.
    ///
    /// - Throws: `CommandFailure`: not found, usage for what is no such instance, refused for
    ///   numbers that are too large to be added up.
    static func instance(in path: String) throws(CommandFailure) -> MatchingInstance {
        var reader = InstanceReader(try content(of: path))
        let name = path == "-" ? "standard input" : path
        let rows: Rows
        do throws(Malformed) { rows = try reader.document() } catch {
            throw reader.failure(error, name)
        }
        do throws(MatchingError) {
            return try MatchingInstance(
                missions: rows.missions, shoppers: rows.shoppers, edges: rows.edges)
        } catch { throw failure(error, name) }
    }

    private static let longest = 1 << 30

    private static func content(of path: String) throws(CommandFailure) -> [UInt8] {
        var reader = try LineReader(path: path)
        guard let bytes = try reader.rest(upTo: longest) else {
            throw CommandFailure(exit: .usage, message: "\(path) is longer than 1 GiB")
        }
        return bytes
    }

    // MARK: What goes wrong

    private static func failure(_ error: MatchingError, _ name: String) -> CommandFailure {
        if case .scoreTooLarge = error {
            return CommandFailure(
                exit: .refused, message: "\(name): \(error)",
                hint: "give the scores in larger units")
        }
        return CommandFailure(exit: .usage, message: "\(name): \(error)")
    }

    private func failure(_ error: Malformed, _ name: String) -> CommandFailure {
        let before = bytes[..<min(error.place, bytes.count)]
        let line = before.count { $0 == 0x0A } + 1
        let column = error.place - (before.lastIndex(of: 0x0A) ?? -1)
        return CommandFailure(
            exit: .usage, message: "\(name), line \(line), column \(column): \(error.text)",
            hint: #"expected {"missions":[{"id":1,"slots":1}],"shoppers":[{"id":7,"capacity":1}],"#
                + #""edges":[{"mission":1,"shopper":7,"score":100}]}, in whole numbers"#)
    }

    private func malformed(_ text: String, at place: Int? = nil) -> Malformed {
        Malformed(place: place ?? at, text: text)
    }

    // MARK: The form

    /// The members of an object: each must be there, once.
    private struct Form {
        let names: [[UInt8]]
        /// As an error lists them.
        let text: String

        init(_ names: String...) {
            self.names = names.map { Array($0.utf8) }
            text = names.joined(separator: ", ")
        }
    }

    private struct Rows {
        var missions: [MatchingInstance.Mission] = []
        var shoppers: [MatchingInstance.Shopper] = []
        var edges: [MatchingInstance.Edge] = []
    }

    private static let whole = Form("missions", "shoppers", "edges")
    private static let mission = Form("id", "slots")
    private static let shopper = Form("id", "capacity")
    private static let edge = Form("mission", "shopper", "score")

    private mutating func document() throws(Malformed) -> Rows {
        var rows = Rows()
        var seen: UInt8 = 0
        while let member = try nextMember(of: Self.whole, &seen) {
            var isFirst = true
            while try hasElement(&isFirst) {
                switch member {
                case 0:
                    let row = try numbers(Self.mission)
                    rows.missions.append(.init(id: row.0, slots: row.1))
                case 1:
                    let row = try numbers(Self.shopper)
                    rows.shoppers.append(.init(id: row.0, capacity: row.1))
                default:
                    let row = try numbers(Self.edge)
                    rows.edges.append(.init(mission: row.0, shopper: row.1, score: row.2))
                }
            }
        }
        skipSpace()
        guard at == bytes.count else { throw malformed("expected nothing more") }
        return rows
    }

    /// An object of two or three numbers.
    private mutating func numbers(_ form: Form) throws(Malformed) -> (Int64, Int64, Int64) {
        var row: (Int64, Int64, Int64) = (0, 0, 0)
        var seen: UInt8 = 0
        while let member = try nextMember(of: form, &seen) {
            let number = try number()
            switch member {
            case 0: row.0 = number
            case 1: row.1 = number
            default: row.2 = number
            }
        }
        return row
    }

    /// Goes to the value of the next member of an object; nil after the last one.
    ///
    /// - Parameter seen: a bit for each member that was there; 0 before the object.
    private mutating func nextMember(
        of form: Form, _ seen: inout UInt8
    ) throws(Malformed) -> Int? {
        if seen == 0 { try expect(UInt8(ascii: "{")) }
        if take(UInt8(ascii: "}")) {
            for (place, name) in form.names.enumerated() where seen & (1 << place) == 0 {
                throw malformed("\(quoted(name[...])) is missing", at: at - 1)
            }
            return nil
        }
        if seen != 0 { try expect(UInt8(ascii: ",")) }
        try expect(UInt8(ascii: "\""))
        let start = at
        while at < bytes.count, bytes[at] != UInt8(ascii: "\""), bytes[at] != 0x0A { at += 1 }
        let name = bytes[start..<at]
        // A name does not go on in the next line.
        guard at == bytes.count || bytes[at] != 0x0A else {
            throw malformed("expected '\"' at the end of a name")
        }
        try expect(UInt8(ascii: "\""))
        guard let place = form.names.firstIndex(where: { $0.elementsEqual(name) }) else {
            throw malformed(
                "\(quoted(name)) is not known: expected \(form.text)", at: start - 1)
        }
        guard seen & (1 << place) == 0 else {
            throw malformed("\(quoted(name)) is there twice", at: start - 1)
        }
        seen |= 1 << place
        try expect(UInt8(ascii: ":"))
        return place
    }

    private func quoted(_ name: ArraySlice<UInt8>) -> String {
        "\"" + String(decoding: name.prefix(40), as: UTF8.self) + "\""
    }

    /// Goes to the next element of an array; false after the last one.
    private mutating func hasElement(_ isFirst: inout Bool) throws(Malformed) -> Bool {
        defer { isFirst = false }
        if isFirst { try expect(UInt8(ascii: "[")) }
        if take(UInt8(ascii: "]")) { return false }
        if !isFirst { try expect(UInt8(ascii: ",")) }
        return true
    }

    /// A whole number of 64 bits.
    private mutating func number() throws(Malformed) -> Int64 {
        skipSpace()
        let start = at
        let isNegative = take(UInt8(ascii: "-"))
        let digits = at
        var value: Int64 = 0
        while at < bytes.count, case let digit = bytes[at] &- 48, digit < 10 {
            // Counted downwards, where there is one number more.
            let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooMuch) = tens.subtractingReportingOverflow(Int64(digit))
            guard !isTooLarge, !isTooMuch else {
                throw malformed("the number is too large: it has to fit into 64 bits", at: start)
            }
            value = sum
            at += 1
        }
        let isWhole =
            at < bytes.count && ![0x2E, 0x45, 0x65].contains(bytes[at]) && at > digits
            && (at == digits + 1 || bytes[digits] != 48)
        guard isWhole else { throw malformed("expected a whole number", at: start) }
        guard isNegative || value != .min else {
            throw malformed("the number is too large: it has to fit into 64 bits", at: start)
        }
        return isNegative ? value : -value
    }

    // MARK: Signs

    private mutating func skipSpace() {
        while at < bytes.count, bytes[at] <= 0x20, isSpace(bytes[at]) { at += 1 }
    }

    private func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private mutating func take(_ sign: UInt8) -> Bool {
        skipSpace()
        guard at < bytes.count, bytes[at] == sign else { return false }
        at += 1
        return true
    }

    private mutating func expect(_ sign: UInt8) throws(Malformed) {
        guard take(sign) else {
            throw malformed(
                at < bytes.count
                    ? "expected '\(Character(UnicodeScalar(sign)))'"
                    : "expected '\(Character(UnicodeScalar(sign)))', but it ends here")
        }
    }
}
