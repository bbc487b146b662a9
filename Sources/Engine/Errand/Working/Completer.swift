import ErrandPostgres
import Synchronization

/// Writes how jobs ended, many in one commit, each under its fence.
///
/// It flushes when a thousand endings wait or, while jobs end one by one, at once; while a flush
/// is under way the next gathers. Endings survive everything but the death of the process: while
/// PostgreSQL is away they are kept and written later, and the fence drops those that came too
/// late.
final class Completer: Sendable {
    private struct State {
        var endings: [Ending] = []
        var isClosed = false
        var summary = WorkerSummary()
        var isFlushing = false
    }

    private static let flushLimit = 1_000

    private let session: Session
    private let state = Mutex(State())
    private let signal = Signal()
    private let log: Log
    private let complaint = Complaint()
    /// Told of jobs that wait again and are due.
    private let offer: @Sendable (Staged, Lane) -> Void
    private let limits: LimitBoard

    init(
        session: Session, limits: LimitBoard, log: Log,
        offer: @escaping @Sendable (Staged, Lane) -> Void
    ) {
        self.limits = limits
        self.session = session
        self.log = log
        self.offer = offer
    }

    func add(_ endings: [Ending]) {
        guard !endings.isEmpty else { return }
        let mustSignal = state.withLock { state in
            defer { state.endings += endings }
            // One signal is enough, and one more when there is enough to end the gathering.
            return state.endings.isEmpty
                || state.endings.count < Self.flushLimit
                    && state.endings.count + endings.count >= Self.flushLimit
        }
        if mustSignal { signal.raise() }
    }

    /// What was written so far.
    var summary: WorkerSummary { state.withLock { $0.summary } }

    /// Whether all that was added has been written.
    var isIdle: Bool { state.withLock { $0.endings.isEmpty && !$0.isFlushing } }

    /// No more endings will come: ``run()`` returns once all are written.
    func close() {
        state.withLock { $0.isClosed = true }
        signal.raise()
    }

    func run() async {
        var failures = 0
        var lastCount = 0
        while true {
            // Under load, wait a moment for more; a lone ending goes at once.
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
                failures = 0
                complaint.resolved(log, "the endings of jobs are written again")
            } catch PostgresError.server(let error) where error.isOfStatement {
                await writeEach(of: batch, after: error)
            } catch {
                putBack(batch)
                failures += 1
                complaint.warn(
                    log, "\(batch.count) endings of jobs wait to be written: \(error)")
                if Task.isCancelled { break }
                let wait = Duration.milliseconds(min(20 << min(failures, 6), 1_000))
                try? await Task.sleep(for: wait)
            }
        }
    }

    /// Endings to write; empty when there are none now, nil when there will be none.
    private func take() -> [Ending]? {
        state.withLock { state in
            guard !state.endings.isEmpty else {
                state.isFlushing = false
                return state.isClosed ? nil : []
            }
            state.isFlushing = true
            if state.endings.count <= Self.flushLimit * 2 {
                defer { state.endings = [] }
                return state.endings
            }
            defer { state.endings.removeFirst(Self.flushLimit) }
            return Array(state.endings.prefix(Self.flushLimit))
        }
    }

    /// One ending that PostgreSQL refuses for good must not hold up the others.
    private func writeEach(of batch: [Ending], after error: ServerError) async {
        if batch.count == 1 {
            // Not the details: PostgreSQL puts the whole row there, arguments and all.
            log.with("job", batch[0].id).error(
                "the end of a job was refused: \(error.message) (SQLSTATE \(error.sqlState))")
            let reason = "its end could not be written: \(error.message)"
            var buried = batch[0]
            if case .dead = buried.verdict { return }
            buried.verdict = .dead(reason: reason, error: reason)
            return putBack([buried])
        }
        for ending in batch {
            do { try await write([ending]) } catch PostgresError.server(let error)
                where error.isOfStatement
            {
                await writeEach(of: [ending], after: error)
            } catch {
                putBack([ending])
            }
        }
    }

    private func putBack(_ batch: [Ending]) {
        state.withLock { $0.endings.insert(contentsOf: batch, at: 0) }
    }

    private func write(_ batch: [Ending]) async throws {
        // One order for all, so that two sessions never wait for each other in a ring.
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
                "\(fencedOff) endings came too late and were not written: their jobs had been "
                    + "given to others, because this worker was silent for too long or "
                    + "PostgreSQL was restarted")
        }
        state.withLock { state in
            state.summary.completed += written.completed
            state.summary.failed += written.failed
            state.summary.retried += written.retried
            state.summary.dead += written.dead
            state.summary.cancelled += written.cancelled
            state.summary.snoozed += written.snoozed
            state.summary.handedBack += written.handedBack
            state.summary.fencedOff += fencedOff
        }
    }
}

/// The statements of one flush, and what they are expected to write.
private struct FinishBatch {
    enum Part {
        case completed(Int), givenUp(Int), waiting(Int)
    }

    var statements: [Statement] = []
    var parts: [Part] = []
    var counts = WorkerSummary()

    init(_ endings: [Ending]) {
        var completed: [Ending] = []
        var givenUp: [Ending] = []
        var waiting: [Ending] = []
        completed.reserveCapacity(endings.count)
        for ending in endings {
            switch ending.verdict {
            case .completed: completed.append(ending)
            case .cancelled, .dead: givenUp.append(ending)
            case .waiting, .handedBack: waiting.append(ending)
            }
        }
        counts.completed = completed.count
        add(completed: completed)
        add(givenUp: givenUp)
        add(waiting: waiting)
    }

    private mutating func add(completed: [Ending]) {
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

    private mutating func add(givenUp: [Ending]) {
        guard !givenUp.isEmpty else { return }
        var outcomes: [String] = []
        var reasons: [String] = []
        var errors: [String?] = []
        for ending in givenUp {
            switch ending.verdict {
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
            case .completed, .waiting, .handedBack: break
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

    private mutating func add(waiting: [Ending]) {
        guard !waiting.isEmpty else { return }
        var refunds: [Int16] = []
        var delays: [Int64?] = []
        var errors: [String?] = []
        for ending in waiting {
            switch ending.verdict {
            case .waiting(let delay, let error):
                if error == nil {
                    counts.snoozed += 1
                } else {
                    counts.failed += 1
                    counts.retried += 1
                }
                refunds.append(error == nil ? 1 : 0)
                // No job is ever due in the past (see errand.jobs).
                delays.append(max(delay.milliseconds, 0))
                errors.append(error)
            case .handedBack:
                counts.handedBack += 1
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
    /// Whether the statement itself is refused, for good; one that was never run because the
    /// server does not let this client in may be taken once that is mended.
    fileprivate var isOfStatement: Bool { !isTransient && severity == "ERROR" }
}
