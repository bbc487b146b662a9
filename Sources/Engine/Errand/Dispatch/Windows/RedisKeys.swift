/// The names of Errand's keys in Redis.
///
/// All contain the database's instance id, so that two databases can share a Redis. The braces keep
/// them in one slot of a cluster.
package struct RedisKeys: Sendable {
    package let prefix: String

    package init(instance: String) { prefix = "errand:{\(instance.prefix(8))}:" }

    /// Sorted set: the ids of a lane that can be popped, in order.
    package func window(_ lane: Lane) -> String {
        "\(windows)\(lane.queue):\(lane.kind):\(lane.version)"
    }
    /// What the names of all these begin with.
    package var windows: String { prefix + "w:" }
    /// Returns the lane of a window's key.
    package func lane(ofWindow key: String) -> Lane? {
        guard key.hasPrefix(windows) else { return nil }
        let parts = key.dropFirst(windows.count).split(separator: ":")
        return Lane(name: parts.joined(separator: "\t"))
    }
    /// Set: the lanes in use, which the workers that can run them watch.
    package var lanes: String { prefix + "lanes" }
    /// Sorted set: when a lane was last added to the lanes in use, in microseconds, as the score of
    /// `at`.
    package var lanesAddedAt: String { prefix + "lanes:added" }
    /// Set: the lanes that may have ids, among the lanes in use.
    package var filled: String { prefix + "lanes:filled" }
    /// Sorted set: the ids of the workers to notify of new lanes, and until when, in seconds.
    package var watchers: String { prefix + "watchers" }
    /// Hash: lane → the most urgent priority with due jobs that are not staged.
    package var behind: String { prefix + "behind" }
    /// Sorted set: the lanes that the feeder is requested to read.
    package var feed: String { prefix + "feed" }
    /// String: exists while Redis has the staged ids; set by the feeder.
    package var fed: String { prefix + "fed" }
    /// Sorted set: ends the blocking pop of a worker; its members are new lanes in use, or `x`.
    package func wake(worker: Int64) -> String { "\(wakes)\(worker)" }
    /// What the names of all these begin with.
    package var wakes: String { prefix + "wake:" }

    /// The keys of which there is one, with the types that `TYPE` reports for them.
    var single: [(key: String, type: String)] {
        [
            (lanes, "set"), (lanesAddedAt, "zset"), (filled, "set"), (watchers, "zset"),
            (behind, "hash"), (feed, "zset"), (fed, "string"),
        ]
    }
    /// The type of the windows and of the keys that wake workers.
    static let windowType = "zset"
}
