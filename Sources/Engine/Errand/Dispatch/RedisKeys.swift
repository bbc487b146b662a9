/// The names of Errand's keys in Redis.
///
/// All carry the database's instance id, so that two databases can share a Redis; the braces keep
/// them in one slot of a cluster.
package struct RedisKeys: Sendable {
    package let prefix: String

    package init(instance: String) { prefix = "errand:{\(instance.prefix(8))}:" }

    /// Sorted set: the ids that may be popped from a lane, best first.
    package func window(_ lane: Lane) -> String {
        "\(prefix)w:\(lane.queue):\(lane.kind):\(lane.version)"
    }
    /// Hash: lane → the best priority of which more jobs wait in PostgreSQL than were staged.
    package var behind: String { prefix + "behind" }
    /// Sorted set: lanes that the feeder is asked to look at.
    package var feed: String { prefix + "feed" }
    /// There as long as Redis remembers what was staged; set by the feeder.
    package var fed: String { prefix + "fed" }
    /// Sorted set: wakes one worker out of its blocking pop.
    package func poke(worker: Int64) -> String { "\(prefix)poke:\(worker)" }
}
