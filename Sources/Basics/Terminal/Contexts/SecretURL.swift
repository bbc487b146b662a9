/// Hides the passwords in the URLs of servers.
package enum SecretURL {
    /// The text with `***` in place of each password: in `user:password@`, in parameters of a
    /// URL, and in libpq's `password=…`.
    package static func hidden(_ text: String) -> String {
        var result = text
        if let scheme = text.firstRange(of: "://") {
            let rest = text[scheme.upperBound...]
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            // A password may contain an at sign: the last one ends it.
            if let at = authority.lastIndex(of: "@") {
                // A single part before it is a user for PostgreSQL, a password for Redis.
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

    /// The value of a setting in the query of a URL, or in libpq's `key=value …`; nil if it is not
    /// set.
    package static func setting(_ name: String, of text: String) -> String? {
        guard text.contains("://") else {
            var rest = text[...]
            while let (key, value) = nextSetting(&rest) {
                if key == name { return value }
            }
            return nil
        }
        for part in text.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let key = part.prefix { $0 != "=" }
            if key == name { return String(part.dropFirst(key.count + 1)) }
        }
        return nil
    }

    /// Only the host and database of a URL, or of libpq's `host=… dbname=…`.
    package static func place(_ text: String) -> String {
        var (host, port, name) = ("", "", "")
        func take(_ key: some StringProtocol, _ value: some StringProtocol) {
            switch key {
            case "host": host = String(value)
            case "hostaddr": host = host.isEmpty ? String(value) : host
            case "port": port = String(value)
            case "dbname": name = String(value)
            default: break
            }
        }
        if let scheme = text.firstRange(of: "://") {
            let rest = text[scheme.upperBound...]
            let front = rest.prefix { $0 != "?" }
            // A password may contain any character: the last at sign ends it.
            let behind = front.lastIndex(of: "@").map { front[front.index(after: $0)...] } ?? front
            host = String(behind.prefix { $0 != "/" })
            name = String(behind.dropFirst(host.count).drop { $0 == "/" })
            for part in rest.dropFirst(front.count + 1).split(separator: "&") {
                let key = part.prefix { $0 != "=" }
                take(key, part.dropFirst(key.count + 1))
            }
        } else {
            var rest = text[...]
            while let (key, value) = nextSetting(&rest) { take(key, value) }
        }
        let server = (host.isEmpty ? "localhost" : host) + (port.isEmpty ? "" : ":\(port)")
        return name.isEmpty ? server : "\(server)/\(name)"
    }

    /// The next `key=value` or `key='value'`.
    private static func nextSetting(_ text: inout Substring) -> (key: String, value: String)? {
        text = text.drop(while: \.isWhitespace)
        let key = text.prefix { $0 != "=" && !$0.isWhitespace }
        text = text.dropFirst(key.count).drop(while: \.isWhitespace)
        guard !key.isEmpty, text.popFirst() == "=" else { return nil }
        text = text.drop(while: \.isWhitespace)
        let isQuoted = text.first == "'"
        if isQuoted { text.removeFirst() }
        var value = ""
        while let character = text.popFirst() {
            if isQuoted ? character == "'" : character.isWhitespace { break }
            value.append(character == "\\" ? text.popFirst() ?? character : character)
        }
        return (String(key), value)
    }
}
