import Synchronization

/// What a command has under way that can be told to end early.
package final class Interruption: Sendable {
    private let actions = Mutex<[@Sendable () -> Void]>([])

    /// Notes how to stop something; called again and again until the command has ended, from any
    /// thread, and must not wait.
    package func onStop(_ action: @escaping @Sendable () -> Void) {
        actions.withLock { $0.append(action) }
    }

    func stop() {
        for action in actions.withLock(\.self) { action() }
    }

    /// To be called when what was noted is over.
    func forget() { actions.withLock { $0 = [] } }
}

/// Runs a command that may have to end early: after a time, or on a signal.
final class Supervisor: Sendable {
    /// Why it was told to end.
    enum Cause: Sendable {
        case timeout
        case signal
    }

    /// How it ended.
    struct Ending: Sendable {
        /// nil when it did not end although it was told to.
        var result: Result<ExitCode, any Error>?
        var cause: Cause?
    }

    private struct State {
        var reply: CheckedContinuation<Ending, Never>?
        var work: Task<Void, Never>?
        var cause: Cause?
    }

    /// How long a command may take to end after it was told to.
    private static let patience = Duration.seconds(3)

    private let interruption: Interruption
    private let state = Mutex(State())

    init(_ interruption: Interruption) {
        self.interruption = interruption
    }

    func run(
        within limit: Duration?, _ body: @escaping @Sendable () async throws -> ExitCode
    ) async -> Ending {
        await withCheckedContinuation { reply in
            state.withLock { $0.reply = reply }
            let work = Task {
                do {
                    end(.success(try await body()))
                } catch {
                    end(.failure(error))
                }
            }
            let isStopped = state.withLock { state in
                state.work = work
                return state.cause != nil
            }
            if isStopped { work.cancel() }
            guard let limit else { return }
            Task {
                try? await Task.sleep(for: limit)
                stop(.timeout)
            }
        }
    }

    private func end(_ result: Result<ExitCode, any Error>?) {
        let (reply, cause) = state.withLock { state in
            defer { state.reply = nil }
            return (state.reply, state.cause)
        }
        reply?.resume(returning: Ending(result: result, cause: cause))
    }

    private var isOver: Bool { state.withLock { $0.reply == nil } }

    /// Cancels the task and what it has under way, until it ends or is given up.
    func stop(_ cause: Cause) {
        let (isFirst, work) = state.withLock { state in
            guard state.cause == nil else { return (false, state.work) }
            state.cause = cause
            return (true, state.work)
        }
        work?.cancel()
        guard isFirst else { return }
        Task {
            let end = ContinuousClock.now + Self.patience
            while !isOver, .now < end {
                interruption.stop()
                try? await Task.sleep(for: .milliseconds(100))
            }
            self.end(nil)
        }
    }
}
