import ErrandMatching
import ErrandThreads

/// Where assignments are searched: it computes for seconds, while other jobs want the threads that
/// all share.
package actor SearchRoom {
    package init() {}

    private let thread = DedicatedThreadExecutor(name: "errand-search")

    /// Runs the actor's methods on its own thread.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.executor }

    deinit { thread.stop() }

    /// The best plan that is found in time.
    ///
    /// - Throws: `CancellationError` once the task is cancelled; what `answered` throws.
    package func plan(
        _ question: AssignmentQuestion, greedily isGreedy: Bool, within limit: Duration
    ) throws -> AssignmentPlan {
        let end = ContinuousClock.now + limit
        let plan = try question.answered(greedily: isGreedy) {
            Task.isCancelled || ContinuousClock.now >= end
        }
        try Task.checkCancellation()
        return plan
    }
}
