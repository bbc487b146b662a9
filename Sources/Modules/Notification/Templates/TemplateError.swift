/// An error in the template files, found when the program starts.
package enum TemplateError: Error, Equatable, CustomStringConvertible {
    /// A syntax error in a file. Lines and columns count from 1.
    case wrong(path: String, line: Int, column: Int, expected: String)
    /// A kind has no template for one of its channels.
    case missing(path: String, needed: String)
    /// A file that no kind uses.
    case stray(path: String, expected: String)
    /// A file or folder that cannot be read.
    case unreadable(path: String, reason: String)

    package var description: String {
        switch self {
        case .wrong(let path, let line, let column, let expected):
            "\(path):\(line):\(column): expected \(expected)"
        case .missing(let path, let needed): "\(path) is missing: \(needed)"
        case .stray(let path, let expected): "\(path) is unused: expected \(expected)"
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        }
    }
}

/// An error in rendering one notice.
///
/// The text never shows a value, which may be personal.
package enum NoticeDataError: Error, Equatable, CustomStringConvertible {
    case unknownKind(String)
    case notTold(kind: String, channel: NoticeKind.Channel)
    /// The data are not a JSON object.
    case malformed(kind: String, reason: String)
    case missing(kind: String, field: String)
    case mistyped(kind: String, field: String, expected: String)
    /// The unsubscribe link is invalid.
    case badLink(kind: String)

    package var description: String {
        switch self {
        case .unknownKind(let kind):
            "notice kind \(kind) is not declared: declare it, or use a declared one"
        case .notTold(let kind, let channel):
            "\(kind) is not sent by \(channel.rawValue): declare the channel with the kind"
        case .malformed(let kind, let reason):
            "the data of \(kind) are not a JSON object: \(reason)"
        case .missing(let kind, let field):
            "the data of \(kind) have no \"\(field)\": add it"
        case .mistyped(let kind, let field, let expected):
            "\"\(field)\" in the data of \(kind): expected \(expected)"
        case .badLink(let kind):
            "the unsubscribe link of \(kind): expected https://…, http://… or mailto:… in ASCII, "
                + "without blanks"
        }
    }
}
