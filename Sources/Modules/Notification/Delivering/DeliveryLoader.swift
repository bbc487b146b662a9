import Errand
import ErrandPostgres
import Synchronization

/// Reads the deliveries of many jobs together: requests made during a query join the next one.
final class DeliveryLoader<Due: Sendable>: Sendable {
    private typealias Asker = CheckedContinuation<Due?, any Error>

    private struct State {
        var waiting: [(number: UInt64, id: Int64)] = []
        var isReading = false
        var lastNumber: UInt64 = 0
        /// The requests without an answer.
        var askers: [UInt64: Asker] = [:]
    }

    private let read: @Sendable ([Int64], JobContext) async throws -> [Int64: Due]
    private let state = Mutex(State())

    /// - Parameter read: returns the deliveries of these ids that exist; it gets the context of
    ///   one of the jobs.
    init(read: @escaping @Sendable ([Int64], JobContext) async throws -> [Int64: Due]) {
        self.read = read
    }

    /// Returns the delivery of a job; nil if it no longer exists.
    ///
    /// - Throws: the error of the query, or `CancellationError` once the job is cancelled.
    func due(_ id: Int64, in context: JobContext) async throws -> Due? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (asker: Asker) in
                let mustStart = state.withLock { state in
                    state.askers[number] = asker
                    state.waiting.append((number, id))
                    defer { state.isReading = true }
                    return !state.isReading
                }
                // In a task of its own: other jobs may join during the query of the first.
                if mustStart { Task { await self.readAll(in: context) } }
                if Task.isCancelled { answer(number, .failure(CancellationError())) }
            }
        } onCancel: {
            answer(number, .failure(CancellationError()))
        }
    }

    private func readAll(in context: JobContext) async {
        while true {
            let asked = state.withLock { state in
                defer { state.waiting = [] }
                state.isReading = !state.waiting.isEmpty
                return state.waiting
            }
            guard !asked.isEmpty else { return }
            do {
                let found = try await read(Set(asked.map(\.id)).sorted(), context)
                for (number, id) in asked { answer(number, .success(found[id])) }
            } catch {
                for (number, _) in asked { answer(number, .failure(error)) }
            }
        }
    }

    /// Answers a waiting request, once.
    private func answer(_ number: UInt64, _ result: Result<Due?, any Error>) {
        state.withLock { $0.askers.removeValue(forKey: number) }?.resume(with: result)
    }
}
