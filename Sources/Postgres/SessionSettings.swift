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
    /// How often the server looks, in the middle of a statement, whether this client still
    /// exists: nobody's locks are held for an answer that nobody waits for.
    public var clientCheckInterval: Duration = .seconds(10)
    /// Statements that are run after each connect.
    public var setup: [String]

    /// Settings with production defaults.
    public init(_ url: String, name: String, setup: [String] = []) {
        self.url = url
        self.name = name
        self.setup = setup
    }

    /// All that is run after each connect.
    var script: String {
        let (seconds, attoseconds) = clientCheckInterval.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return (["SET client_connection_check_interval = \(milliseconds)"] + setup)
            .joined(separator: ";\n")
    }
}
