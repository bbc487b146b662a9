import FoundationEssentials
import ErrandHTTP

/// The mail server and its options, as a URL.
///
/// `smtp://user:password@host:port?starttls=required|optional|never` (defaults: port 587 and
/// `required`) or `smtps://…` (TLS from the first byte, port 465). Other parameters: `ca=FILE` (PEM
/// authorities to trust instead of the system's) and `hello=NAME` (the name in EHLO instead of this
/// machine's). User and password are percent-encoded.
package struct SMTPSettings: Sendable, CustomStringConvertible {
    let endpoint: SMTPEndpoint

    /// Parses a URL.
    ///
    /// - Parameters:
    ///   - url: the server, as described above.
    ///   - connectLimit: the timeout of a connection attempt.
    ///   - transferLimit: the timeout of one message.
    /// - Throws: `EmailError.badURL` with the URL (password hidden) and the expectation.
    package init(
        url: String, connectLimit: Duration = .seconds(10), transferLimit: Duration = .seconds(60)
    ) throws(EmailError) {
        let shown = Self.hidingPassword(url)
        func refused(_ expected: String) -> EmailError { .badURL(shown, expected: expected) }

        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            scheme == "smtp" || scheme == "smtps"
        else { throw refused("smtp://user:password@host:port or smtps://…") }
        guard let host = parts.host.map(Self.bare), !host.isEmpty, host.isOneLine else {
            throw refused("a host name or address after smtp://")
        }
        guard parts.path.isEmpty || parts.path == "/", parts.fragment == nil else {
            throw refused("nothing between the port and the ?")
        }
        guard parts.port.map({ (1...65535).contains($0) }) ?? true else {
            throw refused("a port from 1 to 65535")
        }
        let options = try Self.options(parts.queryItems ?? [], scheme: scheme, refused)
        let credentials = try Self.credentials(parts, refused)
        if credentials != nil, options.security == .none || options.security == .startTLSIfOffered,
            !Self.isLoopback(host)
        {
            throw refused(
                "starttls=required or smtps://, for a password must not be sent in the clear")
        }
        var endpoint = SMTPEndpoint(
            host: host, port: parts.port ?? (scheme == "smtps" ? 465 : 587),
            security: options.security, credentials: credentials,
            authorityFile: options.authorityFile, helloName: options.helloName)
        endpoint.connectLimit = connectLimit
        endpoint.transferLimit = transferLimit
        self.endpoint = endpoint
    }

    /// The settings in one line, the password hidden.
    package var description: String {
        let scheme = endpoint.security == .implicitTLS ? "smtps" : "smtp"
        let account = endpoint.credentials.map { "\($0.user):***@" } ?? ""
        let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        let security =
            switch endpoint.security {
            case .none: "?starttls=never"
            case .startTLSIfOffered: "?starttls=optional"
            case .startTLS: "?starttls=required"
            case .implicitTLS: ""
            }
        return "\(scheme)://\(account)\(host):\(endpoint.port)\(security)"
    }

    private struct Options {
        var security: SMTPEndpoint.Security
        var authorityFile: String?
        var helloName: String?
    }

    private static func options(
        _ items: [URLQueryItem], scheme: String, _ refused: (String) -> EmailError
    ) throws(EmailError) -> Options {
        var options = Options(security: scheme == "smtps" ? .implicitTLS : .startTLS)
        for item in items {
            switch (item.name, item.value ?? "") {
            case ("starttls", let value) where scheme == "smtp":
                guard let security = security(value) else {
                    throw refused("starttls=required, optional or never")
                }
                options.security = security
            case ("ca", let file) where file.hasPrefix("/"):
                options.authorityFile = file
            case ("hello", let name) where isHostName(name):
                options.helloName = name
            case ("ca", _): throw refused("ca= with the absolute path of a PEM file")
            case ("hello", _): throw refused("hello= with a host name")
            case (let name, _):
                throw refused("no parameter \"\(name)\" with \(scheme)://")
            }
        }
        return options
    }

    private static func security(_ value: String) -> SMTPEndpoint.Security? {
        switch value {
        case "required": .startTLS
        case "optional": .startTLSIfOffered
        case "never": SMTPEndpoint.Security.none
        default: nil
        }
    }

    private static func credentials(
        _ parts: URLComponents, _ refused: (String) -> EmailError
    ) throws(EmailError) -> SMTPEndpoint.Credentials? {
        guard let user = parts.user, !user.isEmpty else {
            guard parts.password == nil else { throw refused("a user before the password") }
            return nil
        }
        guard let password = parts.password else { throw refused("user:password before the @") }
        guard user.isOneLine, password.isOneLine else {
            throw refused("a user and password without control characters")
        }
        return SMTPEndpoint.Credentials(user: user, password: password)
    }

    private static func bare(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    private static func isLoopback(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return host == "localhost" || host == "::1"
            || (numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil))
    }

    private static func isHostName(_ name: String) -> Bool {
        (1...253).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x2E
            }
    }

    /// Hides the text between the first colon of the account and the last `@`, even if the URL is
    /// malformed.
    private static func hidingPassword(_ url: String) -> String {
        guard let start = url.firstRange(of: "://")?.upperBound, let at = url.lastIndex(of: "@"),
            start < at, let colon = url[start..<at].firstIndex(of: ":")
        else { return url }
        return url[..<colon] + ":***" + url[at...]
    }
}
