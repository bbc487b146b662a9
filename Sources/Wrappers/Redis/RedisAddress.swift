/// The address and login of a Redis server, from a URL.
///
/// `redis://[[user:]password@]host[:port][/database]`,
/// `unix://[[user:]password@]/path/to.sock[?db=number]` (also `redis+unix:`, `redis-socket:`), or
/// `redis+sentinel://[[user:]password@]host[:port][,host[:port]…]/service[/database]` for the
/// master that Sentinel names. A password of the sentinels themselves is given as
/// `?sentinel_user=name&sentinel_password=word`.
public struct RedisAddress: Sendable, Equatable, CustomStringConvertible {
    enum Place: Sendable, Equatable {
        case tcp(host: String, port: Int32)
        case socket(path: String)
        case sentinels(SentinelService)
    }

    let place: Place
    let user: String?
    let password: String?
    let database: Int

    /// Parses a URL.
    ///
    /// - Throws: `RedisError.usage`, with the expected form.
    public init(url: String) throws(RedisError) {
        guard let colon = url.range(of: "://") else {
            throw .usage(
                "the Redis URL has no scheme: expected redis://host:6379/0 or unix:///path/to.sock"
                    + " or redis+sentinel://host:26379,host:26379/service")
        }
        let scheme = url[..<colon.lowerBound].lowercased()
        var rest = url[colon.upperBound...]
        switch scheme {
        case "redis", "redis+sentinel", "unix", "redis+unix", "redis-socket": break
        case "rediss":
            throw .usage(
                "rediss:// is not supported: set up a TLS tunnel such as stunnel, and use the "
                    + "address of its local end")
        default:
            throw .usage(
                "Redis URL scheme \"\(scheme)\": expected redis or unix or redis+sentinel")
        }
        var user: String?
        var password: String?
        let authorityEnd = rest.firstIndex(of: "/") ?? rest.endIndex
        if let at = rest[..<authorityEnd].lastIndex(of: "@") {
            let credentials = rest[..<at].split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if credentials.count == 2 {
                user = try Self.decoded(credentials[0])
                password = try Self.decoded(credentials[1])
            } else {
                password = try Self.decoded(credentials[0])
            }
            rest = rest[rest.index(after: at)...]
        }
        // Error messages show the parts below, so they must not contain the password.
        guard !rest.contains("@") || (!scheme.isOverTCP && rest.hasPrefix("/")) else {
            throw .usage("the Redis URL has a / before its @: write / as %2F in a password")
        }
        self.user = user.flatMap { $0.isEmpty ? nil : $0 }
        self.password = password
        switch scheme {
        case "redis": (place, database) = try Self.tcp(rest)
        case "redis+sentinel": (place, database) = try Self.sentinels(rest)
        default: (place, database) = try Self.socket(rest)
        }
    }

    /// Creates the address of another server with the same user, password and database.
    init(_ other: RedisAddress, at endpoint: Endpoint) {
        place = .tcp(host: endpoint.host, port: endpoint.port)
        user = other.user
        password = other.password
        database = other.database
    }

    /// Creates the address of a sentinel, which has no databases.
    init(sentinel: Endpoint, of service: SentinelService) {
        place = .tcp(host: sentinel.host, port: sentinel.port)
        user = service.user
        password = service.password
        database = 0
    }

