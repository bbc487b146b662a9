/// The names of Errand's keys in Redis.
///
/// All contain the database's instance id, so that two databases can share a Redis. The braces keep
/// them in one slot of a cluster.
package struct RedisKeys: Sendable {
    package let prefix: String

    package init(instance: String) { prefix = "errand:{\(instance.prefix(8))}:" }

    /// Sorted set: the ids of a lane that can be popped, in order.
    package func window(_ lane: Lane) -> String {
        "\(prefix)w:\(lane.queue):\(lane.kind):\(lane.version)"
    }
    /// Hash: lane → the most urgent priority with due jobs that are not staged.
    package var behind: String { prefix + "behind" }
    /// Sorted set: the lanes that the feeder is requested to read.
    package var feed: String { prefix + "feed" }
    /// String: exists while Redis has the staged ids; set by the feeder.
    package var fed: String { prefix + "fed" }
    /// Sorted set: ends the blocking pop of a worker.
    package func wake(worker: Int64) -> String { "\(prefix)wake:\(worker)" }
}
