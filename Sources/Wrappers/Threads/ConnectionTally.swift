import Synchronization

/// How often this process has connected to the servers of one sort, and how often it could not.
public final class ConnectionTally: Sendable {
    private let madeCount = Atomic(0)
    private let failedCount = Atomic(0)

    /// Counts from zero.
    public init() {}

    /// Connections that were made.
    public var made: Int { madeCount.load(ordering: .relaxed) }
    /// Attempts that failed.
    public var failed: Int { failedCount.load(ordering: .relaxed) }

    /// Counts an attempt to connect; runs it and passes on what it throws.
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
