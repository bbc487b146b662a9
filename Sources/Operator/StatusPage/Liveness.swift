import Synchronization

/// A tick that a task updates every second, unless jobs block all threads of the task executor.
final class Liveness: Sendable {
    private let last = Mutex(ContinuousClock.now)

    /// The time since the last tick.
    var age: Duration { last.withLock { .now - $0 } }

    /// Ticks until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            last.withLock { $0 = .now }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
