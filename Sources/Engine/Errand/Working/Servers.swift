public import ErrandPostgres
public import ErrandRedis

/// The addresses of PostgreSQL and Redis.
public struct Servers: Sendable {
    /// The database in libpq's form: a URI or `key=value` pairs.
    public var database: String
    /// The address of Redis.
    public var redis: RedisAddress
    /// Whether a connection pooler is between the program and PostgreSQL.
    ///
    /// Workers need direct sessions.
    public var pooling = Pooling.detected

    /// Creates the addresses.
    public init(database: String, redis: RedisAddress) {
        self.database = database
        self.redis = redis
    }

    /// Returns the connection settings of a worker's session.
    func settings(_ name: String, setup: [String]) -> SessionSettings {
        var settings = SessionSettings(database, name: name, setup: setup)
        settings.pooling = pooling
        return settings
    }
}
