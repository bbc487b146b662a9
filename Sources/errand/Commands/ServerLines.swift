import Redis
import Terminal

/// Lines to paste that ask the servers themselves; without passwords.
struct ServerLines {
    private let database: String
    private let isOfEnvironment: Bool
    private let redisWords: [String]

    init(_ invocation: Invocation) {
        database = (try? invocation.databaseURL()) ?? ""
        isOfEnvironment = !database.isEmpty && invocation.environment["DATABASE_URL"] == database
        redisWords = (try? invocation.redisAddress())?.clientArguments ?? []
    }

    /// Runs SQL, as the user that the program has or as another one.
    func psql(_ sql: String, user: String? = nil) -> String {
        let place =
            user == nil && isOfEnvironment
            ? "\"$DATABASE_URL\"" : Self.quoted(Self.withoutPassword(database, user: user))
        return "psql \(place) -c \(Self.quoted(sql))"
    }

    /// Gives Redis a command.
    func redis(_ command: String) -> String {
        (["redis-cli"] + redisWords.map(Self.quoted) + [command]).joined(separator: " ")
    }

    /// As one word of a shell.
    static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/._-:@,+".utf8.contains(byte)
            }
        }
        guard text.isEmpty || !isPlain else { return text }
        return "'" + text.replacing("'", with: #"'\''"#) + "'"
    }

    /// A URL of libpq without its password, and with another user's name where one is given.
    private static func withoutPassword(_ url: String, user: String?) -> String {
        let parts = url.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return "" }
        var rest = parts[1]
        var name = user
        let end = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
        if let at = rest[..<end].lastIndex(of: "@") {
            name = name ?? String(rest[..<at].prefix { $0 != ":" })
            rest = rest[rest.index(after: at)...]
        }
        let query = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let kept = query.dropFirst().flatMap { $0.split(separator: "&") }.filter {
            !$0.hasPrefix("password=") && !(user != nil && $0.hasPrefix("user="))
        }
        return parts[0] + "://" + (name.map { $0 + "@" } ?? "") + query[0]
            + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
    }
}
