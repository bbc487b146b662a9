import Synchronization

/// The cancellable operations of a command.
package final class Interruption: Sendable {
    private let actions = Mutex<[@Sendable () -> Void]>([])

    /// Registers an action that cancels an operation.
    ///
    /// The action is called repeatedly until the command has ended, from any thread, and must not
    /// block.
    package func onStop(_ action: @escaping @Sendable () -> Void) {
        actions.withLock { $0.append(action) }
    }

    func stop() {
        for action in actions.withLock(\.self) { action() }
    }

    /// Removes the registered actions, once their operations have ended.
    func forget() { actions.withLock { $0 = [] } }
}

/// Runs a command that a timeout or a signal may stop early.
final class Supervisor: Sendable {
    /// Why the command was stopped.
    enum Cause: Sendable {
        case timeout
        case signal
    }

    /// The end of a run.
    struct End: Sendable {
        /// The result; nil if the command did not end after it was stopped.
        var result: Result<ExitCode, any Error>?
        var cause: Cause?
    }

    private struct State {
        var reply: CheckedContinuation<End, Never>?
        var work: Task<Void, Never>?
        var cause: Cause?
    }

    /// The maximum time between stopping a command and its end.
    private static let timeout = Duration.seconds(3)

    private let interruption: Interruption
    private let state = Mutex(State())

    init(_ interruption: Interruption) {
        self.interruption = interruption
    }

    func run(
        within limit: Duration?, _ body: @escaping @Sendable () async throws -> ExitCode
    ) async -> End {
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
        reply?.resume(returning: End(result: result, cause: cause))
    }

    private var isOver: Bool { state.withLock { $0.reply == nil } }

    /// Cancels the task and its operations, until it ends or the timeout expires.
    func stop(_ cause: Cause) {
        let (isFirst, work) = state.withLock { state in
            guard state.cause == nil else { return (false, state.work) }
            state.cause = cause
            return (true, state.work)
        }
        work?.cancel()
        guard isFirst else { return }
        Task {
            let end = ContinuousClock.now + Self.timeout
            while !isOver, .now < end {
                interruption.stop()
                try? await Task.sleep(for: .milliseconds(100))
            }
            self.end(nil)
        }
    }
}
