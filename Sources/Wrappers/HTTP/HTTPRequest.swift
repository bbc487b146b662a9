/// A complete request.
package struct HTTPRequest: Sendable {
    let method: String
    let url: String
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    let timeout: Duration

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: the method, such as `POST`.
    ///   - url: the absolute URL, without user and password.
    ///   - headers: headers besides those that HTTP itself needs. Values may be secret: errors do
    ///     not show them.
    ///   - body: the body, sent unchanged.
    ///   - timeout: the time limit of the whole request, from ``HTTPClient/send(_:)`` on.
    package init(
        method: String, url: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = [], timeout: Duration
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// Why the request cannot be sent, without its content; nil if it can.
    var fault: String? {
        guard !method.isEmpty, method.utf8.allSatisfy(Self.isTokenByte) else {
            return "the method is not a valid token"
        }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            return "the URL has characters that must be percent-encoded"
        }
        for header in headers {
            guard !header.name.isEmpty, header.name.utf8.allSatisfy(Self.isTokenByte) else {
                return "a header's name is not a valid token"
            }
            // RFC 9110 section 5.5; a line end would allow the injection of headers.
            guard header.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
                return "the header \(header.name) has control characters in its value"
            }
        }
        return nil
    }

    /// The scheme, host and port.
    ///
    /// Requests with the same origin share connections.
    var origin: String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return url }
        let start = bytes[colon...].dropFirst().drop { $0 == UInt8(ascii: "/") }.startIndex
        let end = bytes[start...].firstIndex {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
        return String(url[..<(end ?? bytes.endIndex)])
    }

    /// Returns whether a text is a token (RFC 9110 section 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

/// A server's response.
package struct HTTPResponse: Sendable {
    /// The status code, also 300 to 399: redirects are not followed.
    package let status: Int
    /// The content, of at most ``HTTPSettings/bodyLimit`` bytes.
    package let body: [UInt8]
    /// The header lines as received.
    private let head: [UInt8]

    init(status: Int, body: [UInt8], head: [UInt8]) {
        self.status = status
        self.body = body
        self.head = head
    }

    /// Returns the value of the first header with a name, ignoring case, without surrounding space.
    package func header(_ name: String) -> String? {
        for line in head.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(
                separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, Self.isSame(parts[0], name) else { continue }
            let value = parts[1].drop(while: Self.isSpace)
            let length = value.lastIndex { !Self.isSpace($0) }.map { $0 - value.startIndex + 1 }
            return String(decoding: value.prefix(length ?? 0), as: UTF8.self)
        }
        return nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0d
    }

    private static func isSame(_ bytes: ArraySlice<UInt8>, _ name: String) -> Bool {
        func lowered(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        return bytes.lazy.map(lowered).elementsEqual(name.utf8.lazy.map(lowered))
    }
}
