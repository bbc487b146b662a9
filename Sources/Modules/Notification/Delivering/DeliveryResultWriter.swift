import ErrandDelivery
import FoundationEssentials
import Errand
import ErrandPostgres
import Synchronization

/// The result of one delivery and of its job.
protocol DeliveryResult: Sendable {
    /// The id of the delivery; results are written in its order.
    var delivery: Int64 { get }
}

/// The result of one delivery of a notice and of its job.
struct DeliveryAnswer: DeliveryResult {
    var due: DueDelivery
    var status: String
    var reply: String
    var attempts: Int16 = 0
    /// Whether the device or address is permanently invalid.
    var isGone = false
    /// Whether the address permanently refused this notice.
    var isBounce = false
    var outcome: Outcome
    var delivery: Int64 { due.id }

    /// The snooze of jobs whose provider is down without a retry time.
    private static let pause = Duration.seconds(30)
    /// The snooze of jobs that need an operator's fix.
    static let longPause = Duration.seconds(60)

    /// Returns a wait with up to 50% jitter, so that a backlog does not return all at once.
    static func spread(_ wait: Duration) -> Duration {
        wait + min(wait / 2, .seconds(300)) * Double.random(in: 0...1)
    }

    init(_ due: DueDelivery, _ status: String, _ reply: String, _ outcome: Outcome) {
        self.due = due
        self.status = status
        self.reply = reply
        self.outcome = outcome
    }

    /// Creates the result for a channel's verdict.
    init(_ verdict: DeliveryVerdict, to due: DueDelivery, _ context: JobContext) {
        switch verdict {
        case .delivered(let reply):
            self.init(due, "delivered", reply, .done)
            attempts = 1
        case .deferred(let reason, let delay), .addressBusy(let reason, let delay):
            self.init(due, after: reason, delay: delay, context)
        case .unavailable(let reason, let delay):
            self.init(due, "pending", reason, .snooze(Self.spread(delay ?? Self.pause)))
        case .misconfigured(let reason):
            context.log.error("\(due.provider) rejects all messages: \(reason)")
            self.init(due, "pending", reason, .snooze(Self.spread(Self.longPause)))
        case .addressGone(let reason, let since):
            if let since, let registered = due.registeredAt, registered > Instant(date: since) {
                let again = "\(reason), and it was registered again since"
                self.init(due, after: again, delay: nil, context)
                return
            }
            self.init(due, "gone", reason, .discard(reason: "failed: \(reason)"))
            attempts = 1
            isGone = true
        case .bounced(let reason):
            self.init(due, "rejected", reason, .dead(reason: reason))
            attempts = 1
            isBounce = true
        case .rejected(let reason):
            self.init(due, "rejected", reason, .dead(reason: reason))
            attempts = 1
        }
    }

    /// Creates the result of a failed attempt; the last one ends the delivery.
    private init(
        _ due: DueDelivery, after reason: String, delay: Duration?, _ context: JobContext
    ) {
        let isLast = context.attempt >= context.maxAttempts
        self.init(
            due, isLast ? "failed" : "pending", reason, .retry(after: delay, reason: reason))
        attempts = 1
    }
}

/// Writes the results of deliveries in batches: results that arrive during a write join the next.
///
/// Each job waits only for its own result. If a write fails because a row is locked or PostgreSQL
/// is unreachable, each of its results is retried alone, beside later batches.
final class DeliveryResultWriter<Answer: DeliveryResult>: Sendable {
    private typealias Writer = CheckedContinuation<Void, any Error>

    private struct Entry {
        let number: UInt64
        let answer: Answer
        let context: JobContext
        let writer: Writer
        /// The number of permanent errors from PostgreSQL.
        var refusals = 0
    }

    private struct State {
        var waiting: [Entry] = []
        var isWriting = false
        var lastNumber: UInt64 = 0
        /// The deadlines of entries whose jobs must end.
        var deadlines: [UInt64: ContinuousClock.Instant] = [:]
    }

    /// The pause between two attempts to write.
    ///
    /// Short, so that results are written before another worker recovers the jobs.
    private static var pause: Duration { .milliseconds(250) }
    /// How long attempts continue when the job must end.
    private static var lastWait: Duration { .seconds(6) }
    /// The number of attempts that PostgreSQL may refuse.
    private static var tries: Int { 4 }
    /// The maximum time that retries may delay new results.
    private static var timeout: Duration { .seconds(1) }