    private static func tcp(_ text: Substring) throws(RedisError) -> (Place, Int) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let endpoint = try endpoint(parts.first ?? "", defaultPort: 6379)
        var database = 0
        if parts.count == 2, !parts[1].isEmpty { database = try Self.number(parts[1]) }
        return (.tcp(host: endpoint.host, port: endpoint.port), database)
    }

    /// Parses `host:port,host:port/service/database?option=value`.
    private static func sentinels(_ text: Substring) throws(RedisError) -> (Place, Int) {
        let halves = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = (halves.first ?? "").split(
            separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count > 1, !parts[1].isEmpty else {
            throw .usage(
                "the Redis URL names no service: expected "
                    + "redis+sentinel://host:26379,host:26379/service")
        }
        var service = SentinelService(name: try decoded(parts[1]), sentinels: [])
        for place in (parts.first ?? "").split(separator: ",", omittingEmptySubsequences: false) {
            service.sentinels.append(try endpoint(place, defaultPort: 26_379))
        }
        var database = 0
        if parts.count == 3, !parts[2].isEmpty { database = try number(parts[2]) }
        for item in halves.dropFirst().first?.split(separator: "&") ?? [] {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            switch (pair.first, pair.count) {
            case ("sentinel_user", 2): service.user = try decoded(pair[1])
            case ("sentinel_password", 2): service.password = try decoded(pair[1])
            default:
                // Show only the name: the mistyped option may contain the password.
                throw .usage(
                    "Redis URL option \"\(pair.first ?? "")\": expected sentinel_user=NAME or "
                        + "sentinel_password=WORD")
            }
        }
        return (.sentinels(service), database)
    }

    private static func endpoint(
        _ text: Substring, defaultPort: Int32
    ) throws(RedisError) -> Endpoint {
        var host = text
        var port = defaultPort
        if host.hasPrefix("[") {
            let end = host.firstIndex(of: "]") ?? host.startIndex
            let after = host[host.index(after: end)...]
            guard end > host.startIndex, after.isEmpty || after.hasPrefix(":") else {
                throw .usage("Redis host \"\(host)\": expected [address] or [address]:port")
            }
            if !after.isEmpty { port = try Self.port(after.dropFirst()) }
            host = host[host.index(after: host.startIndex)..<end]
        } else if let colon = host.lastIndex(of: ":") {
            port = try Self.port(host[host.index(after: colon)...])
            host = host[..<colon]
        }
        guard !host.isEmpty else {
            throw .usage("the Redis URL names no host: expected redis://host:6379/0")
        }
        return Endpoint(host: try decoded(host), port: port)
    }

    private static func socket(_ text: Substring) throws(RedisError) -> (Place, Int) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = try decoded(parts.first ?? "")
        guard path.hasPrefix("/") else {
            throw .usage("the Redis socket \"\(path)\": expected unix:///path/to.sock")
        }
        // sun_path holds 108 bytes with its final zero.
        guard path.utf8.count <= 107 else {
            throw .usage("the path of the Redis socket is longer than 107 bytes")
        }
        var database = 0
        for item in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let pair = item.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, ["db", "database"].contains(pair[0]) else {
                throw .usage("Redis URL option \"\(item)\": expected db=NUMBER")
            }
            database = try number(pair[1])
        }
        return (.socket(path: path), database)
    }

    private static func port(_ text: Substring) throws(RedisError) -> Int32 {
        guard let port = Int32(text), (1...65_535).contains(port) else {
            throw .usage("Redis port \"\(text)\": expected 1 to 65535")
        }
        return port
    }

    private static func number(_ text: Substring) throws(RedisError) -> Int {
        guard let number = Int(text), number >= 0 else {
            throw .usage("Redis database \"\(text)\": expected a number such as 0")
        }
        return number
    }

    private static func decoded(_ text: Substring) throws(RedisError) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard rest.count >= 2, digits.allSatisfy(\.isHexDigit),
                let value = UInt8(digits, radix: 16)
            else { throw .usage("the Redis URL has a % without two hexadecimal digits after it") }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The arguments of redis-cli for the server and the user; redis-cli asks for the password.
    package var clientArguments: [String] {
        let place: [String] =
            switch place {
            case .tcp(let host, let port): ["-h", host, "-p", "\(port)"]
            case .socket(let path): ["-s", path]
            // Only the sentinels know the current host.
            case .sentinels(let service): ["-h", "MASTER-OF-\(service.name)"]
            }
        return place + (user.map { ["--user", $0] } ?? []) + (password == nil ? [] : ["--askpass"])
    }

    /// The address without secrets.
    public var description: String {
        switch place {
        case .tcp(let host, let port): "Redis at \(host):\(port), database \(database)"
        case .socket(let path): "Redis at \(path), database \(database)"
        case .sentinels(let service): "Redis service \(service), database \(database)"
        }
    }
}

extension String {
    /// Whether it is the scheme of a URL with hosts.
    fileprivate var isOverTCP: Bool { self == "redis" || self == "redis+sentinel" }

    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) {
                return start..<index(start, offsetBy: text.count)
            }
            start = index(after: start)
        }
        return nil
    }
}
