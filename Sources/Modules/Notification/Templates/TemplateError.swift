/// Why the words of notices cannot be used; found when a program starts.
package enum TemplateError: Error, Equatable, CustomStringConvertible {
    /// A place in a file, with what was expected there. Lines and columns count from 1.
    case wrong(path: String, line: Int, column: Int, expected: String)
    /// A kind has no words for one of its channels.
    case missing(path: String, needed: String)
    /// A file that nothing would ever read.
    case stray(path: String, expected: String)
    /// A file or folder that cannot be read.
    case unreadable(path: String, reason: String)

    package var description: String {
        switch self {
        case .wrong(let path, let line, let column, let expected):
            "\(path):\(line):\(column): expected \(expected)"
        case .missing(let path, let needed): "\(path) is missing: \(needed)"
        case .stray(let path, let expected): "\(path) is not used: expected \(expected)"
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        }
    }
}

/// Why one notice cannot be put into words.
///
/// The text names what is wrong and never shows a value: that may be personal.
package enum NoticeDataError: Error, Equatable, CustomStringConvertible {
    case unknownKind(String)
    case notTold(kind: String, channel: NoticeKind.Channel)
    /// The data are no JSON object.
    case malformed(kind: String, reason: String)
    case missing(kind: String, field: String)
    case mistyped(kind: String, field: String, expected: String)
    /// The way to unsubscribe is not a link.
    case badLink(kind: String)

    package var description: String {
        switch self {
        case .unknownKind(let kind):
            "there are no notices of kind \(kind): declare it, or use one that is declared"
        case .notTold(let kind, let channel):
            "\(kind) is not told by \(channel.rawValue): declare the channel with the kind"
        case .malformed(let kind, let reason):
            "the data of \(kind) are not a JSON object: \(reason)"
        case .missing(let kind, let field):
            "the data of \(kind) have no \"\(field)\": give it"
        case .mistyped(let kind, let field, let expected):
            "\"\(field)\" in the data of \(kind): expected \(expected)"
        case .badLink(let kind):
            "the link to unsubscribe from \(kind): expected https://…, http://… or mailto:… in "
                + "ASCII, without blanks"
        }
    }
}
