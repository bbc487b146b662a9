import ErrandCommand
import ErrandJSONText
import ErrandMatching
import ErrandTerminal

/// Reads an instance of missions and shoppers from JSON:
/// `{"missions":[{"id","slots"}],"shoppers":[{"id","capacity"}],"edges":[{"mission","shopper",
/// "score"}]}`, all values whole numbers.
///
/// It parses only this format, so that a million edges need little more memory than their text.
struct InstanceReader {
    private let bytes: [UInt8]
    private var cursor: JSONCursor

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        cursor = JSONCursor(bytes[...])
    }

    /// Reads the instance in a file; `-` is standard input.
    ///
    /// - Throws: `CommandFailure`: not found; usage if the file is not a valid instance; refused
    ///   if scores are so large that their sums may overflow.
    static func instance(in path: String) throws(CommandFailure) -> MatchingInstance {
        var reader = InstanceReader(try content(of: path))
        let name = path == "-" ? "standard input" : path
        let rows: Rows
        do throws(JSONSyntaxError) { rows = try reader.document() } catch {
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

    // MARK: Errors

    private static func failure(_ error: MatchingError, _ name: String) -> CommandFailure {
        if case .scoreTooLarge = error {
            return CommandFailure(
                exit: .refused, message: "\(name): \(error)",
                hint: "scale the scores down")
        }
        return CommandFailure(exit: .usage, message: "\(name): \(error)")
    }

    private func failure(_ error: JSONSyntaxError, _ name: String) -> CommandFailure {
        let before = bytes[..<(error.column - 1)]
        let line = before.count { $0 == 0x0A } + 1
        let column = error.column - 1 - (before.lastIndex(of: 0x0A) ?? -1)
        return CommandFailure(
            exit: .usage, message: "\(name), line \(line), column \(column): \(error.problem)",
            hint: #"expected {"missions":[{"id":1,"slots":1}],"shoppers":[{"id":7,"capacity":1}],"#
                + #""edges":[{"mission":1,"shopper":7,"score":100}]}, in whole numbers"#)
    }

    // MARK: Format

    /// The members of an object: each is required, exactly once.
    private struct Form {
        let names: [[UInt8]]
        /// The names, as errors list them.
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
    /// The format of the elements of each member of `whole`.
    private static let elements = [
        Form("id", "slots"), Form("id", "capacity"), Form("mission", "shopper", "score"),
    ]

    private mutating func document() throws(JSONSyntaxError) -> Rows {
        var rows = Rows()
        var seen: UInt8 = 0
        while let member = try nextMember(of: Self.whole, &seen) {
            var isFirst = true
            while try cursor.nextElement(&isFirst) {
                let row = try numbers(Self.elements[member])
                switch member {
                case 0: rows.missions.append(.init(id: row.0, slots: row.1))
                case 1: rows.shoppers.append(.init(id: row.0, capacity: row.1))
                default: rows.edges.append(.init(mission: row.0, shopper: row.1, score: row.2))
                }
            }
        }
        try cursor.end()
        return rows
    }

    /// Reads an object of two or three numbers.
    private mutating func numbers(_ form: Form) throws(JSONSyntaxError) -> (Int64, Int64, Int64) {
        var row: (Int64, Int64, Int64) = (0, 0, 0)
        var seen: UInt8 = 0
        while let member = try nextMember(of: form, &seen) {
            let number = try cursor.wholeNumber()
            switch member {
            case 0: row.0 = number
            case 1: row.1 = number
            default: row.2 = number
            }
        }
        return row
    }

    /// Advances to the value of the next member of an object; nil after the last one.
    ///
    /// - Parameter seen: a bit for each member that was read; 0 before the object.
    private mutating func nextMember(
        of form: Form, _ seen: inout UInt8
    ) throws(JSONSyntaxError) -> Int? {
        cursor.skipSpace()
        var isFirst = seen == 0
        guard let place = try cursor.nextMember(&isFirst) else {
            for (place, name) in form.names.enumerated() where seen & (1 << place) == 0 {
                throw cursor.error("missing member \(quoted(name[...]))", at: cursor.at - 1)
            }
            return nil
        }
        let name = bytes[place]
        guard let member = form.names.firstIndex(where: { $0.elementsEqual(name) }) else {
            throw cursor.error(
                "unknown member \(quoted(name)): expected \(form.text)", at: place.lowerBound - 1)
        }
        guard seen & (1 << member) == 0 else {
            throw cursor.error("duplicate member \(quoted(name))", at: place.lowerBound - 1)
        }
        seen |= 1 << member
        return member
    }

    private func quoted(_ name: ArraySlice<UInt8>) -> String {
        "\"" + String(decoding: name.prefix(40), as: UTF8.self) + "\""
    }
}
