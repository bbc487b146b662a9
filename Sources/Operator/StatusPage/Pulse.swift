import Synchronization

/// Shows that tasks get their turn: something comes round every second, unless jobs hold all the
/// threads that tasks share.
final class Pulse: Sendable {
    private let last = Mutex(ContinuousClock.now)

    /// How long ago it came round.
    var age: Duration { last.withLock { .now - $0 } }

    /// Comes round until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            last.withLock { $0 = .now }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
