/// One event for one endpoint.
package struct WebhookMessage: Sendable, Equatable {
    /// The id of the event, the same for each attempt, by which receivers recognize copies.
    package let id: String
    /// The endpoint: `https://…`.
    package let url: Secret
    /// JSON, below 20 kB.
    package let body: [UInt8]
    /// The endpoint's secrets; during a rotation two, the new one first.
    package let secrets: [WebhookSecret]

    /// Creates a message; the client checks it before sending.
    package init(id: String, url: String, body: [UInt8], secrets: [WebhookSecret]) {
        self.id = id
        self.url = Secret(url)
        self.body = body
        self.secrets = secrets
    }

    /// Standard Webhooks: payloads below 20 kB.
    static let bodyLimit = 20_000

    /// Returns the error of the message; nil if it is valid.
    func fault(allowsPlain: Bool) -> String? {
        guard Self.isEndpoint(url.revealed, allowsPlain: allowsPlain) else {
            return Self.hasLogin(url.revealed)
                ? "endpoint: its URL contains a login (user:password@)"
                : "endpoint: expected https://… in at most 2000 ASCII bytes"
        }
        guard (1...128).contains(id.utf8.count),
            id.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ".") })
        else { return "id: expected 1 to 128 ASCII bytes without blanks and dots" }
        guard body.count < Self.bodyLimit else {
            return "the body has \(body.count) bytes, expected less than \(Self.bodyLimit)"
        }
        guard (1...4).contains(secrets.count) else {
            return "secrets: expected 1, or more while they are changed"
        }
        return nil
    }

    /// Returns whether a text is a valid URL of an endpoint: `https://…`, or `http://…` if
    /// permitted, without a login.
    package static func isEndpoint(_ url: String, allowsPlain: Bool) -> Bool {
        guard url.hasPrefix("https://") || allowsPlain && url.hasPrefix("http://"),
            !hasLogin(url)
        else { return false }
        return url.utf8.count <= 2000 && url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Returns whether a URL contains a login before its host: `https://user:password@host/…`.
    ///
    /// Events are signed instead.
    package static func hasLogin(_ url: String) -> Bool { authority(of: url).contains("@") }

    /// What is between `://` and the path; empty without `://`.
    private static func authority(of url: String) -> Substring {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return url[scheme.upperBound...].prefix { !"/?#\\".contains($0) }
    }

    /// Returns the scheme and host of a URL; the rest may be secret.
    package static func place(of url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return "***" }
        let parts = authority(of: url).split(separator: "@", omittingEmptySubsequences: false)
        return url[..<scheme.upperBound] + (parts.last ?? "") + "/…"
    }
}
