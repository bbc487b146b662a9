import Delivery
import FoundationEssentials
import JobQueue
import Postgres
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

/// Writes down what became of deliveries: answers that come during a write go together in the next.
///
/// Each job waits for its own answer alone: a quick one ends while a slow one is on its way.
final class AnswerBook<Answer: BookedAnswer>: Sendable {
    private typealias Writer = CheckedContinuation<Void, any Error>

    private struct Entry {
        let number: UInt64
        let answer: Answer
        let now: Date
        let writer: Writer
        /// What PostgreSQL, being there, has refused.
        var refusals = 0
    }

    private struct State {
        var waiting: [Entry] = []
        var isWriting = false
        var lastNumber: UInt64 = 0
        /// How often PostgreSQL is still tried for those whose jobs have to end.
        var hurried: [UInt64: Int] = [:]
    }

    /// What it waits for PostgreSQL between two tries to write.
    ///
    /// Short, to be before those who take over the jobs of a worker that seems dead.
    private static var pause: Duration { .milliseconds(250) }
    /// How often it still tries when the job has to end: for six seconds.
    private static var lastTries: Int { 24 }
    /// Tries to write what PostgreSQL, being there, refuses.
    private static var tries: Int { 4 }

    private let statements: @Sendable ([Answer], Instant) -> [Statement]
    private let state = Mutex(State())

    /// - Parameter statements: what writes answers down, as of a time, in one transaction.
    init(statements: @escaping @Sendable ([Answer], Instant) -> [Statement]) {
        self.statements = statements
    }

    /// Writes an answer, and returns once it is written.
    ///
    /// While PostgreSQL is away it waits for it, as long as the job may run and for some seconds
    /// more: what was sent would be sent again if it were not known.
    func write(_ answer: Answer, in context: JobContext) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        defer { state.withLock { $0.hurried[number] = nil } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (writer: Writer) in
                let entry = Entry(
                    number: number, answer: answer, now: context.now, writer: writer)
                let mustStart = state.withLock { state in
                    state.waiting.append(entry)
                    defer { state.isWriting = true }
                    return !state.isWriting
                }
                // Not of the job that came first: it ends before those that come during its write.
                if mustStart { Task { await self.writeAll(to: context.database) } }
            }
        } onCancel: {
            // Cancelled, its lease or its time lost, or the worker stops: not much time is left.
            state.withLock { $0.hurried[number] = Self.lastTries }
        }
    }

    private func writeAll(to database: Pool) async {
        while true {
            var entries = state.withLock { state in
                defer { state.waiting = [] }
                state.isWriting = !state.waiting.isEmpty
                return state.waiting
            }
            guard !entries.isEmpty else { return }
            while !entries.isEmpty {
                do {
                    try await write(entries, to: database)
                    for entry in entries { entry.writer.resume() }
                    break
                } catch let error as PostgresError where !error.isTransient && entries.count > 1 {
                    // One that PostgreSQL refuses must not hold up the others.
                    entries = await writeEach(of: entries, to: database)
                } catch {
                    entries = keep(entries, after: error)
                }
                if !entries.isEmpty { try? await Task.sleep(for: Self.pause) }
            }
        }
    }

    /// Writes each by itself; returns those that are to be tried again.
    private func writeEach(of entries: [Entry], to database: Pool) async -> [Entry] {
        var left: [Entry] = []
        for entry in entries {
            do {
                try await write([entry], to: database)
                entry.writer.resume()
            } catch {
                left += keep([entry], after: error)
            }
        }
        return left
    }

    /// Those of entries that could not be written which may be tried again; the others fail.
    private func keep(_ entries: [Entry], after error: any Error) -> [Entry] {
        let isRefusal = (error as? PostgresError).map { !$0.isTransient } ?? true
        var left: [Entry] = []
        for var entry in entries {
            if isRefusal { entry.refusals += 1 }
            if entry.refusals < Self.tries, mayTryAgain(entry.number) {
                left.append(entry)
            } else {
                entry.writer.resume(throwing: error)
            }
        }
        return left
    }

    private func mayTryAgain(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard let tries = state.hurried[number] else { return true }
            state.hurried[number] = tries - 1
            return tries > 0
        }
    }

    private func write(_ entries: [Entry], to database: Pool) async throws {
        let now = entries.map(\.now).max() ?? .distantPast
        // One order for all, so that two workers never wait for each other in a ring.
        let answers = entries.map(\.answer).sorted { $0.delivery < $1.delivery }
        // Not waiting for the disk: the end of the job does, which comes after.
        let noWait = Statement("SELECT set_config('synchronous_commit', 'off', true)")
        let all = [noWait] + statements(answers, Instant(date: now))
        // One round trip, and one transaction: what is on its way when a worker dies is little.
        _ = try await database.withSession { try await $0.pipeline(all) }
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
