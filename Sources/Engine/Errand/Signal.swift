import Synchronization

/// Wakes one waiting task; a raise that nobody waits for is kept.
package final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var waiter: (id: UInt64, resume: CheckedContinuation<Void, Never>)?
        var lastWaiter: UInt64 = 0
        var lastGivenUp: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Wakes the waiter, or lets the next one pass.
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
            // The time may be over before the waiter stands ready.
            state.lastGivenUp = max(state.lastGivenUp, id)
            guard state.waiter?.id == id else { return nil as CheckedContinuation<Void, Never>? }
            defer { state.waiter = nil }
            return state.waiter?.resume
        }
        waiter?.resume()
    }
}

/// Tells every part of a process to finish what it holds and take no more.
///
/// Stopping is not cancelling: running work goes on until its grace is over.
public final class Stop: Sendable {
    private struct State {
        var isStopped = false
        var hasGrace = true
        var waiters: [UInt64: @Sendable () -> Void] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Nothing is asked to stop yet.
    public init() {}

    /// Whether the end has been asked for.
    public var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Whether running work is given time to end, as it is unless ``stopNow()`` was called.
    var hasGrace: Bool { state.withLock { $0.hasGrace } }

    /// Asks for the end; a second call changes nothing.
    public func stop() { end(withGrace: true) }

    /// Asks for the end at once: what runs is cancelled without any grace, also when it was
    /// enjoying one since ``stop()``.
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

    /// Calls `action` when the end is asked for, or at once if it was.
    ///
    /// - Returns: a number by which to forget the action.
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

    /// Sleeps, but not past the end.
    package func sleep(for duration: Duration) async {
        let signal = Signal()
        let number = onStop { signal.raise() }
        await signal.wait(upTo: duration)
        forget(number)
    }
}
