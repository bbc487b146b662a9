import Synchronization

/// A pool of connections by number, served in order of request.
///
/// It reuses the most recent connection first, so that a quiet mailer uses only one.
final class ConnectionPool: Sendable {
    private struct State {
        var free: [Int]
        var waiters: [(ticket: Int, continuation: CheckedContinuation<Int?, Never>)] = []
        var nextTicket = 0
    }

    private let state: Mutex<State>

    init(count: Int) {
        state = Mutex(State(free: Array((0..<count).reversed())))
    }

    /// Returns the number of a free connection; nil if the task was cancelled while waiting.
    func take() async -> Int? {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = Task.isCancelled
                let answer: Int?? = state.withLock { state in
                    if isCancelled { return .some(nil) }
                    if let free = state.free.popLast() { return free }
                    state.waiters.append((ticket, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.ticket == ticket }
                    .map { state.waiters.remove(at: $0).continuation }
            }
            waiter?.resume(returning: nil)
        }
    }

    func release(_ index: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Int?, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
            state.free.append(index)
            return nil
        }
        waiter?.resume(returning: index)
    }
}
