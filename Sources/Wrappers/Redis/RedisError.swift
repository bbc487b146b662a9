/// Why a command could not be carried out; the text says what to check and holds no password.
public enum RedisError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Not connected, lost in the middle, or silent for too long.
    case unreachable(String)
    /// The server does not let us in: wrong password, missing right, no such database.
    case refused(String)
    /// The server answered a command with an error.
    case server(String)
    /// The request itself is wrong.
    case usage(String)

    /// Whether the same may work later.
    public var isTransient: Bool {
        switch self {
        case .unreachable: true
        case .server(let text):
            ["LOADING", "BUSY", "TRYAGAIN"].contains { text.hasPrefix($0) }
                || Self.isOfWrongServer(text)
        case .refused, .usage: false
        }
    }

    /// The text for a person.
    public var description: String {
        switch self {
        case .unreachable(let text), .refused(let text), .usage(let text): text
        case .server(let text): "Redis answered: \(text)"
        }
    }

    /// Whether an error answer says that the server is no master, or one without its replicas:
    /// after a failover, another one is.
    static func isOfWrongServer(_ text: String) -> Bool {
        ["READONLY", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED"].contains { text.hasPrefix($0) }
    }

    /// What an error answer means.
    init(answer text: String, from address: RedisAddress) {
        let denials = ["NOAUTH", "WRONGPASS", "NOPERM", "ERR DB index", "ERR invalid password"]
        if denials.contains(where: text.hasPrefix)
            || text.hasPrefix("ERR AUTH") || text.hasPrefix("ERR Client sent AUTH")
        {
            self = .refused("\(address) does not let us in: \(text)")
        } else {
            self = .server(text)
        }
    }
}
