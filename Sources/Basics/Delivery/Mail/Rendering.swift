import FoundationEssentials

extension EmailMessage {
    /// Returns the message in its transfer form (RFC 5322 and MIME): CRLF line ends, ASCII only,
    /// headers folded at blanks before column 78, bodies in quoted-printable or base64.
    ///
    /// A message always renders to the same bytes.
    package func rendered() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(1024 + text.utf8.count * 2 + (html?.utf8.count ?? 0) * 2)
        HeaderField("From", mailbox: from).write(to: &out)
        if let replyTo { HeaderField("Reply-To", mailbox: replyTo).write(to: &out) }
        HeaderField("To", mailbox: to).write(to: &out)
        HeaderField("Subject", text: subject).write(to: &out)
        HeaderField("Date", words: [Self.timestamp(date)]).write(to: &out)
        HeaderField("Message-ID", words: [messageID]).write(to: &out)
        if let unsubscribeURL {
            HeaderField("List-Unsubscribe", words: ["<\(unsubscribeURL)>"]).write(to: &out)
            HeaderField("List-Unsubscribe-Post", words: ["List-Unsubscribe=One-Click"])
                .write(to: &out)
        }
        for header in headers {
            HeaderField(header.name, text: header.value).write(to: &out)
        }
        HeaderField("MIME-Version", words: ["1.0"]).write(to: &out)
        guard let html else {
            Self.writePart("text/plain", text, to: &out)
            return out
        }
        let boundary = boundary
        HeaderField("Content-Type", words: ["multipart/alternative;", "boundary=\"\(boundary)\""])
            .write(to: &out)
        for (type, body) in [("text/plain", text), ("text/html", html)] {
            out += "\r\n--\(boundary)\r\n".utf8
            Self.writePart(type, body, to: &out)
        }
        out += "\r\n--\(boundary)--\r\n".utf8
        return out
    }

    /// A boundary with `=_`, which neither encoding can produce.
    private var boundary: String {
        let hash = messageID.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return "=_\(String(hash, radix: 36))"
    }

    private static func writePart(_ type: String, _ body: String, to out: inout [UInt8]) {
        let encoded = BodyEncoding.encode(body)
        HeaderField("Content-Type", words: ["\(type);", "charset=utf-8"]).write(to: &out)
        HeaderField("Content-Transfer-Encoding", words: [encoded.name]).write(to: &out)
        out += [13, 10]
        out += encoded.bytes
    }

    /// Returns a date such as `Fri, 20 Nov 2026 22:15:01 +0000` (RFC 5322, section 3.3).
    static func timestamp(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents(
            [.weekday, .day, .month, .year, .hour, .minute, .second], from: date)
        let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][(parts.weekday ?? 1) - 1]
        let month = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ][(parts.month ?? 1) - 1]
        let clock = [parts.hour, parts.minute, parts.second].map { value in
            let digits = String(value ?? 0)
            return digits.utf8.count < 2 ? "0" + digits : digits
        }
        return "\(weekday), \(parts.day ?? 1) \(month) \(parts.year ?? 1970) "
            + "\(clock.joined(separator: ":")) +0000"
    }
}
