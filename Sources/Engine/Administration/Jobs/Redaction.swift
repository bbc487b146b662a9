import Errand
import FoundationEssentials

/// Takes what a job's kind calls sensitive out of all that is shown of the job.
///
/// It is the only way from a row to a ``JobRecord``, so nothing can be printed past it.
package struct Redaction: Sendable {
    /// What stands where something was taken out.
    package static let mark = "[redacted]"

    /// Shorter values would blot out what has nothing to do with them.
    private static let shortest = 4

    /// The arguments as they may be shown: JSON.
    package let args: [UInt8]
    /// What may not be shown, the longest first, in lower case.
    private let values: [[UInt8]]

    /// - Parameters:
    ///   - args: valid JSON.
    ///   - sensitive: names of fields, at any depth.
    package init(args: [UInt8], sensitive: Set<String>) {
        guard !sensitive.isEmpty else {
            self.args = args
            values = []
            return
        }
        var editor = JSONEditor(args)
        var found: Set<String> = []
        self.args = editor.replaceMembers(named: sensitive, by: Self.mark) { leaf in
            if leaf.count >= Self.shortest { found.insert(leaf) }
        }
        // An error may also quote a value as JSON has it.
        let forms = found.flatMap { [$0, JSONEditor.inner($0)] }
        values = Set(forms).map { Array($0.utf8).map(Self.lower) }
            .sorted { $0.count > $1.count }
    }

    /// A text without the sensitive values, whatever their capitals.
    package func text(_ text: String) -> String {
        guard !values.isEmpty else { return text }
        let bytes = Array(text.utf8)
        let folded = bytes.map(Self.lower)
        var result: [UInt8] = []
        var at = 0
        while at < bytes.count {
            if let value = values.first(where: { folded[at...].starts(with: $0) }) {
                result += Self.mark.utf8
                at += value.count
            } else {
                result.append(bytes[at])
                at += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// JSON in all of whose texts the sensitive values are taken out.
    package func json(_ json: [UInt8]) -> [UInt8] {
        guard !values.isEmpty else { return json }
        var editor = JSONEditor(json)
        return editor.mapTexts(text)
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (65...90).contains(byte) ? byte + 32 : byte
    }
}

/// Changes single values in JSON that is known to be valid, and leaves the rest as it is written.
private struct JSONEditor {
    private let bytes: [UInt8]
    private var at = 0
    private var result: [UInt8] = []

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Puts a text in the place of each member of such a name, and tells of every text and number
    /// in what was there.
    mutating func replaceMembers(
        named names: Set<String>, by mark: String, leaf: (String) -> Void
    ) -> [UInt8] {
        while at < bytes.count {
            guard bytes[at] == Self.quote else {
                copy(to: at + 1)
                continue
            }
            let end = endOfText(at)
            let isSensitive = isKey(endingAt: end) && names.contains(text(at..<end))
            copy(to: end)
            guard isSensitive else { continue }
            copy(to: startOfValue(after: end))
            let value = at..<endOfValue(at)
            tellLeaves(of: value, leaf)
            result += "\"\(mark)\"".utf8
            at = value.upperBound
        }
        return result
    }

    /// Changes each text that is not the name of a member.
    mutating func mapTexts(_ change: (String) -> String) -> [UInt8] {
        while at < bytes.count {
            guard bytes[at] == Self.quote else {
                copy(to: at + 1)
                continue
            }
            let end = endOfText(at)
            let old = text(at..<end)
            let new = isKey(endingAt: end) ? old : change(old)
            if new == old {
                copy(to: end)
            } else {
                result += "\"\(Self.inner(new))\"".utf8
                at = end
            }
        }
        return result
    }

    /// A text as it stands between the quotation marks of JSON.
    static func inner(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        guard let data = try? encoder.encode(text) else { return text }
        return String(String(decoding: data, as: UTF8.self).dropFirst().dropLast())
    }

    // MARK: Places

    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    private mutating func copy(to end: Int) {
        result += bytes[at..<end]
        at = end
    }

    private func endOfText(_ start: Int) -> Int {
        var place = start + 1
        while place < bytes.count, bytes[place] != Self.quote {
            place += bytes[place] == Self.backslash ? 2 : 1
        }
        return min(place + 1, bytes.count)
    }

    private func skipSpace(_ start: Int) -> Int {
        bytes[start...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.count
    }

    /// Only the name of a member is followed by a colon.
    private func isKey(endingAt end: Int) -> Bool {
        let next = skipSpace(end)
        return next < bytes.count && bytes[next] == UInt8(ascii: ":")
    }

    private func startOfValue(after key: Int) -> Int { skipSpace(skipSpace(key) + 1) }

    private func endOfValue(_ start: Int) -> Int {
        var depth = 0
        var place = start
        while place < bytes.count {
            switch bytes[place] {
            case Self.quote:
                place = endOfText(place)
                if depth == 0 { return place }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of what a plain value stands in.
                if depth == 0 { return place }
                depth -= 1
                if depth == 0 { return place + 1 }
            case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
                if depth == 0 { return place }
            default: break
            }
            place += 1
        }
        return place
    }

    private func text(_ range: Range<Int>) -> String {
        let inner = bytes[(range.lowerBound + 1)..<(range.upperBound - 1)]
        if inner.contains(Self.backslash),
            let text = try? JSONDecoder().decode(String.self, from: Data(bytes[range]))
        {
            return text
        }
        return String(decoding: inner, as: UTF8.self)
    }

    private func tellLeaves(of range: Range<Int>, _ leaf: (String) -> Void) {
        var place = range.lowerBound
        while place < range.upperBound {
            let byte = bytes[place]
            if byte == Self.quote {
                let end = endOfText(place)
                if !isKey(endingAt: end) { leaf(text(place..<end)) }
                place = end
            } else if byte == UInt8(ascii: "-") || (48...57).contains(byte) {
                let end = endOfValue(place)
                leaf(String(decoding: bytes[place..<end], as: UTF8.self))
                place = end
            } else {
                place += 1
            }
        }
    }
}
