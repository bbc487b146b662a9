import ErrandPostgres
import Synchronization

/// Writes the results of jobs, many in one commit, each under its fence.
///
/// It flushes a lone result at once, and under load collects up to a thousand results. Results that
/// arrive during a flush wait for the next one. While PostgreSQL is unavailable, results are kept
/// in memory and written later; the fence refuses those that come too late.
final class Completer: Sendable {
    private struct State {
        var results: [AttemptResult] = []
        var isClosed = false
        var summary = WorkerSummary()
        var isFlushing = false
    }

    private static let flushLimit = 1_000

    private let session: OnDemandSession
    private let state = Mutex(State())
    private let signal = Signal()
    private let log: Log
    private let throttle = LogThrottle()
    /// Called for jobs that wait again and are due.
    private let offer: @Sendable (Staged, Lane) -> Void
    private let limits: LimitCache

    init(
        session: OnDemandSession, limits: LimitCache, log: Log,
        offer: @escaping @Sendable (Staged, Lane) -> Void
    ) {
        self.limits = limits
        self.session = session
        self.log = log
        self.offer = offer
    }

    func add(_ results: [AttemptResult]) {
        guard !results.isEmpty else { return }
        let mustSignal = state.withLock { state in
            defer { state.results += results }
            // One signal for the first result, and one when a full batch has been collected.
            return state.results.isEmpty
                || state.results.count < Self.flushLimit
                    && state.results.count + results.count >= Self.flushLimit
        }
        if mustSignal { signal.raise() }
    }

    /// The totals of the written results.
    var summary: WorkerSummary { state.withLock { $0.summary } }

    /// Whether all results have been written.
    var isIdle: Bool { state.withLock { $0.results.isEmpty && !$0.isFlushing } }

    /// Accepts no more results: ``run()`` returns when all are written.
    func close() {
        state.withLock { $0.isClosed = true }
        signal.raise()
    }

    func run() async {
        var failures = 0
        var lastCount = 0
        while true {
            // Under load, wait a moment for more; write a lone result at once.
            if lastCount > 50, lastCount < Self.flushLimit {
                await signal.wait(upTo: .milliseconds(1))
            }
            guard let batch = take() else { break }
            if batch.isEmpty {
                lastCount = 0
                await signal.wait()
                continue
            }
            lastCount = batch.count
            do {
                try await write(batch)
                session.tendSoon()
                failures = 0
                throttle.resolved(log, "the results of jobs are written again")
            } catch PostgresError.server(let error) where error.isOfStatement {
                await writeEach(of: batch, after: error)
            } catch {
                putBack(batch)
                failures += 1
                throttle.warn(
                    log, "\(batch.count) results of jobs wait to be written: \(error)")
                if Task.isCancelled { break }
                let wait = Duration.milliseconds(min(20 << min(failures, 6), 1_000))
                try? await Task.sleep(for: wait)
            }
        }
    }

    /// Returns the results to write; empty if there are none yet, nil if no more will come.
    private func take() -> [AttemptResult]? {
        state.withLock { state in
            guard !state.results.isEmpty else {
                state.isFlushing = false
                return state.isClosed ? nil : []
            }
            state.isFlushing = true
            if state.results.count <= Self.flushLimit * 2 {
                defer { state.results = [] }
                return state.results
            }
            defer { state.results.removeFirst(Self.flushLimit) }
            return Array(state.results.prefix(Self.flushLimit))
        }
    }

    /// Writes the results one by one, so that a refused result does not hold up the others.
    private func writeEach(of batch: [AttemptResult], after error: ServerError) async {
        if batch.count == 1 {
            // Without the details: PostgreSQL puts the whole row there, including its arguments.
            log.with("job", batch[0].id).error(
                "the result of a job was refused: \(error.message) (SQLSTATE \(error.sqlState))")
            let reason = "its result could not be written: \(error.message)"
            var buried = batch[0]
            if case .dead = buried.verdict { return }
            buried.verdict = .dead(reason: reason, error: reason)
            return putBack([buried])
        }
        for result in batch {
            do { try await write([result]) } catch PostgresError.server(let error)
                where error.isOfStatement
            {
                await writeEach(of: [result], after: error)
            } catch {
                putBack([result])
            }
        }
    }

    private func putBack(_ batch: [AttemptResult]) {
        state.withLock { $0.results.insert(contentsOf: batch, at: 0) }
    }

