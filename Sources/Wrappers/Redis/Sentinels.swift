/// A host and its port.
struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    var host: String
    var port: Int32

    /// The form of a URL.
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A Redis service with failover: its name, and the sentinels that know its master.
struct SentinelService: Sendable, Equatable, CustomStringConvertible {
    var name: String
    var sentinels: [Endpoint]
    /// The login of the sentinels themselves.
    var user: String?
    var password: String?

    /// The service without secrets.
    var description: String {
        "\(name) of the sentinels \(sentinels.map(\.description).joined(separator: ", "))"
    }
}

/// Asks sentinels, one after the other, for the master of a service.
///
/// It follows the "Guidelines for Redis clients with support for Redis Sentinel": ask until one
/// answers, connect to the server, and check that this server itself reports the role master.
struct SentinelRound {
    /// The time limit of a sentinel's answer.
    private static let timeout = Duration.seconds(1)

    private let service: SentinelService
    /// The sentinels, the last one that answered first.
    private var order: [Endpoint]
    private let timeout: Duration

    /// - Parameter limit: the time limit of a connect to the master, and of a sentinel's answer.
    init(_ service: SentinelService, connectTimeout limit: Duration) {
        self.service = service
        order = service.sentinels
        timeout = min(limit, Self.timeout)
    }

    /// Passes the sentinels' answers to `take` until it succeeds.
    ///
    /// - Throws: `.unreachable` with the answer of each sentinel; at once for an error such as
    ///   `.refused` that another sentinel cannot change.
    mutating func find<Found>(
        _ take: (Endpoint) throws(RedisError) -> Found
    ) throws(RedisError) -> Found {
        var reasons: [String] = []
        for sentinel in order {
            let master: Endpoint
            do throws(RedisError) { master = try ask(sentinel) } catch {
                reasons.append("\(sentinel): \(error)")
                continue
            }
            do throws(RedisError) {
                let found = try take(master)
                order.removeAll { $0 == sentinel }
                order.insert(sentinel, at: 0)
                return found
            } catch {
                if case .refused = error { throw error }
                reasons.append("\(sentinel) names \(master): \(error)")
            }
        }
        throw .unreachable(
            "no sentinel of the Redis service \(service.name) led to a master: "
                + reasons.joined(separator: "; "))
    }

    private func ask(_ sentinel: Endpoint) throws(RedisError) -> Endpoint {
        let address = RedisAddress(sentinel: sentinel, of: service)
        let context = try Context(address, connectTimeout: timeout, replyTimeout: timeout)
        var commands: [Command] = []
        if let password = service.password {
            commands.append(
                service.user.map { Command("AUTH", $0, password) } ?? Command("AUTH", password))
        }
        commands.append(Command("SENTINEL", "get-master-addr-by-name", service.name))
        for command in commands { context.append(command.bytes) }
        var last = Reply.null
        for _ in commands {
            guard let answer = context.nextAnswer() else {
                throw .unreachable("no answer: \(context.errorText)")
            }
            last = Reply.copy(answer)
            if case .error(let text) = last { throw RedisError(answer: text, from: address) }
        }
        guard let parts = last.array?.compactMap(\.text), parts.count == 2,
            let port = Int32(parts[1])
        else { throw .server("unknown service \(service.name)") }
        return Endpoint(host: parts[0], port: port)
    }
}