    private let statements: @Sendable ([Answer], Instant) -> [Statement]
    private let state = Mutex(State())
    private let throttle = LogThrottle()

    /// - Parameter statements: returns the statements that write answers as of a time.
    init(statements: @escaping @Sendable ([Answer], Instant) -> [Statement]) {
        self.statements = statements
    }

    /// Writes an answer, and returns once it is written.
    ///
    /// Retries while the job may run and for some seconds after: a lost answer would cause a
    /// second delivery.
    func write(_ answer: Answer, in context: JobContext) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        defer { state.withLock { $0.deadlines[number] = nil } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (writer: Writer) in
                let entry = Entry(number: number, answer: answer, context: context, writer: writer)
                let mustStart = state.withLock { state in
                    state.waiting.append(entry)
                    defer { state.isWriting = true }
                    return !state.isWriting
                }
                // In a task of its own: the first job ends before those that join during its write.
                if mustStart { Task { await self.writeAll() } }
            }
        } onCancel: {
            // The job was cancelled, lost its lease or timed out, or the worker stops.
            state.withLock { $0.deadlines[number] = .now + Self.lastWait }
        }
    }

    private func writeAll() async {
        var left: [Entry] = []
        while true {
            let fresh = take(beside: &left)
            if fresh.isEmpty, left.isEmpty { return }
            let log = (fresh.first ?? left[0]).context.log
            if fresh.isEmpty { try? await Task.sleep(for: Self.pause) }
            left = await retried(left)
            if !fresh.isEmpty, let error = await failure(writing: fresh) {
                throttle.warn(log, "cannot write delivery results yet: \(Self.text(error))")
                // Each alone, so that none delays the others.
                left += await retried(fresh)
            }
            if left.isEmpty {
                throttle.resolved(log, "delivery results are written again")
            }
        }
    }

    /// Returns the error without its details, in which PostgreSQL quotes whole rows.
    private static func text(_ error: any Error) -> String {
        guard case PostgresError.server(let error) = error else { return "\(error)" }
        return "\(error.message) (SQLSTATE \(error.sqlState))"
    }

    /// Returns the new entries, at most one per delivery: a later answer waits for the earlier.
    private func take(beside left: inout [Entry]) -> [Entry] {
        let came = state.withLock { state in
            defer { state.waiting = [] }
            state.isWriting = !(state.waiting.isEmpty && left.isEmpty)
            return state.waiting
        }
        var seen = Set(left.map(\.answer.delivery))
        var fresh: [Entry] = []
        for entry in came {
            if seen.insert(entry.answer.delivery).inserted {
                fresh.append(entry)
            } else {
                left.append(entry)
            }
        }
        return fresh
    }

    /// Writes each entry alone, within the time limit for retries.
    ///
    /// - Returns: the entries to retry; those not attempted come first.
    private func retried(_ entries: [Entry]) async -> [Entry] {
        let end = ContinuousClock.now + Self.timeout
        var failed: [Entry] = []
        for (place, entry) in entries.enumerated() {
            guard let error = await failure(writing: [entry]) else { continue }
            let known = error as? PostgresError
            failed += kept([entry], after: error, isRefused: known?.isTransient != true)
            if ContinuousClock.now > end || known?.isAway == true {
                let others = entries[(place + 1)...]
                return kept(Array(others), after: error, isRefused: false) + failed
            }
        }
        return failed
    }

    /// Returns the failed entries that may be retried; fails the others.
    private func kept(_ entries: [Entry], after error: any Error, isRefused: Bool) -> [Entry] {
        var left: [Entry] = []
        for var entry in entries {
            if isRefused { entry.refusals += 1 }
            let deadline = state.withLock { $0.deadlines[entry.number] }
            if entry.refusals < Self.tries, deadline.map({ .now < $0 }) ?? true {
                left.append(entry)
            } else {
                entry.writer.resume(throwing: error)
            }
        }
        return left
    }

    /// Sets the limits of the transaction: no wait for the disk, as the later end of the job waits
    /// for it; a short lock timeout, so that others are not delayed; and a statement timeout.
    private static var limits: Statement {
        Statement(
            """
            SELECT set_config('synchronous_commit', 'off', true),
                set_config('lock_timeout', '250ms', true),
                set_config('statement_timeout', '5s', true)
            """)
    }

    /// Writes answers in one round trip and one transaction, so that little is lost if the worker
    /// dies.
    ///
    /// - Returns: the error; nil on success.
    private func failure(writing entries: [Entry]) async -> (any Error)? {
        let now = entries.map(\.context.now).max() ?? .distantPast
        let all = [Self.limits] + statements(entries.map(\.answer), Instant(date: now))
        do {
            // The worker waits for these jobs before it closes its connections.
            _ = try await entries[0].context.database.withSession { try await $0.pipeline(all) }
        } catch {
            return error
        }
        for entry in entries { entry.writer.resume() }
        return nil
    }
}

