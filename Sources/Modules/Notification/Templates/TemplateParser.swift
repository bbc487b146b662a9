/// Parses a template file.
///
/// - `{name}`: a fact. A list at the beginning of a line of text is written one item per line
///   with the line's indent, elsewhere as `one, two and three`; in HTML as `<li>`s inside `<ul>`.
/// - `{count|one coupon|# coupons}`: a plural by the rule of the language; `#` is the number.
/// - `{?name text}`: the text, with the blank or line break before it, unless the fact is empty
///   or 0. Within such a part, `}` always ends the part.
/// - `{{` and `}}`: a brace.
struct TemplateParser {
    /// The enclosing part, which determines the special bytes.
    private enum Nest: Equatable {
        case none
        case optional
        case form(of: Int)
    }

    private static let deepest = 4

    private let source: TemplateSource
    private let end: Int
    private let place: TemplatePlace
    private let facts: TemplateFacts
    private let language: NoticeLanguage
    private var at: Int
    private var literal: [UInt8] = []
    private var markup = MarkupPosition()

    /// Returns the parts of a range of a file.
    static func parse(
        _ source: TemplateSource, _ range: Range<Int>, as place: TemplatePlace,
        facts: TemplateFacts, in language: NoticeLanguage
    ) throws(TemplateError) -> [TemplatePart] {
        var parser = TemplateParser(
            source: source, end: range.upperBound, place: place, facts: facts,
            language: language, at: range.lowerBound)
        let parts = try parser.parts(in: .none, depth: 0, opened: range.lowerBound)
        if let missing = parser.markup.unfinished {
            throw source.wrong(at: range.upperBound, missing)
        }
        return parts
    }

    private init(
        source: TemplateSource, end: Int, place: TemplatePlace, facts: TemplateFacts,
        language: NoticeLanguage, at: Int
    ) {
        self.source = source
        self.end = end
        self.place = place
        self.facts = facts
        self.language = language
        self.at = at
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        at + distance < end ? source.bytes[at + distance] : nil
    }

    private mutating func flush(into parts: inout [TemplatePart]) {
        guard !literal.isEmpty else { return }
        parts.append(.literal(String(decoding: literal, as: UTF8.self)))
        literal = []
    }

    private mutating func take(_ byte: UInt8, length: Int = 1) throws(TemplateError) {
        if place == .html {
            do throws(MarkupPosition.Problem) { try markup.take(byte, at: at) } catch {
                throw source.wrong(at: error.place, error.expected)
            }
        }
        literal.append(byte)
        at += length
    }

    /// Parses parts up to the end of the enclosing part or of the range.
    private mutating func parts(
        in nest: Nest, depth: Int, opened: Int
    ) throws(TemplateError) -> [TemplatePart] {
        guard depth <= Self.deepest else {
            throw source.wrong(at: opened, "at most \(Self.deepest) nested parts")
        }
        var parts: [TemplatePart] = []
        while let byte = peek() {
            switch (byte, nest) {
            case (UInt8(ascii: "{"), .none) where peek(1) == byte,
                (UInt8(ascii: "}"), .none) where peek(1) == byte:
                try take(byte, length: 2)
            case (UInt8(ascii: "{"), _):
                flush(into: &parts)
                parts.append(try placeholder(depth: depth))
            case (UInt8(ascii: "}"), .none): throw source.wrong(at: at, "}} for a brace")
            case (UInt8(ascii: "}"), _), (UInt8(ascii: "|"), .form):
                flush(into: &parts)
                return parts
            case (UInt8(ascii: "#"), .form(let count)):
                flush(into: &parts)
                parts.append(.number(count))
                at += 1
            default: try take(byte)
            }
        }
        guard nest == .none else { throw source.wrong(at: opened, "} to end this part") }
        flush(into: &parts)
        return parts
    }

