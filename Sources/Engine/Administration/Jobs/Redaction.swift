import Errand
import ErrandJSONText

/// Redacts the values that a job's kind declares as sensitive in all texts about the job.
///
/// Every ``JobRecord`` is created through it, so that no output bypasses it.
package struct Redaction: Sendable {
    /// The replacement of a redacted value.
    package static let mark = "[redacted]"

    /// The replacement of invalid JSON, which PostgreSQL never stores.
    private static let marked = Array("\"\(mark)\"".utf8)

    /// The minimum length of values to redact in texts: shorter ones would match unrelated text.
    private static let shortest = 4

    /// The redacted arguments: JSON.
    package let args: [UInt8]
    /// The values to redact in texts, the longest first, in lower case.
    private let values: [[UInt8]]

    /// Creates a redaction for a job.
    ///
    /// - Parameters:
    ///   - args: the arguments, valid JSON.
    ///   - sensitive: the names of sensitive fields, at any depth.
    package init(args: [UInt8], sensitive: Set<String>) {
        guard !sensitive.isEmpty else {
            self.args = args
            values = []
            return
        }
        var found: Set<String> = []
        let shown = JSONEditor.replacingMembers(of: args, named: sensitive, by: Self.mark) { leaf in
            if leaf.count >= Self.shortest { found.insert(leaf) }
        }
        self.args = shown ?? Self.marked
        // An error may also quote a value in its JSON form.
        let forms = found.flatMap { [$0, JSONValue.escaped($0)] }
        values = Set(forms).map { Array($0.utf8).map(Self.lower) }
            .sorted { $0.count > $1.count }
    }

    /// Redacts sensitive values in a text, ignoring case.
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

    /// Redacts sensitive values in all strings of JSON.
    package func json(_ json: [UInt8]) -> [UInt8] {
        guard !values.isEmpty else { return json }
        return JSONEditor.mappingTexts(of: json, text) ?? Self.marked
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (65...90).contains(byte) ? byte + 32 : byte
    }
}
