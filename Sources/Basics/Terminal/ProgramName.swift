import FoundationEssentials

/// The program's name in texts that suggest its commands.
///
/// Suggestions are written for a program called `errand`. A program of another name inserts its
/// own, so that suggested commands can be pasted into a shell.
package struct ProgramName: Sendable, Equatable {
    private static let written = "errand"
    private let name: String
    /// The first words of its commands.
    private let words: Set<String>

    /// A name that changes no text.
    init() { (name, words) = (Self.written, []) }

    package init(of program: Program) {
        name = program.name
        words = Set(program.nouns + ["help"])
    }

    /// A text with this program's name in place of `errand` in suggested commands.
    ///
    /// A suggested command is the word `errand` before an option or the first word of a command,
    /// at the beginning or after a blank, a quote or an opening bracket.
    package func inserted(in text: String) -> String {
        guard name != Self.written, text.contains(Self.written) else { return text }
        var result = ""
        var rest = text[...]
        while let range = rest.firstRange(of: Self.written) {
            result += rest[..<range.lowerBound]
            let before = (result.isEmpty ? nil : result.last) ?? " "
            let after = rest[range.upperBound...]
            let isSuggested =
                " \n'\"`([|;&".contains(before) && after.first == " "
                && isCommand(after.dropFirst())
            result += isSuggested ? name : Self.written
            rest = after
        }
        return result + rest
    }

    private func isCommand(_ text: Substring) -> Bool {
        text.hasPrefix("-")
            || words.contains(String(text.prefix { $0.isLowercase || $0 == "-" }))
    }

    /// A record whose suggestions name this program.
    func inserted(in record: Record) -> Record {
        guard name != Self.written else { return record }
        var record = record
        for place in record.fields.indices
        where ["remedy", "undo"].contains(record.fields[place].name) {
            guard case .text(let text) = record.fields[place].cell else { continue }
            record.fields[place].cell = .text(inserted(in: text))
        }
        return record
    }
}