    /// Parses a placeholder in braces.
    private mutating func placeholder(depth: Int) throws(TemplateError) -> TemplatePart {
        let opened = at
        at += 1
        let isOptional = peek() == UInt8(ascii: "?")
        if isOptional { at += 1 }
        let start = at
        let name = try name()
        guard let number = facts.names.firstIndex(of: name) else {
            let known = facts.names.joined(separator: ", ")
            throw source.wrong(at: start, "a fact of \(facts.owner) (\(known)), not \(name)")
        }
        let type = facts.types[number]
        if isOptional {
            return try optional(number, name, start: start, depth: depth, opened: opened)
        }
        switch peek() {
        case UInt8(ascii: "}"):
            let part = try fact(number, name, type, opened: opened)
            at += 1
            return part
        case UInt8(ascii: "|"):
            guard type == .field(.count) else {
                throw source.wrong(at: start, "a count before |, and \(name) is \(type.text)")
            }
            return try plural(number, depth: depth, opened: opened)
        default: throw source.wrong(at: at, "} or | after \(name)")
        }
    }

    private mutating func name() throws(TemplateError) -> String {
        let start = at
        while let byte = peek(),
            (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
                || (0x30...0x39).contains(byte)
        {
            at += 1
        }
        guard at > start else {
            throw source.wrong(
                at: at, "the name of a fact in lowercase, such as {title}, or {{ for a brace")
        }
        return String(decoding: source.bytes[start..<at], as: UTF8.self)
    }

    /// Parses `{name}`, and checks its type and position.
    private func fact(
        _ number: Int, _ name: String, _ type: TemplateFact, opened: Int
    ) throws(TemplateError) -> TemplatePart {
        switch place {
        case .line: return .fact(number)
        case .text:
            guard type == .field(.list), let indent = source.indent(before: opened) else {
                return .fact(number)
            }
            // The text already contains the indent of the first item.
            return .block(number, indent: indent)
        case .html:
            if type == .link || type == .field(.link), markup.isLink { return .fact(number) }
            guard markup.isContent else {
                throw source.wrong(
                    at: opened, "\(name) between tags; within a tag only href=\"{unsubscribe}\"")
            }
            if type == .field(.list), markup.open.last != "ul", markup.open.last != "ol" {
                throw source.wrong(
                    at: opened, "\(name), which is a list, directly inside <ul> or <ol>")
            }
            return .fact(number)
        }
    }

    private mutating func optional(
        _ number: Int, _ name: String, start: Int, depth: Int, opened: Int
    ) throws(TemplateError) -> TemplatePart {
        let type = facts.types[number]
        guard type.canBeEmpty else {
            throw source.wrong(
                at: start, "a text, a count or a list after {?, and \(name) is \(type.text)")
        }
        guard peek() == UInt8(ascii: " ") || peek() == UInt8(ascii: "\n") else {
            throw source.wrong(at: at, "a blank and words after {?\(name)")
        }
        let words = try level(in: .optional, depth: depth, opened: opened)
        at += 1
        return .optional(number, words)
    }

    private mutating func plural(
        _ number: Int, depth: Int, opened: Int
    ) throws(TemplateError) -> TemplatePart {
        var forms: [[TemplatePart]] = []
        while peek() == UInt8(ascii: "|") {
            at += 1
            forms.append(try level(in: .form(of: number), depth: depth, opened: opened))
        }
        let names = language.pluralForms
        guard forms.count == names.count else {
            throw source.wrong(
                at: opened,
                "\(names.count) forms (\(names.joined(separator: "|"))), not \(forms.count)")
        }
        at += 1
        return .plural(number, forms)
    }

    /// Parses nested parts, which in HTML must close the elements that they open.
    private mutating func level(
        in nest: Nest, depth: Int, opened: Int
    ) throws(TemplateError) -> [TemplatePart] {
        let before = markup
        let parts = try parts(in: nest, depth: depth + 1, opened: opened)
        guard place != .html || markup.isLevel(with: before) else {
            throw source.wrong(at: opened, "a part whose tags all begin and end within it")
        }
        return parts
    }
}
