/// A set of servers with a name, from the user's contexts.toml.
package struct NamedContext: Equatable, Sendable {
    package var name: String
    package var databaseURL: String?
    package var redisURL: String?
    package var operatorName: String?
    /// Whether to ask before any change.
    package var isProduction = false
    package var isReadOnly: Bool?
    package var color: ColorChoice?

    /// A context without settings.
    package init(_ name: String) {
        self.name = name
    }

    /// The environment with what this context adds to it.
    ///
    /// - Parameter winsURLs: whether its servers win over those of the environment.
    func environment(over environment: [String: String], winsURLs: Bool) -> [String: String] {
        var result = environment
        func set(_ name: String, _ value: String?, wins: Bool = false) {
            guard let value, wins || environment[name, default: ""].isEmpty else { return }
            result[name] = value
        }
        set("DATABASE_URL", databaseURL, wins: winsURLs)
        set("REDIS_URL", redisURL, wins: winsURLs)
        set("ERRAND_OPERATOR", operatorName)
        set("ERRAND_READ_ONLY", isReadOnly.map { $0 ? "1" : "0" })
        if environment["NO_COLOR", default: ""].isEmpty { set("ERRAND_COLOR", color?.rawValue) }
        return result
    }

    /// Whether one of its URLs holds a password.
    var holdsPassword: Bool {
        [databaseURL, redisURL].contains { url in url.map { SecretURL.hidden($0) != $0 } ?? false }
    }
}

/// URLs of servers without their passwords.
package enum SecretURL {
    /// The text with `***` in the place of each password: in `user:password@`, as a parameter of
    /// a URL, and in libpq's `password=…`.
    package static func hidden(_ text: String) -> String {
        var result = text
        if let scheme = text.firstRange(of: "://") {
            let rest = text[scheme.upperBound...]
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            // A password may hold an at sign: the last one ends it.
            if let at = authority.lastIndex(of: "@") {
                // What stands alone before it is a user for PostgreSQL, a password for Redis.
                if let colon = authority[..<at].firstIndex(of: ":") {
                    result = text[...colon] + "***" + text[at...]
                } else if !text.hasPrefix("postgres") {
                    result = text[..<scheme.upperBound] + "***" + text[at...]
                }
            }
        }
        return hiddenParameters(result)
    }

    private static func hiddenParameters(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let found = rest.firstRange(of: "password") {
            result += rest[..<found.upperBound]
            rest = rest[found.upperBound...]
            let blank = rest.prefix { $0 == " " }
            guard rest.dropFirst(blank.count).first == "=" else { continue }
            result += "=***"
            rest = rest.dropFirst(blank.count + 1).drop { $0 == " " }
            rest =
                rest.first == "'" ? afterQuoted(rest.dropFirst()) : rest.drop { !" &".contains($0) }
        }
        return result + rest
    }

    private static func afterQuoted(_ text: Substring) -> Substring {
        var rest = text
        while let character = rest.popFirst() {
            if character == "\\" { rest = rest.dropFirst() } else if character == "'" { break }
        }
        return rest
    }
}
