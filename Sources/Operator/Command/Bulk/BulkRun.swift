import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal
import ErrandThreads

/// Runs one bulk operation to completion, with a progress bar; a signal stops it between chunks.
struct BulkRun {
    let operations: Operations
    let output: Output

    /// The result of the trial.
    private enum Verdict {
        case good
        case tooSlow
        /// Too many failed again, or an operator cancelled the operation.
        case ended
    }

    /// Runs an operation whose lock the session holds.
    ///
    /// - Parameters:
    ///   - trial: how many dead letters run first; the rest follows if all of them succeed.
    ///   - timeout: how long to wait for the trial.
    func run(
        _ id: Int64, trial: Int = 0, timeout: Duration = .zero
    ) async throws -> ExitCode {
        let stop = Stop()
        Termination.onRequest { stop.stop() }
        let start = try await state(id)
        let bar = ProgressBar(
            start.action.participle, total: start.isEstimate ? nil : start.total, output: output,
            now: .now)
        var verdict = Verdict.good
        var trouble: CommandFailure?
        do {
            if trial > 0, start.total - start.done > trial {
                let first = try await operations.steps(id, upTo: trial) { stop.isStopped }.ids
                bar.update(done: start.done + first.count, now: .now)
                verdict = try await judge(first, of: id, within: timeout, stop)
            }
            if verdict == .good {
                try await runRest(start, bar, stop, judges: trial > 0 || start.action == .retry)
            }
        } catch {
            trouble = describe(error) ?? CommandFailure(exit: .failed, message: "\(error)")
        }
        if let trouble {
            throw CommandFailure(
                exit: trouble.exit, message: "operation \(id) failed: \(trouble.message)",
                hint: "'errand op resume \(id)' continues it")
        }
        let end = try await state(id)
        bar.finish(done: end.done, now: .now)
        try output.show(Self.record(end))
        if end.cancelRequested > 0 {
            output.note(
                "\(HumanFormat.count(end.cancelRequested)) of them were running: cancellation "
                    + "was requested")
        }
        if end.state == .done, end.skipped > 0 {
            output.note(
                "\(HumanFormat.count(end.skipped)) had changed meanwhile and were skipped")
        }
        if verdict == .tooSlow { throw Self.slow(end, trial, timeout) }
        return try Self.exit(end, isInterrupted: stop.isStopped)
    }

    private func state(_ id: Int64) async throws -> BulkOperation {
        guard let operation = try await operations.one(id) else {
            throw CommandFailure(
                exit: .conflict, message: "operation \(id) no longer exists",
                hint: "'errand op ls' lists the operations")
        }
        return operation
    }

    private func runRest(
        _ start: BulkOperation, _ bar: ProgressBar, _ stop: Stop, judges: Bool
    ) async throws {
        var recent: [Int64] = []
        let rate = start.ratePerSecond
        let size = rate.map { max(1, min(Operations.chunk, Int($0))) } ?? Operations.chunk
        var done = try await state(start.id).done
        while !stop.isStopped {
            let step = try await operations.step(start.id, atMost: size)
            let count = step.ids.count
            done += count
            bar.update(done: done, now: .now)
            guard !step.isOver else { return }
            if let rate, count > 0 {
                try await pause(.seconds(Double(count) / rate), start.id, stop)
            }
            guard judges else { continue }
            recent = Array((recent + step.ids).suffix(Self.judged))
            if try await goesWrong(recent, start) { return }
        }
    }

    /// The number of recent jobs whose failure rate decides whether to continue.
    private static let judged = 2 * Operations.chunk
    /// The minimum number of ended jobs for a decision.
    private static let leastEnded = 5

    /// Ends the operation if more than half of the ended jobs have failed again.
    private func goesWrong(_ ids: [Int64], _ start: BulkOperation) async throws -> Bool {
        let trial = try await operations.trial(ids)
        // A retried job may have failed before the retry: only its death counts as a failure.
        let isRedrive = start.action == .redrive
        let failed = isRedrive ? trial.failed : trial.died
        let ended = ids.count - (isRedrive ? trial.waiting : trial.live)
        guard ended >= Self.leastEnded, failed * 2 > ended else { return false }
        try await fail(start.id, failed, "of the last \(ended) that ran", trial)
        return true
    }

