/// Where in an HTML template one is: follows its bytes, and sees whether elements are closed.
///
/// It knows as much of HTML as is needed to say where escaped text is safe.
struct MarkupPosition: Equatable {
    /// What is wrong, and at which byte.
    struct Problem: Error {
        var place: Int
        var expected: String
    }

    private enum State: Equatable {
        case content
        /// Between `<` and `>`, with the quotation mark that is open.
        case tag(start: Int, quote: UInt8?)
        case comment
        /// In `<style>`: nothing is escaped there.
        case style
    }

    private var state = State.content
    /// The tag or comment so far, without its `<`; in a style what may be its end.
    private var read: [UInt8] = []
    private(set) var open: [String] = []

    private static let void: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source",
        "track", "wbr",
    ]

    /// Whether it is between tags.
    var isContent: Bool { state == .content }

    /// Whether it is directly behind `href="`.
    var isLink: Bool {
        switch state {
        case .tag(_, let quote):
            quote == UInt8(ascii: "\"")
                && String(decoding: read, as: UTF8.self).lowercased().hasSuffix(" href=\"")
        case .content, .comment, .style: false
        }
    }

    /// Takes the byte that stands at a place.
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

    /// Ends the tag that was read.
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

    /// What is still missing at the end of a template; nil when nothing is.
    var unfinished: String? {
        switch state {
        case .tag: "> to end the tag"
        case .comment: "--> to end the comment"
        case .content, .style: open.last.map { "</\($0)>" }
        }
    }

    /// Whether a part that began there and ends here leaves elements as they were.
    func isLevel(with other: MarkupPosition) -> Bool {
        isContent && other.isContent && open == other.open
    }
}
