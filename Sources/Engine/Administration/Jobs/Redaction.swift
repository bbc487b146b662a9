import Errand
import ErrandJSONText

/// Takes what a job's kind calls sensitive out of all that is shown of the job.
///
/// It is the only way from a row to a ``JobRecord``, so nothing can be printed past it.
package struct Redaction: Sendable {
    /// What stands where something was taken out.
    package static let mark = "[redacted]"

    /// What is shown of JSON that cannot be read; PostgreSQL holds none such.
    private static let marked = Array("\"\(mark)\"".utf8)

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
        var found: Set<String> = []
        let shown = JSONEditor.replacingMembers(of: args, named: sensitive, by: Self.mark) { leaf in
            if leaf.count >= Self.shortest { found.insert(leaf) }
        }
        self.args = shown ?? Self.marked
        // An error may also quote a value as JSON has it.
        let forms = found.flatMap { [$0, JSONValue.escaped($0)] }
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
        return JSONEditor.mappingTexts(of: json, text) ?? Self.marked
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (65...90).contains(byte) ? byte + 32 : byte
    }
}
