public import ErrandPostgres
public import ErrandRedis

/// Where the servers are.
public struct Servers: Sendable {
    /// As libpq takes it: a URI or `key=value` pairs.
    public var database: String
    /// Where Redis is.
    public var redis: RedisAddress
    /// What stands before PostgreSQL: workers need a session of their own there.
    public var pooling = Pooling.detected

    /// The two servers that Errand needs.
    public init(database: String, redis: RedisAddress) {
        self.database = database
        self.redis = redis
    }

    /// How a worker's sessions connect.
    func settings(_ name: String, setup: [String]) -> SessionSettings {
        var settings = SessionSettings(database, name: name, setup: setup)
        settings.pooling = pooling
        return settings
    }
}
