import ErrandPostgres
import ErrandRedis
import Testing

/// Everything that a database and a Redis hold, as text, to be searched for what may not be there.
enum StoredText {
    /// The text of each row of the tables whose names fulfil a condition, with the table's name.
    ///
    /// - Parameter condition: SQL on `n.nspname` and `c.relname`.
    static func rows(
        of session: Session, where condition: String = "true"
    ) async throws -> [(table: String, row: String)] {
        let names = try await session.query(
            """
            SELECT format('%I.%I', n.nspname, c.relname)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
              AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'public')
              AND (\(condition))
            """
        ).map { try $0.text(0) }
        var found: [(String, String)] = []
        for name in names {
            for row in try await session.query("SELECT t::text FROM \(name) t") {
                found.append((name, try row.text(0)))
            }
        }
        return found
    }

    /// All keys of a Redis with their values.
    static func redis(_ url: String) async throws -> String {
        let connection = Connection(try RedisAddress(url: url), name: "scan")
        var text = ""
        var cursor = "0"
        repeat {
            let page = try await connection.send(Command("SCAN", cursor)).array ?? []
            cursor = page.first?.text ?? "0"
            for key in page.last?.array ?? [] {
                guard let key = key.text else { continue }
                let type = try await connection.send(Command("TYPE", key)).text ?? ""
                let command: Command? =
                    switch type {
                    case "string": Command("GET", key)
                    case "hash": Command("HGETALL", key)
                    case "list": Command("LRANGE", key, "0", "-1")
                    case "set": Command("SMEMBERS", key)
                    case "zset": Command("ZRANGE", key, "0", "-1")
                    case "stream": Command("XRANGE", key, "-", "+")
                    default: nil
                    }
                guard let command else { continue }
                text += key + " " + words(try await connection.send(command)) + "\n"
            }
        } while cursor != "0"
        return text
    }

    private static func words(_ reply: Reply) -> String {
        reply.array?.map(words).joined(separator: " ") ?? reply.text ?? ""
    }
}
