/// The position in an HTML template: follows its bytes, and checks that elements are closed.
///
/// Parses only as much HTML as needed to decide where escaped text is safe.
struct MarkupPosition: Equatable {
    /// An error, with the position of its byte.
    struct Problem: Error {
        var place: Int
        var expected: String
    }

    private enum State: Equatable {
        case content
        /// Between `<` and `>`, with the open quotation mark.
        case tag(start: Int, quote: UInt8?)
        case comment
        /// In `<style>`, where nothing is escaped.
        case style
    }

    private var state = State.content
    /// The tag or comment read so far, without its `<`; in a style, its possible end.
    private var read: [UInt8] = []
    private(set) var open: [String] = []

    private static let void: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source",
        "track", "wbr",
    ]

    /// Whether the position is between tags.
    var isContent: Bool { state == .content }

    /// Whether the position is directly after `href="`.
    var isLink: Bool {
        switch state {
        case .tag(_, let quote):
            quote == UInt8(ascii: "\"")
                && String(decoding: read, as: UTF8.self).lowercased().hasSuffix(" href=\"")
        case .content, .comment, .style: false
        }
    }

    /// Advances by the byte at a position.
    mutating func take(_ byte: UInt8, at place: Int) throws(Problem) {
        switch state {
        case .content:
            guard byte == UInt8(ascii: "<") else { return }
            read = []
            state = .tag(start: place, quote: nil)
        case .tag(let start, let quote):
            try takeInTag(byte, start: start, quote: quote)
        case .comment:
            read.append(byte)
            if read.count >= 6, read.suffix(3).elementsEqual("-->".utf8) { state = .content }
        case .style:
            read.append(byte)
            if String(decoding: read.suffix(8), as: UTF8.self).lowercased() == "</style>" {
                open.removeLast()
                state = .content
            }
        }
    }

    private mutating func takeInTag(
        _ byte: UInt8, start: Int, quote: UInt8?
    ) throws(Problem) {
        read.append(byte)
        if read.count == 1 {
            let isName =
                (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "/")
                || byte == UInt8(ascii: "!")
            guard isName else { throw Problem(place: start, expected: "a tag, or &lt; for <") }
        }
        if let quote {
            if byte == quote { state = .tag(start: start, quote: nil) }
        } else if read.elementsEqual("!--".utf8) {
            state = .comment
        } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
            state = .tag(start: start, quote: byte)
        } else if byte == UInt8(ascii: ">") {
            try close(start: start)
        }
    }

    /// Ends the current tag.
    private mutating func close(start: Int) throws(Problem) {
        state = .content
        if read.first == UInt8(ascii: "!") { return }
        let isEnd = read.first == UInt8(ascii: "/")
        let name = String(
            decoding: read.dropFirst(isEnd ? 1 : 0).prefix {
                (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0)
            }, as: UTF8.self
        ).lowercased()
        if isEnd {
            guard let last = open.last else {
                throw Problem(place: start, expected: "no </\(name)>: nothing is open here")
            }
            guard last == name else {
                throw Problem(place: start, expected: "</\(last)> before </\(name)>")
            }
            open.removeLast()
        } else if name == "script" {
            throw Problem(place: start, expected: "no <script>: mail readers run none")
        } else if !Self.void.contains(name) {
            guard read.dropLast().last != UInt8(ascii: "/") else {
                throw Problem(place: start, expected: "<\(name)></\(name)> rather than <\(name)/>")
            }
            open.append(name)
            if name == "style" { (state, read) = (.style, []) }
        }
    }

    /// The text missing at the end of the template; nil if it is complete.
    var unfinished: String? {
        switch state {
        case .tag: "> to end the tag"
        case .comment: "--> to end the comment"
        case .content, .style: open.last.map { "</\($0)>" }
        }
    }

    /// Returns whether a part between the two positions closes the elements that it opens.
    func isLevel(with other: MarkupPosition) -> Bool {
        isContent && other.isContent && open == other.open
    }
}
