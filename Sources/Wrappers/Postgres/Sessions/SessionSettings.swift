/// The settings of a session.
public struct SessionSettings: Sendable {
    /// The database in libpq's form: a URI or `key=value` pairs, with several hosts, TLS settings
    /// and other options.
    ///
    /// Of several hosts, the session connects to the one that accepts writes, unless the URL sets
    /// `target_session_attrs`.
    public var url: String
    /// The name in pg_stat_activity, unless the URL contains one.
    public var name: String
    /// The time limit of a connect, for each host.
    public var connectTimeout: Duration = .seconds(5)
    /// The time limit of a statement without an answer; then the connection is closed.
    public var timeLimit: Duration = .seconds(90)
    /// How often the server checks during a statement whether the client still exists, so that it
    /// does not hold locks for a lost client.
    public var clientCheckInterval: Duration = .seconds(10)
    /// The statements to run after each connect.
    ///
    /// Behind a pooler they must have the form `SET name = value`, and apply to each transaction.
    public var setup: [String]
    /// The kind of connection pooler.
    public var pooling = Pooling.detected

    /// Creates settings with production defaults.
    public init(_ url: String, name: String, setup: [String] = []) {
        self.url = url
        self.name = name
        self.setup = setup
    }

    /// Whether the session itself is read-only, regardless of the server.
    var isReadOnly: Bool { setup.contains("SET default_transaction_read_only = on") }

    /// The script to run after each connect.
    ///
    /// A machine that fails does not close its connections. The server must detect this within half
    /// a minute, or the locks would remain for hours.
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
