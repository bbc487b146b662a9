import CErrandSystem
import Synchronization

/// The memory that a process frees in large amounts, which malloc keeps for later use.
///
/// One job with large arguments in each of many threads, or one burst of jobs, would otherwise
/// raise the memory of the process for good.
public final class FreedMemory: Sendable {
    /// The amount from which returning memory to the system is worthwhile.
    private static let threshold = 1 << 20
    private static let interval = Duration.seconds(2)
    /// The time after which it is returned however little was counted: small pieces add up.
    private static let longInterval = Duration.seconds(60)

    private let count = Atomic(0)
    private let last = Mutex(ContinuousClock.now)

    /// Creates a counter that starts at zero.
    public init() {}

    /// Counts memory that is about to be freed.
    public func add(_ bytes: Int) { count.wrappingAdd(bytes, ordering: .relaxed) }

    /// Returns freed memory to the system: at most every two seconds if there is much of it, and
    /// otherwise every minute.
    public func release() {
        let isMuch = count.load(ordering: .relaxed) >= Self.threshold
        let isDue = last.withLock { last in
            guard ContinuousClock.now - last >= (isMuch ? Self.interval : Self.longInterval) else {
                return false
            }
            last = .now
            return true
        }
        guard isDue else { return }
        count.store(0, ordering: .relaxed)
        malloc_trim(0)
    }
}
