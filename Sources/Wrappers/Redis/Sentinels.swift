/// A host and its port.
struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    var host: String
    var port: Int32

    /// As in a URL.
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A Redis whose master changes: its name, and the sentinels that know which server it is now.
struct SentinelService: Sendable, Equatable, CustomStringConvertible {
    var name: String
    var sentinels: [Endpoint]
    /// What the sentinels themselves ask for.
    var user: String?
    var password: String?

    /// Without its secrets.
    var description: String {
        "\(name) of the sentinels \(sentinels.map(\.description).joined(separator: ", "))"
    }
}

/// Asks sentinels, one after the other, where the master of a service is.
///
/// The protocol is that of "Guidelines for Redis clients with support for Redis Sentinel": ask
/// until one answers, connect there, and believe it only when that server says itself that it is
/// a master.
struct SentinelRound {
    /// A sentinel is asked for one line: one that takes longer is as good as gone.
    private static let patience = Duration.seconds(1)

    private let service: SentinelService
    /// The one that answered last comes first.
    private var order: [Endpoint]
    private let patience: Duration

    /// - Parameter limit: how long a connect to the master may take; a sentinel gets no more.
    init(_ service: SentinelService, connectTimeout limit: Duration) {
        self.service = service
        order = service.sentinels
        patience = min(limit, Self.patience)
    }

    /// Hands what sentinels say to `take`, until that returns something.
    ///
    /// - Throws: `.unreachable` with what each sentinel said; `.refused` and what else cannot
    ///   change by asking another.
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
        let context = try Context(address, connectTimeout: patience, replyTimeout: patience)
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
                throw .unreachable("it does not answer: \(context.errorText)")
            }
            last = Reply.copy(answer)
            if case .error(let text) = last { throw RedisError(answer: text, from: address) }
        }
        guard let parts = last.array?.compactMap(\.text), parts.count == 2,
            let port = Int32(parts[1])
        else { throw .server("it knows no service \(service.name)") }
        return Endpoint(host: parts[0], port: port)
    }
}
