/// The kind of connection pooler between a session and its PostgreSQL server.
public enum Pooling: String, Sendable, CaseIterable {
    /// Detected after each connect: a pooler reports a process number of its own, which differs
    /// from that of the server process.
    case detected
    /// No pooler, or a proxy that keeps one server process for each connection.
    case session
    /// A pooler that assigns a server process for one transaction, such as PgBouncer with
    /// `pool_mode = transaction`.
    ///
    /// Session state ends with the transaction: prepared statements, settings, LISTEN and session
    /// locks.
    case transaction
}

/// The settings of a session behind a pooler.
///
/// They are applied at the start of each transaction, which may run in another server process than
/// the last.
struct TransactionSetup {
    /// `SELECT set_config(…, true), …`; nil without settings.
    let sql: String?

    /// - Throws: `.usage` if a command does not have the form `SET name = value`.
    init(_ commands: [String]) throws(PostgresError) {
        var calls: [String] = []
        for command in commands {
            guard let (name, value) = Self.parse(command) else {
                throw .usage(
                    "through a connection pooler, only commands of the form 'SET name = value' can "
                        + "run after connecting, not: \(command)")
            }
            calls.append("set_config('\(name)', '\(value)', true)")
            // The default applies to later transactions, but this one has already begun.
            if name == "default_transaction_read_only" {
                calls.append("set_config('transaction_read_only', '\(value)', true)")
            }
        }
        sql = calls.isEmpty ? nil : "SELECT " + calls.joined(separator: ", ")
    }

    /// Returns the name and the value, which stays escaped as in SQL, without the outer quotes.
    private static func parse(_ command: String) -> (name: Substring, value: Substring)? {
        let words = command.split(separator: " ", maxSplits: 3)
        guard words.count == 4, words[0] == "SET", words[2] == "=",
            words[1].utf8.allSatisfy({
                $0 == 0x5F || $0 == 0x2E || (0x61...0x7A).contains($0 | 0x20)
            })
        else { return nil }
        var value = words[3]
        if value.hasPrefix("'"), value.hasSuffix("'"), value.utf8.count >= 2 {
            value = value.dropFirst().dropLast()
        }
        let quotes = value.split(separator: "''", omittingEmptySubsequences: false)
        guard !quotes.contains(where: { $0.contains("'") }), !value.contains("\\") else {
            return nil
        }
        return (words[1], value)
    }
}

extension Session {
    /// Returns whether a pooler assigns this session a server process for each transaction.
    ///
    /// Connects if necessary.
    public func isPooled() throws(PostgresError) -> Bool {
        _ = try connected()
        return transactionSetup != nil
    }

    /// Throws if a pooler assigns this session a server process for each transaction.
    ///
    /// - Parameter purpose: the use that needs a session, as the subject of a sentence.
    /// - Throws: `.usage`, with the remedy.
    public func requireOwnProcess(for purpose: String) throws(PostgresError) {
        guard try isPooled() else { return }
        throw .usage(
            "\(purpose) needs a PostgreSQL session of its own (locks, LISTEN and prepared "
                + "statements that outlive a transaction), but is connected through a connection "
                + "pooler such as PgBouncer: use the server's own address in the database URL; "
                + "only enqueueing works through a pooler. For a pooler that keeps a session for "
                + "each connection (pool_mode = session), set ERRAND_POOLER=session")
    }

    /// Detects a pooler, right after connecting.
    func findPooler(_ link: Link) throws(PostgresError) {
        transactionSetup = nil
        switch settings.pooling {
        case .session: return
        case .transaction: break
        case .detected:
            let process = try query("SELECT pg_backend_pid()", prepare: false).int32(0, 0)
            guard self.link === link else {
                throw .unreachable("the server closed the connection right after the greeting")
            }
            guard process != link.processNumber else { return }
        }
        transactionSetup = try TransactionSetup(settings.setup)
    }
}