    private func fail(
        _ id: Int64, _ failed: Int, _ among: String, _ trial: Operations.Trial
    ) async throws {
        let error = trial.error.map { ": " + ($0.split(separator: "\n").first ?? "") } ?? ""
        try await operations.fail(id, note: "\(failed) \(among) failed again\(error)")
    }

    /// Waits, and checks every second whether the operation still runs.
    private func pause(_ length: Duration, _ id: Int64, _ stop: Stop) async throws {
        let end = ContinuousClock.now + length
        while !stop.isStopped {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { return }
            try await Task.sleep(for: min(left, .seconds(1)))
            if left > .seconds(1), try await state(id).state != .running { return }
        }
    }

    /// Waits until the dead letters of the trial have finished.
    private func judge(
        _ ids: [Int64], of id: Int64, within timeout: Duration, _ stop: Stop
    ) async throws -> Verdict {
        let end = ContinuousClock.now + timeout
        while !stop.isStopped {
            let trial = try await operations.trial(ids)
            if trial.failed > 0 {
                try await fail(id, trial.failed, "of the first \(ids.count)", trial)
                return .ended
            }
            if trial.waiting == 0 { return .good }
            if try await state(id).state != .running { return .ended }
            guard ContinuousClock.now < end else { return .tooSlow }
            try await Task.sleep(for: .milliseconds(100))
        }
        return .ended
    }

    // MARK: Results

    private static func slow(
        _ end: BulkOperation, _ trial: Int, _ timeout: Duration
    ) -> CommandFailure {
        CommandFailure(
            exit: .timedOut,
            message: "the first \(trial) have not finished within "
                + "\(HumanFormat.duration(timeout)); \(progress(end))",
            hint: "'errand status' shows whether a worker is alive; "
                + "'errand op resume \(end.id)' continues with the rest")
    }

    private static func progress(_ end: BulkOperation) -> String {
        "\(HumanFormat.count(end.done)) of \(end.isEstimate ? "about " : "")"
            + "\(HumanFormat.count(end.total)) done"
    }

    private static func exit(_ end: BulkOperation, isInterrupted: Bool) throws -> ExitCode {
        if end.state == .done { return .done }
        let cause = end.note ?? (isInterrupted ? "interrupted" : end.state.rawValue)
        throw CommandFailure(
            exit: .partlyDone, message: "\(cause); \(progress(end))",
            hint: "'errand op resume \(end.id)' continues with the rest")
    }

    /// The record printed when no job matches.
    static func nothing(_ action: BulkOperation.Action) -> Record {
        Record([
            ("id", .missing), ("action", .text(action.rawValue)), ("state", .text("done")),
            ("done", .int(0)), ("total", .int(0)), ("estimated", .flag(false)),
            ("cancel_requested", .int(0)), ("skipped", .int(0)),
        ])
    }

    /// An operation with the names that scripts rely on.
    static func record(_ operation: BulkOperation) -> Record {
        let style: Style =
            switch operation.state {
            case .running, .done: .green
            case .cancelled, .interrupted: .yellow
            case .failed: .red
            }
        return Record([
            ("id", .id(Int(operation.id))), ("action", .text(operation.action.rawValue)),
            ("state", .marked(operation.state.rawValue, style)), ("done", .int(operation.done)),
            ("total", .int(operation.total)), ("estimated", .flag(operation.isEstimate)),
            ("cancel_requested", .int(operation.cancelRequested)),
            ("skipped", .int(operation.skipped)),
            ("operator", .text(operation.operatorName)),
            ("started_at", operation.startedAt.cell),
            ("ended_at", .optional(operation.endedAt) { $0.cell }),
            ("reason", .optional(operation.reason) { .text($0) }),
            ("note", .optional(operation.note) { .text($0) }),
            ("rate_per_s", .optional(operation.ratePerSecond) { .number($0, decimals: 2) }),
            ("max", .optional(operation.maxJobs) { .int($0) }), ("filter", .json(operation.filter)),
            ("change", .optional(operation.change) { .json($0) }),
        ])
    }
}
