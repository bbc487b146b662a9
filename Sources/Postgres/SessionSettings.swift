/// How a session connects.
public struct SessionSettings: Sendable {
    /// As libpq takes it: a URI or `key=value` pairs, several hosts, TLS settings and all.
    public var url: String
    /// Shown in pg_stat_activity, unless the URL names another.
    public var name: String
    /// For each host.
    public var connectTimeout: Duration = .seconds(5)
    /// A server that is silent for so long in the middle of a statement is given up.
    public var timeLimit: Duration = .seconds(90)
    /// Statements that are run after each connect.
    public var setup: [String]

    /// Settings with production defaults.
    public init(_ url: String, name: String, setup: [String] = []) {
        self.url = url
        self.name = name
        self.setup = setup
    }

    /// All that is run after each connect.
    ///
    /// The first lets the server notice, in the middle of a statement, that its client has given
    /// up or died, so that nobody's locks are held for an answer that nobody waits for.
    var script: String {
        (["SET client_connection_check_interval = '10s'"] + setup).joined(separator: ";\n")
    }
}