    private func write(_ batch: [AttemptResult]) async throws {
        // All sessions lock rows in the order of ids, so that they cannot deadlock.
        let sorted = batch.sorted { $0.id < $1.id }
        let flush = FinishBatch(sorted)
        let answers = try await session.pipeline(flush.statements)
        if limits.isActive { limits.free(Set(batch.map(\.lane.queue))) }
        var written = flush.counts
        var missing = 0
        for (part, rows) in zip(flush.parts, answers) {
            switch part {
            case .completed(let count):
                let done = Int(try rows.int64(0, 0))
                written.completed -= count - done
                missing += count - done
            case .givenUp(let count):
                missing += count - Int(try rows.int64(0, 0))
            case .waiting(let count):
                missing += count - rows.count
                for row in 0..<rows.count { offer(try Staged(rows, row), try Lane(rows, row)) }
            }
        }
        let alreadyWritten = sorted.count { $0.mayBeWritten }
        written.completed += min(alreadyWritten, missing)
        let fencedOff = max(missing - alreadyWritten, 0)
        if fencedOff > 0 {
            log.warning(
                "\(fencedOff) results were discarded: other workers have these jobs, because this "
                    + "worker missed its heartbeats or PostgreSQL was restarted")
        }
        state.withLock { state in
            state.summary.completed += written.completed
            state.summary.failed += written.failed
            state.summary.retried += written.retried
            state.summary.dead += written.dead
            state.summary.cancelled += written.cancelled
            state.summary.snoozed += written.snoozed
            state.summary.requeued += written.requeued
            state.summary.fencedOff += fencedOff
        }
    }
}

/// The statements of one flush, and the expected number of rows of each.
private struct FinishBatch {
    enum Part {
        case completed(Int), givenUp(Int), waiting(Int)
    }

    var statements: [Statement] = []
    var parts: [Part] = []
    var counts = WorkerSummary()

    init(_ results: [AttemptResult]) {
        var completed: [AttemptResult] = []
        var givenUp: [AttemptResult] = []
        var waiting: [AttemptResult] = []
        completed.reserveCapacity(results.count)
        for result in results {
            switch result.verdict {
            case .completed: completed.append(result)
            case .cancelled, .dead: givenUp.append(result)
            case .waiting, .requeued: waiting.append(result)
            }
        }
        counts.completed = completed.count
        add(completed: completed)
        add(givenUp: givenUp)
        add(waiting: waiting)
    }

    private mutating func add(completed: [AttemptResult]) {
        guard !completed.isEmpty else { return }
        parts.append(.completed(completed.count))
        statements.append(
            Statement(
                Statements.complete,
                [
                    .int64Array(completed.map(\.id)), .int64Array(completed.map(\.token)),
                    .floatArray(completed.map(\.duration)),
                    .nullableInt16Array(completed.map(\.keepDays)),
                ]))
    }

    private mutating func add(givenUp: [AttemptResult]) {
        guard !givenUp.isEmpty else { return }
        var outcomes: [String] = []
        var reasons: [String] = []
        var errors: [String?] = []
        for result in givenUp {
            switch result.verdict {
            case .dead(let reason, let error):
                counts.dead += 1
                counts.failed += 1
                outcomes.append("dead")
                reasons.append(Runner.storable(reason))
                errors.append(error.map(Runner.storable))
            case .cancelled(let reason):
                counts.cancelled += 1
                outcomes.append("cancelled")
                reasons.append(Runner.storable(reason))
                errors.append(nil)
            case .completed, .waiting, .requeued: break
            }
        }
        parts.append(.givenUp(givenUp.count))
        statements.append(
            Statement(
                Statements.giveUp,
                [
                    .int64Array(givenUp.map(\.id)), .int64Array(givenUp.map(\.token)),
                    .floatArray(givenUp.map(\.duration)),
                    .nullableInt16Array(givenUp.map(\.keepDays)), .textArray(outcomes),
                    .textArray(reasons), .nullableTextArray(errors),
                ]))
    }

    private mutating func add(waiting: [AttemptResult]) {
        guard !waiting.isEmpty else { return }
        var refunds: [Int16] = []
        var delays: [Int64?] = []
        var errors: [String?] = []
        for result in waiting {
            switch result.verdict {
            case .waiting(let delay, let error):
                if error == nil {
                    counts.snoozed += 1
                } else {
                    counts.failed += 1
                    counts.retried += 1
                }
                refunds.append(error == nil ? 1 : 0)
                // A job is never due in the past (see errand.jobs).
                delays.append(max(delay.milliseconds, 0))
                errors.append(error)
            case .requeued:
                counts.requeued += 1
                refunds.append(1)
                delays.append(nil)
                errors.append(nil)
            case .completed, .cancelled, .dead: break
            }
        }
        parts.append(.waiting(waiting.count))
        statements.append(
            Statement(
                Statements.putBack,
                [
                    .int64Array(waiting.map(\.id)), .int64Array(waiting.map(\.token)),
                    .int16Array(refunds), .nullableInt64Array(delays),
                    .nullableTextArray(errors), .floatArray(waiting.map(\.duration)),
                ]))
    }
}

extension ServerError {
    /// Whether the server refused the statement itself, so that repeating it cannot help.
    ///
    /// A refused login, in contrast, can be fixed.
    fileprivate var isOfStatement: Bool { !isTransient && severity == "ERROR" }
}
