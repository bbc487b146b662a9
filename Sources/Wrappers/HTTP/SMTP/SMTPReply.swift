/// A complete reply of an SMTP server (RFC 5321, section 4.2).
package struct SMTPReply: Sendable, Equatable, CustomStringConvertible {
    /// The three-digit code.
    package let code: Int
    /// The enhanced status code at the start of the text, if there is one.
    package let enhanced: EnhancedStatus?
    /// The text of all lines, without codes, joined by spaces.
    package let text: String

    /// Creates a reply from its parts.
    package init(code: Int, enhanced: EnhancedStatus? = nil, text: String) {
        self.code = code
        self.enhanced = enhanced
        self.text = text
    }

    /// Parses the lines of one reply, such as `550-5.1.1 no such user` and `550 5.1.1 ask again`.
    ///
    /// Returns nil if the first line does not begin with a code.
    init?(lines: [String]) {
        guard let first = lines.first, let code = Self.code(of: first) else { return nil }
        self.code = code
        let texts = lines.map { String($0.dropFirst(4)) }
        enhanced = texts.first.flatMap { EnhancedStatus(headOf: $0) }
        let prefix = enhanced.map { "\($0)" } ?? ""
        text =
            texts.map { line in
                let rest = line.hasPrefix(prefix) ? line.dropFirst(prefix.count) : line[...]
                return String(rest.drop { $0 == " " })
            }
            .filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    /// Whether the command may succeed later (4yz).
    package var isTransient: Bool { code / 100 == 4 }
    /// Whether the refusal is permanent (5yz).
    package var isPermanent: Bool { code / 100 == 5 }

    /// The reply on one line.
    package var description: String {
        guard let enhanced else { return "\(code) \(text)" }
        return "\(code) \(enhanced) \(text)"
    }

    static func code(of line: String) -> Int? {
        let digits = line.utf8.prefix(3)
        guard digits.count == 3, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    }
}

/// The enhanced mail system status code `class.subject.detail` (RFC 3463).
package struct EnhancedStatus: Sendable, Equatable, CustomStringConvertible {
    /// 2 success, 4 transient, 5 permanent.
    package let severity: Int
    /// 1 address, 2 mailbox, 3 mail system, 4 network, 5 protocol, 6 content, 7 policy.
    package let subject: Int
    /// The case within the subject.
    package let detail: Int

    /// Creates a status code.
    package init(_ severity: Int, _ subject: Int, _ detail: Int) {
        self.severity = severity
        self.subject = subject
        self.detail = detail
    }

    /// Parses the code at the start of a reply's text; nil if there is none.
    init?(headOf text: String) {
        let word = text.prefix { $0 != " " }
        let parts = word.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ (1...3).contains($0.utf8.count) }),
            let severity = Int(parts[0]), [2, 4, 5].contains(severity),
            let subject = Int(parts[1]), let detail = Int(parts[2]), subject >= 0, detail >= 0
        else { return nil }
        self.init(severity, subject, detail)
    }

    /// The code in the form of a reply, such as `5.1.1`.
    package var description: String { "\(severity).\(subject).\(detail)" }
}
