package import FoundationEssentials

/// One e-mail to one person, checked so that rendering cannot fail.
package struct EmailMessage: Sendable, Equatable {
    /// A header beyond the usual ones, such as `List-Unsubscribe`.
    package struct Header: Sendable, Equatable {
        /// The field's name.
        package let name: String
        /// The field's value, unfolded.
        package let value: String

        /// Creates a header; the message checks it.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The sender, who also receives bounces.
    package let from: Mailbox
    /// The recipient of answers, if not `from`.
    package let replyTo: Mailbox?
    /// The recipient.
    package let to: Mailbox
    /// The subject, in any script.
    package let subject: String
    /// The plain text, with line breaks of any kind.
    package let text: String
    /// The text as HTML; nil for none.
    package let html: String?
    /// The identifier with its angle brackets; the same for each retry of one delivery, so that
    /// receivers and logs can match them.
    package let messageID: String
    /// The time of the message, not of a retry.
    package let date: Date
    /// The one-click unsubscribe URL (RFC 8058): an `https` URL with an opaque token.
    ///
    /// Mail programs show a button for it.
    package let unsubscribeURL: String?
    /// Further headers, in order.
    package let headers: [Header]

    /// Creates a message after checking it.
    ///
    /// - Throws: `EmailError.badField` if a value has a line break or control character, if a
    ///   message identifier is not `<left@right>`, if a header is one that the message writes
    ///   itself, or if a value is too long for a line.
    package init(
        from: Mailbox, replyTo: Mailbox? = nil, to: Mailbox, subject: String, text: String,
        html: String? = nil, messageID: String, date: Date, unsubscribeURL: String? = nil,
        headers: [Header] = []
    ) throws(EmailError) {
        guard subject.isOneLine, subject.utf8.count <= 2000 else {
            throw .badField(
                "subject", value: subject,
                expected: "at most 2000 bytes without line breaks or control characters")
        }
        guard Self.isMessageID(messageID) else {
            throw .badField(
                "Message-ID", value: messageID, expected: "<left@right> in at most 250 ASCII bytes")
        }
        if let unsubscribeURL, !Self.isWebAddress(unsubscribeURL) {
            throw .badField(
                "unsubscribe URL", value: "***",
                expected: "https://… in at most 900 ASCII bytes without blanks or < >")
        }
        for header in headers { try Self.check(header) }
        if unsubscribeURL != nil,
            let twice = headers.first(where: { Self.unsubscribing.contains($0.name.lowercased()) })
        {
            throw .badField(
                "header name", value: twice.name,
                expected: "no other \(twice.name) beside the unsubscribe URL")
        }
        self.from = from
        self.replyTo = replyTo
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
        self.messageID = messageID
        self.date = date
        self.unsubscribeURL = unsubscribeURL
        self.headers = headers
    }

    private static func isMessageID(_ id: String) -> Bool {
        let inner = id.utf8.dropFirst().dropLast()
        return id.hasPrefix("<") && id.hasSuffix(">") && (5...250).contains(id.utf8.count)
            && inner.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3C && $0 != 0x3E }
            && inner.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).map(
                \.count
            ).count(where: { $0 > 0 }) == 2
            && inner.count(where: { $0 == UInt8(ascii: "@") }) == 1
    }

    private static func isWebAddress(_ url: String) -> Bool {
        url.hasPrefix("https://") && (9...900).contains(url.utf8.count)
            && url.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3C && $0 != 0x3E }
    }

    private static func check(_ header: Header) throws(EmailError) {
        let isName = header.name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3A }
        guard isName, (1...76).contains(header.name.utf8.count) else {
            throw .badField(
                "header name", value: header.name,
                expected: "1 to 76 ASCII characters without blanks or colons")
        }
        let lower = header.name.lowercased()
        guard !ownHeaders.contains(lower), !lower.hasPrefix("content-") else {
            throw .badField(
                "header name", value: header.name,
                expected: "a header that the message does not write itself")
        }
        let longestWord = header.value.split(separator: " ").map(\.utf8.count).max() ?? 0
        guard header.value.isOneLine, !header.value.isEmpty, longestWord <= 900 else {
            throw .badField(
                "header \(header.name)", value: header.value,
                expected: "text without line breaks or control characters, no word over 900 bytes")
        }
    }

    private static let unsubscribing: Set<String> = ["list-unsubscribe", "list-unsubscribe-post"]
    private static let ownHeaders: Set<String> = [
        "from", "sender", "to", "cc", "bcc", "reply-to", "subject", "date", "message-id",
        "mime-version",
    ]
}
