import CErrandSystem
import Synchronization

/// The memory that a process frees in large amounts, which malloc keeps for later use.
///
/// One job with large arguments in each of many threads would otherwise raise the memory of the
/// process for good.
public final class FreedMemory: Sendable {
    /// The amount from which returning memory to the system is worthwhile.
    private static let threshold = 1 << 20
    private static let interval = Duration.seconds(2)

    private let count = Atomic(0)
    private let last = Mutex(ContinuousClock.now)

    /// Creates a counter that starts at zero.
    public init() {}

    /// Counts memory that is about to be freed.
    public func add(_ bytes: Int) { count.wrappingAdd(bytes, ordering: .relaxed) }

    /// Returns freed memory to the system if there is much of it, at most every two seconds.
    public func release() {
        guard count.load(ordering: .relaxed) >= Self.threshold else { return }
        let isDue = last.withLock { last in
            guard ContinuousClock.now - last >= Self.interval else { return false }
            last = .now
            return true
        }
        guard isDue else { return }
        count.store(0, ordering: .relaxed)
        malloc_trim(0)
    }
}
