/// Why a command failed.
///
/// The text states what to check and contains no password.
public enum RedisError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The server could not be reached, the connection was lost, or an answer timed out.
    case unreachable(String)
    /// The server refuses access: wrong password, missing permission, or no such database.
    case refused(String)
    /// The server answered a command with an error.
    case server(String)
    /// The request is invalid.
    case usage(String)

    /// Whether a retry may succeed.
    public var isTransient: Bool {
        switch self {
        case .unreachable: true
        case .server(let text):
            ["LOADING", "BUSY", "TRYAGAIN"].contains { text.hasPrefix($0) }
                || Self.isOfWrongServer(text)
        case .refused, .usage: false
        }
    }

    /// Whether the server is away: it cannot be reached, is still loading, has no master, or
    /// accepts no more clients.
    package var isOfUnavailableServer: Bool {
        switch self {
        case .unreachable: true
        case .server(let text):
            text.hasPrefix("LOADING") || text.hasPrefix("CLUSTERDOWN")
                || text.hasPrefix("ERR max number of clients") || Self.isOfWrongServer(text)
        case .refused, .usage: false
        }
    }

    /// Whether a key has another type than the command or script needs.
    public var isWrongType: Bool {
        // A script's error may begin with the script's own words.
        if case .server(let text) = self { text.contains("WRONGTYPE") } else { false }
    }

    /// The message for people.
    public var description: String {
        switch self {
        case .unreachable(let text), .refused(let text), .usage(let text): text
        case .server(let text): "Redis answered: \(text)"
        }
    }

    /// Returns whether an error means that the server is not the master, or a master without its
    /// replicas, so that another server may be the master after a failover.
    static func isOfWrongServer(_ text: String) -> Bool {
        ["READONLY", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED"].contains { text.hasPrefix($0) }
    }

    /// Creates an error from an error reply.
    init(answer text: String, from address: RedisAddress) {
        let denials = ["NOAUTH", "WRONGPASS", "NOPERM", "ERR DB index", "ERR invalid password"]
        if denials.contains(where: text.hasPrefix)
            || text.hasPrefix("ERR AUTH") || text.hasPrefix("ERR Client sent AUTH")
        {
            self = .refused("\(address) refuses access: \(text)")
        } else {
            self = .server(text)
        }
    }
}
