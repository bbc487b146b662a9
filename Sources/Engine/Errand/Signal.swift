import Synchronization

/// Wakes one waiting task.
///
/// A raise without a waiting task is kept for the next one.
package final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var waiter: (id: UInt64, resume: CheckedContinuation<Void, Never>)?
        var lastWaiter: UInt64 = 0
        var lastGivenUp: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Wakes the waiting task, or lets the next one pass.
    package func raise() {
        let waiter = state.withLock { state in
            guard let waiter = state.waiter else {
                state.isRaised = true
                return nil as CheckedContinuation<Void, Never>?
            }
            state.waiter = nil
            return waiter.resume
        }
        waiter?.resume()
    }

    /// Waits for a raise, for the time to pass, or for the task's cancellation.
    package func wait(upTo limit: Duration? = nil) async {
        let id = state.withLock { state -> UInt64? in
            if state.isRaised {
                state.isRaised = false
                return nil
            }
            state.lastWaiter += 1
            return state.lastWaiter
        }
        guard let id, !Task.isCancelled else { return }
        let timer = limit.map { limit in
            Task {
                try? await Task.sleep(for: limit)
                if !Task.isCancelled { self.giveUp(id) }
            }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isRaised || state.lastGivenUp >= id || Task.isCancelled {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = (id, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            giveUp(id)
        }
        timer?.cancel()
    }

    private func giveUp(_ id: UInt64) {
        let waiter = state.withLock { state in
            // The time limit may end before the waiter is registered.
            state.lastGivenUp = max(state.lastGivenUp, id)
            guard state.waiter?.id == id else { return nil as CheckedContinuation<Void, Never>? }
            defer { state.waiter = nil }
            return state.waiter?.resume
        }
        waiter?.resume()
    }
}

/// A graceful stop of a process: its parts finish their work and take no more.
///
/// A stop does not cancel running work until its grace period is over.
public final class Stop: Sendable {
    private struct State {
        var isStopped = false
        var hasGrace = true
        var waiters: [UInt64: @Sendable () -> Void] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Creates a stop that is not requested yet.
    public init() {}

    /// Whether the stop was requested.
    public var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Whether running work has a grace period: true unless ``stopNow()`` was called.
    var hasGrace: Bool { state.withLock { $0.hasGrace } }

    /// Requests the stop.
    ///
    /// A second call has no effect.
    public func stop() { end(withGrace: true) }

    /// Requests an immediate stop: running work is cancelled without a grace period, even after
    /// ``stop()``.
    public func stopNow() { end(withGrace: false) }

    private func end(withGrace hasGrace: Bool) {
        let waiters = state.withLock { state in
            state.isStopped = true
            if !hasGrace { state.hasGrace = false }
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.self)
        }
        for waiter in waiters { waiter() }
    }

    /// Calls `action` when the stop is requested, or at once if it was.
    ///
    /// - Returns: a number for ``forget(_:)``.
    @discardableResult
    package func onStop(_ action: @escaping @Sendable () -> Void) -> UInt64 {
        let number = state.withLock { state -> UInt64? in
            guard !state.isStopped else { return nil }
            state.next += 1
            state.waiters[state.next] = action
            return state.next
        }
        if number == nil { action() }
        return number ?? 0
    }

    package func forget(_ number: UInt64) {
        state.withLock { _ = $0.waiters.removeValue(forKey: number) }
    }

    /// Sleeps for a duration, or until the stop is requested.
    package func sleep(for duration: Duration) async {
        let signal = Signal()
        let number = onStop { signal.raise() }
        await signal.wait(upTo: duration)
        forget(number)
    }
}
