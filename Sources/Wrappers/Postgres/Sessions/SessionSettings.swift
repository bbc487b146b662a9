/// How a session connects.
public struct SessionSettings: Sendable {
    /// As libpq takes it: a URI or `key=value` pairs, several hosts, TLS settings and all.
    ///
    /// Of several hosts the one is taken that accepts writes, unless the URL says otherwise with
    /// `target_session_attrs`.
    public var url: String
    /// Shown in pg_stat_activity, unless the URL names another.
    public var name: String
    /// For each host.
    public var connectTimeout: Duration = .seconds(5)
    /// A server that is silent for so long in the middle of a statement is given up.
    public var timeLimit: Duration = .seconds(90)
    /// How often the server looks, in the middle of a statement, whether this client still
    /// exists: nobody's locks are held for an answer that nobody waits for.
    public var clientCheckInterval: Duration = .seconds(10)
    /// Statements that are run after each connect; behind a pooler, where they may only be of the
    /// form `SET name = value`, they hold for each transaction anew.
    public var setup: [String]
    /// What stands between here and the server.
    public var pooling = Pooling.detected

    /// Settings with production defaults.
    public init(_ url: String, name: String, setup: [String] = []) {
        self.url = url
        self.name = name
        self.setup = setup
    }

    /// Whether it refuses writes by its own will, whatever the server is.
    var isReadOnly: Bool { setup.contains("SET default_transaction_read_only = on") }

    /// All that is run after each connect.
    ///
    /// A client whose machine is gone sends no farewell: the server too must notice within half a
    /// minute, or its locks would stay for hours.
    var script: String {
        let (seconds, attoseconds) = clientCheckInterval.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        let all =
            [
                "SET client_connection_check_interval = \(milliseconds)",
                "SET tcp_keepalives_idle = 10", "SET tcp_keepalives_interval = 5",
                "SET tcp_keepalives_count = 3",
            ] + setup
        return all.joined(separator: ";\n")
    }
}
