import ErrandDelivery
import FoundationEssentials
import Errand
import ErrandPostgres
import Synchronization

/// What became of one delivery, whatever it carries, and of its job.
protocol BookedAnswer: Sendable {
    /// By which answers are written in one order for all.
    var delivery: Int64 { get }
}

/// What became of one delivery of a notice, and of its job.
struct DeliveryAnswer: BookedAnswer {
    var due: DueDelivery
    var status: String
    var reply: String
    var attempts: Int16 = 0
    /// Whether the device or address takes nothing any more.
    var isGone = false
    /// Whether the address refused this notice for good.
    var isBounce = false
    var outcome: Outcome
    var delivery: Int64 { due.id }

    /// How long jobs wait for a provider that does not say when it is back.
    private static let pause = Duration.seconds(30)
    /// How long they wait for an operator.
    static let longPause = Duration.seconds(60)

    /// A wait and up to half as long again, so that a backlog does not come back all at once.
    static func spread(_ wait: Duration) -> Duration {
        wait + min(wait / 2, .seconds(300)) * Double.random(in: 0...1)
    }

    init(_ due: DueDelivery, _ status: String, _ reply: String, _ outcome: Outcome) {
        self.due = due
        self.status = status
        self.reply = reply
        self.outcome = outcome
    }

    /// What a channel's verdict means.
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
            context.log.error("\(due.provider) takes nothing from us: \(reason)")
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

    /// A failed attempt: the last one ends the delivery.
    private init(
        _ due: DueDelivery, after reason: String, delay: Duration?, _ context: JobContext
    ) {
        let isLast = context.attempt >= context.maxAttempts
        self.init(
            due, isLast ? "failed" : "pending", reason, .retry(after: delay, reason: reason))
        attempts = 1
    }
}

/// Writes down what became of deliveries: what comes during a write goes together in the next.
///
/// Each job waits for its own answer alone: a quick one ends while a slow one is on its way. What
/// PostgreSQL does not take at once, because somebody holds a row or it is away, is tried again by
/// itself, beside what comes after it.
final class AnswerBook<Answer: BookedAnswer>: Sendable {
    private typealias Writer = CheckedContinuation<Void, any Error>

    private struct Entry {
        let number: UInt64
        let answer: Answer
        let context: JobContext
        let writer: Writer
        /// What PostgreSQL, being there, has refused for good.
        var refusals = 0
    }

    private struct State {
        var waiting: [Entry] = []
        var isWriting = false
        var lastNumber: UInt64 = 0
        /// Until when those are tried whose jobs have to end.
        var deadlines: [UInt64: ContinuousClock.Instant] = [:]
    }

    /// What it waits for PostgreSQL between two tries to write.
    ///
    /// Short, to be before those who take over the jobs of a worker that seems dead.
    private static var pause: Duration { .milliseconds(250) }
    /// How long it still tries when the job has to end.
    private static var lastWait: Duration { .seconds(6) }
    /// Tries to write what PostgreSQL, being there, refuses.
    private static var tries: Int { 4 }
    /// For how long others are held up by those that are tried again.
    private static var patience: Duration { .seconds(1) }

    private let statements: @Sendable ([Answer], Instant) -> [Statement]
    private let state = Mutex(State())
    private let complaint = Complaint()

    /// - Parameter statements: what writes answers down, as of a time, in one transaction.
    init(statements: @escaping @Sendable ([Answer], Instant) -> [Statement]) {
        self.statements = statements
    }

    /// Writes an answer, and returns once it is written.
    ///
    /// While it cannot be written it is tried again, as long as the job may run and for some
    /// seconds more: what was sent would be sent again if it were not known.
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
                // Not by the job that came first: it ends before those that come during its write.
                if mustStart { Task { await self.writeAll() } }
            }
        } onCancel: {
            // Cancelled, its lease or its time lost, or the worker stops: not much time is left.
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
                complaint.warn(log, "answers of providers wait to be written: \(Self.text(error))")
                // Each by itself, so that none holds up the others.
                left += await retried(fresh)
            }
            if left.isEmpty {
                complaint.resolved(log, "the answers of providers are written again")
            }
        }
    }

    /// Without the details: PostgreSQL puts whole rows there.
    private static func text(_ error: any Error) -> String {
        guard case PostgresError.server(let error) = error else { return "\(error)" }
        return "\(error.message) (SQLSTATE \(error.sqlState))"
    }

    /// What has come since, no delivery twice: the later answer waits for the earlier.
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

    /// Writes each by itself, as long as it does not take too long for those that come after them.
    ///
    /// - Returns: those that are to be tried again, whose turn did not come first.
    private func retried(_ entries: [Entry]) async -> [Entry] {
        let end = ContinuousClock.now + Self.patience
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

    /// Those of entries that could not be written which may be tried again; the others fail.
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

    /// Waiting for no disk, because the end of the job does, which comes after; for no lock either
    /// that would hold up the answers of others; and not for ever.
    private static var limits: Statement {
        Statement(
            """
            SELECT set_config('synchronous_commit', 'off', true),
                set_config('lock_timeout', '250ms', true),
                set_config('statement_timeout', '5s', true)
            """)
    }

    /// Writes answers in one round trip and one transaction, so that little is on its way when a
    /// worker dies.
    ///
    /// - Returns: why it could not.
    private func failure(writing entries: [Entry]) async -> (any Error)? {
        let now = entries.map(\.context.now).max() ?? .distantPast
        let all = [Self.limits] + statements(entries.map(\.answer), Instant(date: now))
        do {
            // Of a worker whose jobs these are: it waits for them before it closes its connections.
            _ = try await entries[0].context.database.withSession { try await $0.pipeline(all) }
        } catch {
            return error
        }
        for entry in entries { entry.writer.resume() }
        return nil
    }
}

extension PostgresError {
    /// Whether nobody answers: there is no sense in asking again at once.
    fileprivate var isAway: Bool {
        if case .unreachable = self { return true }
        return false
    }
}

extension DeliveryAnswer {
    /// What writes answers down, as of a time.
    ///
    /// - Parameter bounceLimit: how many bounces refuse an address.
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
