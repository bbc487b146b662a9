import FoundationEssentials

/// What a program is called in texts that suggest its commands.
///
/// Suggestions are written for a program called `errand`; a program of another name puts its own
/// there, so that what it suggests can be pasted into a shell.
package struct ProgramName: Sendable, Equatable {
    private static let written = "errand"
    private let name: String

    package init(_ name: String) { self.name = name }

    /// A text with this program's name where a command of `errand` is suggested: the word `errand`
    /// before another word, at the beginning or behind a blank, a quote or an opening bracket.
    package func inserted(in text: String) -> String {
        guard name != Self.written, text.contains(Self.written) else { return text }
        var result = ""
        var rest = text[...]
        while let range = rest.firstRange(of: Self.written) {
            result += rest[..<range.lowerBound]
            let before = (result.isEmpty ? nil : result.last) ?? " "
            let after = rest[range.upperBound...]
            let isCommand =
                " \n'\"`([|;&".contains(before) && after.first == " "
                && after.dropFirst().first.map { $0.isLowercase || $0 == "-" } == true
            result += isCommand ? name : Self.written
            rest = after
        }
        return result + rest
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
