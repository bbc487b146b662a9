import Synchronization

/// Counters of this process's connections to the servers of one kind.
public final class ConnectionTally: Sendable {
    private let madeCount = Atomic(0)
    private let failedCount = Atomic(0)

    /// Creates counters that start at zero.
    public init() {}

    /// The number of successful connects.
    public var made: Int { madeCount.load(ordering: .relaxed) }
    /// The number of failed connects.
    public var failed: Int { failedCount.load(ordering: .relaxed) }

    /// Runs and counts an attempt to connect; rethrows its error.
    public func counting<Made, Failure: Error>(
        _ attempt: () throws(Failure) -> Made
    ) throws(Failure) -> Made {
        do throws(Failure) {
            let made = try attempt()
            madeCount.wrappingAdd(1, ordering: .relaxed)
            return made
        } catch {
            failedCount.wrappingAdd(1, ordering: .relaxed)
            throw error
        }
    }
}