extension PostgresError {
    /// Whether the server is unreachable, so that an immediate retry is useless.
    fileprivate var isAway: Bool {
        if case .unreachable = self { return true }
        return false
    }
}

extension DeliveryAnswer {
    /// Returns the statements that write answers as of a time.
    ///
    /// - Parameter bounceLimit: the number of bounces after which an address is refused.
    static func statements(
        _ answers: [DeliveryAnswer], now: Instant, bounceLimit: Int
    ) -> [Statement] {
        let ended = Parameter.int64Array(
            Set(answers.filter { $0.status != "pending" }.map(\.due.noticeID)).sorted())
        let lost = Set(
            answers.filter { !["pending", "delivered"].contains($0.status) }
                .map(\.due.noticeID)
        ).sorted()
        let mails = answers.filter { $0.due.deviceID == nil && $0.due.email != nil }
        let taken = mails.filter { $0.status == "delivered" }.map(\.due)
        let lock = Statement(
            DeliveryStatements.lockPeople,
            [.int64Array(lost), .int64Array(taken.map(\.person.id))])
        var statements = [Statement(DeliveryStatements.lockNotices, [ended])]
        if !lost.isEmpty || !taken.isEmpty { statements.append(lock) }
        statements += [
            Statement(
                DeliveryStatements.answer,
                [
                    .int64Array(answers.map(\.due.id)), .textArray(answers.map(\.status)),
                    .textArray(answers.map(\.reply)), .int16Array(answers.map(\.attempts)),
                    .timestamp(now),
                ]),
            Statement(DeliveryStatements.settle, [ended, .timestamp(now)]),
        ]
        if !taken.isEmpty {
            statements.append(
                Statement(
                    DeliveryStatements.forgetBounces,
                    [
                        .int64Array(taken.map(\.person.id)),
                        .textArray(taken.compactMap(\.email)),
                    ]))
        }
        guard !lost.isEmpty else { return statements }
        statements += bounces(
            mails.filter(\.isBounce).map(\.due), now: now, limit: bounceLimit)
        let gone = mails.filter(\.isGone).map(\.due)
        if !gone.isEmpty {
            statements.append(
                Statement(
                    DeliveryStatements.refuseAddresses,
                    [
                        .int64Array(gone.map(\.person.id)), .textArray(gone.compactMap(\.email)),
                        .timestamp(now),
                    ]))
        }
        let devices = answers.filter { $0.isGone && $0.due.registeredAt != nil }
        if !devices.isEmpty {
            statements.append(
                Statement(
                    DeliveryStatements.disableDevices,
                    [
                        .int64Array(devices.compactMap(\.due.deviceID)),
                        .timestampArray(devices.map(\.due.registeredAt)),
                        .textArray(devices.map(\.reply)), .timestamp(now),
                    ]))
        }
        return statements + [Statement(DeliveryStatements.endCooldowns, [.int64Array(lost)])]
    }

    private static func bounces(
        _ mails: [DueDelivery], now: Instant, limit: Int
    ) -> [Statement] {
        guard !mails.isEmpty else { return [] }
        let people = Parameter.int64Array(mails.map(\.person.id))
        return [
            Statement(
                DeliveryStatements.countBounces,
                [
                    people, .textArray(mails.compactMap(\.email)),
                    .int64Array(mails.map(\.noticeID)), .timestamp(now),
                ]),
            Statement(
                DeliveryStatements.refuseBouncing,
                [people, .int64(Int64(limit)), .timestamp(now)]),
        ]
    }
}
