import ErrandRedis
import ErrandTerminal

/// Shell commands for the servers, to paste into a terminal; they contain no passwords.
package struct ServerLines {
    private let database: String
    /// The shell expression for the database's URL, if a variable holds it.
    private let variable: String?
    private let redisWords: [String]

    package init(_ invocation: Invocation) {
        database = (try? invocation.databaseURL()) ?? ""
        let isOfEnvironment =
            !database.isEmpty && invocation.environment["DATABASE_URL"] == database
        let hasFile = !invocation.environment["DATABASE_URL_FILE", default: ""].isEmpty
        variable =
            isOfEnvironment
            ? hasFile ? "\"$(cat \"$DATABASE_URL_FILE\")\"" : "\"$DATABASE_URL\"" : nil
        redisWords = (try? invocation.redisAddress())?.clientArguments ?? []
    }

    /// A psql command that runs SQL, as the program's user or as another one.
    package func psql(_ sql: String, user: String? = nil) -> String {
        let variable = user == nil ? variable : nil
        let place = variable ?? shellWord(Self.withoutPassword(database, user: user))
        return "psql \(place) -c \(shellWord(sql))"
    }

    /// A redis-cli command.
    package func redis(_ command: String) -> String {
        (["redis-cli"] + redisWords.map(shellWord) + [command]).joined(separator: " ")
    }

    /// A libpq URL without its password, optionally with another user.
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
