import Delivery
import FoundationEssentials
import JobQueue
import Postgres
import Synchronization

/// What became of one delivery, whatever it carries, and of its job.
protocol BookedAnswer: Sendable {
    var outcome: Outcome { get }
    /// By which answers are written in one order for all; nil where nothing is to be written.
    var delivery: Int64? { get }
}

/// What became of one delivery of a notice, and of its job.
struct DeliveryAnswer: BookedAnswer {
    /// Nil where nothing is to be written.
    var due: DueDelivery?
    var status = "pending"
    var reply: String?
    var attempts: Int16 = 0
    /// Whether the device or address takes nothing any more.
    var isGone = false
    /// Whether the address refused this notice for good.
    var isBounce = false
    var outcome: Outcome
    var delivery: Int64? { due?.id }

    /// How long jobs wait for a provider that does not say when it is back.
    private static let pause = Duration.seconds(30)
    /// How long they wait for an operator.
    static let longPause = Duration.seconds(60)

    /// A wait and up to half as long again, so that a backlog does not come back all at once.
    static func spread(_ wait: Duration) -> Duration {
        wait + min(wait / 2, .seconds(300)) * Double.random(in: 0...1)
    }

    init(_ outcome: Outcome) { self.outcome = outcome }

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

/// The answers of one batch: written as they come, those that come during a write together in
/// the next.
final class AnswerBook<Answer: BookedAnswer>: Sendable {
    private struct State {
        var waiting: [Answer] = []
        var outcomes: [Outcome?]
        var missing: Int
        /// How often PostgreSQL is still tried, once the job has to end.
        var tries: Int?
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
    private let state: Mutex<State>
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// - Parameter statements: what writes answers down, as of a time, in one transaction.
    init(expected: Int, statements: @escaping @Sendable ([Answer], Instant) -> [Statement]) {
        self.statements = statements
        state = Mutex(State(outcomes: Array(repeating: nil, count: expected), missing: expected))
        (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Makes the answers side by side, and writes them as they come.
    ///
    /// - Parameter answer: to the job at a place of the batch.
    /// - Returns: the outcomes of the jobs, in their order.
    func outcomes(
        in context: JobContext, of answer: @escaping @Sendable (Int) async -> Answer
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for place in 0..<state.withLock(\.missing) {
                group.addTask { self.add(await answer(place), at: place) }
            }
            // Not cancelled with the handler: what was taken must be known as sent.
            let writing = Task { try await write(to: context.database, now: context.now) }
            return try await withTaskCancellationHandler {
                try await group.waitForAll()
                return try await writing.value
            } onCancel: {
                hurry()
            }
        }
    }

    func add(_ answer: Answer, at place: Int) {
        let isLast = state.withLock { state in
            if answer.delivery != nil { state.waiting.append(answer) }
            state.outcomes[place] = answer.outcome
            state.missing -= 1
            return state.missing == 0
        }
        wake.yield()
        if isLast { wake.finish() }
    }

    /// The job was cancelled, has lost its lease or its time, or the worker stops: there is not
    /// much time left.
    func hurry() {
        state.withLock { state in
            if state.tries == nil { state.tries = Self.lastTries }
        }
    }

    /// Writes until all answers are there and written.
    ///
    /// While PostgreSQL is away it waits for it, as long as the job may run: what was sent would be
    /// sent again if it were not known.
    /// - Returns: the outcomes of the jobs, in their order.
    func write(to database: Pool, now: Date) async throws -> [Outcome] {
        for await _ in wakes { try await writeWaiting(to: database, now: now) }
        try await writeWaiting(to: database, now: now)
        return state.withLock { $0.outcomes.map { $0 ?? .done } }
    }

    private func mayTryAgain() -> Bool {
        state.withLock { state in
            guard let tries = state.tries else { return true }
            state.tries = tries - 1
            return tries > 0
        }
    }

    /// Not waiting for the disk: the end of the job does, which comes after.
    private static var noWait: Statement {
        Statement("SELECT set_config('synchronous_commit', 'off', true)")
    }

    private func writeWaiting(to database: Pool, now: Date) async throws {
        let answers = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting.sorted { $0.delivery ?? 0 < $1.delivery ?? 0 }
        }
        guard !answers.isEmpty else { return }
        let statements = [Self.noWait] + statements(answers, Instant(date: now))
        var refusals = 0
        while true {
            do {
                // One round trip, and one transaction: what is on its way when a worker dies is
                // little.
                _ = try await database.withSession { try await $0.pipeline(statements) }
                return
            } catch let error as PostgresError {
                if !error.isTransient { refusals += 1 }
                guard refusals < Self.tries, mayTryAgain() else { throw error }
            }
            try await Task.sleep(for: Self.pause)
        }
    }
}

extension DeliveryAnswer {
    /// What writes answers down, as of a time.
    ///
    /// - Parameter bounceLimit: how many bounces refuse an address.
    static func statements(
        _ answers: [DeliveryAnswer], now: Instant, bounceLimit: Int
    ) -> [Statement] {
        let pairs = answers.compactMap { answer in answer.due.map { (answer: answer, due: $0) } }
        let ended = Parameter.int64Array(
            Set(pairs.filter { $0.answer.status != "pending" }.map(\.due.noticeID)).sorted())
        let lost = Set(
            pairs.filter { !["pending", "delivered"].contains($0.answer.status) }
                .map(\.due.noticeID)
        ).sorted()
        let mails = pairs.filter { $0.due.deviceID == nil && $0.due.email != nil }
        let taken = mails.filter { $0.answer.status == "delivered" }.map(\.due)
        let lock = Statement(
            DeliveryStatements.lockPeople,
            [.int64Array(lost), .int64Array(taken.map(\.person.id))])
        var statements = [Statement(DeliveryStatements.lockNotices, [ended])]
        if !lost.isEmpty || !taken.isEmpty { statements.append(lock) }
        statements += [
            Statement(
                DeliveryStatements.answer,
                [
                    .int64Array(pairs.map(\.due.id)), .textArray(pairs.map(\.answer.status)),
                    .nullableTextArray(pairs.map(\.answer.reply)),
                    .int16Array(pairs.map(\.answer.attempts)), .timestamp(now),
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
            mails.filter(\.answer.isBounce).map(\.due), now: now, limit: bounceLimit)
        let gone = mails.filter(\.answer.isGone).map(\.due)
        if !gone.isEmpty {
            statements.append(
                Statement(
                    DeliveryStatements.refuseAddresses,
                    [
                        .int64Array(gone.map(\.person.id)), .textArray(gone.compactMap(\.email)),
                        .timestamp(now),
                    ]))
        }
        let devices = pairs.filter { $0.answer.isGone && $0.due.registeredAt != nil }
        if !devices.isEmpty {
            statements.append(
                Statement(
                    DeliveryStatements.disableDevices,
                    [
                        .int64Array(devices.compactMap(\.due.deviceID)),
                        .timestampArray(devices.map(\.due.registeredAt)),
                        .textArray(devices.map { $0.answer.reply ?? "" }), .timestamp(now),
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
