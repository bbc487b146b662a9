import Delivery
import FoundationEssentials
import JobQueue
import Postgres
import Synchronization

/// What became of one delivery, and of its job.
struct DeliveryAnswer: Sendable {
    /// Nil where nothing is to be written.
    var due: DueDelivery?
    var status = "pending"
    var reply: String?
    var attempts: Int16 = 0
    /// Whether the device or address takes nothing any more.
    var isGone = false
    var outcome: Outcome

    /// How long jobs wait for a provider that does not say when it is back.
    private static let pause = Duration.seconds(30)
    /// How long they wait for an operator.
    private static let longPause = Duration.seconds(60)

    /// A wait and up to half as long again, so that a backlog does not come back all at once.
    private static func spread(_ wait: Duration) -> Duration {
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
        case .deferred(let reason, let delay):
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
final class AnswerBook: Sendable {
    private struct State {
        var waiting: [DeliveryAnswer] = []
        var outcomes: [Outcome?]
        var missing: Int
    }

    /// How long it waits for PostgreSQL before each further try to write.
    private static let pauses: [Duration] = [
        .milliseconds(50), .milliseconds(200), .seconds(1), .seconds(5),
    ]

    private let state: Mutex<State>
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(expected: Int) {
        state = Mutex(State(outcomes: Array(repeating: nil, count: expected), missing: expected))
        (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ answer: DeliveryAnswer, at place: Int) {
        let isLast = state.withLock { state in
            if answer.due != nil { state.waiting.append(answer) }
            state.outcomes[place] = answer.outcome
            state.missing -= 1
            return state.missing == 0
        }
        wake.yield()
        if isLast { wake.finish() }
    }

    /// Writes until all answers are there and written.
    ///
    /// - Returns: the outcomes of the jobs, in their order.
    func write(to database: Pool, now: Date) async throws -> [Outcome] {
        for await _ in wakes { try await writeWaiting(to: database, now: now) }
        try await writeWaiting(to: database, now: now)
        return state.withLock { $0.outcomes.map { $0 ?? .done } }
    }

    private func writeWaiting(to database: Pool, now: Date) async throws {
        let answers = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting.sorted { $0.due?.id ?? 0 < $1.due?.id ?? 0 }
        }
        guard !answers.isEmpty else { return }
        let statements = Self.statements(answers, now: Instant(date: now))
        for pause in Self.pauses {
            do {
                _ = try await database.transaction { try await $0.pipeline(statements) }
                return
            } catch is PostgresError {
                // What was sent would be sent again if it were not known: worth some waiting.
                try await Task.sleep(for: pause)
            }
        }
        _ = try await database.transaction { try await $0.pipeline(statements) }
    }

    private static func statements(_ answers: [DeliveryAnswer], now: Instant) -> [Statement] {
        let pairs = answers.compactMap { answer in answer.due.map { (answer: answer, due: $0) } }
        let ended = Parameter.int64Array(
            Set(pairs.filter { $0.answer.status != "pending" }.map(\.due.noticeID)).sorted())
        let lost = Set(
            pairs.filter { !["pending", "delivered"].contains($0.answer.status) }
                .map(\.due.noticeID)
        ).sorted()
        var statements = [Statement(DeliveryStatements.lockNotices, [ended])]
        if !lost.isEmpty {
            statements.append(Statement(DeliveryStatements.lockPeople, [.int64Array(lost)]))
        }
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
        guard !lost.isEmpty else { return statements }
        let gone = pairs.filter(\.answer.isGone)
        let mails = gone.filter { $0.due.deviceID == nil && $0.due.email != nil }
        if !mails.isEmpty {
            statements.append(
                Statement(
                    DeliveryStatements.refuseAddresses,
                    [
                        .int64Array(mails.map(\.due.person.id)),
                        .textArray(mails.compactMap(\.due.email)), .timestamp(now),
                    ]))
        }
        let devices = gone.filter { $0.due.deviceID != nil && $0.due.registeredAt != nil }
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
}
