/// What stands between a session and its PostgreSQL server.
public enum Pooling: String, Sendable, CaseIterable {
    /// Found out after each connect: a pooler gives its clients process numbers of its own making,
    /// which differ from what the server calls its process.
    case detected
    /// Nothing, or a proxy that keeps one server process for each connection.
    case session
    /// A pooler that lends a server process for one transaction at a time, such as PgBouncer with
    /// `pool_mode = transaction`.
    ///
    /// Nothing outlives a transaction there: no prepared statement, no setting, no LISTEN, no
    /// lock of a session.
    case transaction
}

/// The settings of a session behind a pooler: made anew at the head of each transaction, because
/// the next one may meet another server process.
struct TransactionSetup {
    /// `SELECT set_config(…, true), …`; nil when there is nothing to set.
    let sql: String?

    /// - Throws: `.usage` when a command is not of the form `SET name = value`.
    init(_ commands: [String]) throws(PostgresError) {
        var calls: [String] = []
        for command in commands {
            guard let (name, value) = Self.parse(command) else {
                throw .usage(
                    "behind a connection pooler only 'SET name = value' can be run after "
                        + "connecting, not: \(command)")
            }
            calls.append("set_config('\(name)', '\(value)', true)")
            // The default counts for transactions that begin later, and this one has begun.
            if name == "default_transaction_read_only" {
                calls.append("set_config('transaction_read_only', '\(value)', true)")
            }
        }
        sql = calls.isEmpty ? nil : "SELECT " + calls.joined(separator: ", ")
    }

    /// The value stays quoted as in SQL, without the quotes around it.
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
    /// Whether a pooler lends this session a server process for each transaction; connects to find
    /// out.
    public func isPooled() throws(PostgresError) -> Bool {
        _ = try connected()
        return transactionSetup != nil
    }

    /// Refuses to go on behind a pooler that lends server processes for a transaction only.
    ///
    /// - Parameter purpose: what needs more than a transaction, as the subject of a sentence.
    /// - Throws: `.usage`, saying what to do instead.
    public func requireOwnProcess(for purpose: String) throws(PostgresError) {
        guard try isPooled() else { return }
        throw .usage(
            "\(purpose) needs a PostgreSQL session of its own (locks, LISTEN and prepared "
                + "statements that outlive a transaction), and a connection pooler such as "
                + "PgBouncer stands between: name the server's own address in the database URL; "
                + "only enqueueing goes through a pooler. One that keeps a session for each "
                + "connection (pool_mode = session) is told by ERRAND_POOLER=session")
    }

    /// Learns whether a pooler stands between, right after connecting.
    func findPooler(_ link: Link) throws(PostgresError) {
        transactionSetup = nil
        switch settings.pooling {
        case .session: return
        case .transaction: break
        case .detected:
            let process = try query("SELECT pg_backend_pid()", prepare: false).int32(0, 0)
            guard self.link === link else {
                throw .unreachable("the server hung up right after the greeting")
            }
            guard process != link.processNumber else { return }
        }
        transactionSetup = try TransactionSetup(settings.setup)
    }
}
