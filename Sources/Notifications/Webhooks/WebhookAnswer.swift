import Delivery
import FoundationEssentials
import JobQueue
import Postgres

/// What became of one event on its way to one endpoint, and of its job.
struct WebhookAnswer: BookedAnswer {
    /// Nil where nothing is to be written.
    private(set) var due: DueWebhook?
    private(set) var status = "pending"
    private(set) var reply: String?
    private(set) var attempts: Int16 = 0
    /// Whether the endpoint asks for nothing any more.
    private(set) var isGone = false
    var outcome: Outcome
    var delivery: Int64? { due?.id }

    /// An endpoint that took nothing for so long since the first failure is disabled.
    static let patience = Duration.seconds(3 * 86_400)

    init(_ outcome: Outcome) { self.outcome = outcome }

    /// Ends a delivery without an attempt.
    init(_ due: DueWebhook, _ status: String, _ reply: String) {
        self.init(.discard(reason: "\(status): \(reply)"))
        self.due = due
        self.status = status
        self.reply = reply
    }

    /// What the client's verdict means.
    init(_ verdict: DeliveryVerdict, to due: DueWebhook, _ context: JobContext) {
        switch verdict {
        case .delivered(let reply):
            self.init(due, "delivered", reply)
            outcome = .done
        case .deferred(let reason, let delay), .addressBusy(let reason, let delay):
            let isLast = due.isTest || context.attempt >= context.maxAttempts
            self.init(due, isLast ? "failed" : "pending", reason)
            // Nobody mends a test; the others are for the dead letters.
            if !due.isTest { outcome = .retry(after: delay, reason: reason) }
        case .addressGone(let reason, _):
            self.init(due, "gone", reason)
            isGone = true
        case .bounced(let reason), .rejected(let reason):
            // It is the endpoint's owner who can do something about it: no dead letter.
            self.init(due, "rejected", reason)
        case .unavailable(let reason, let delay):
            self.init(due, "pending", reason)
            outcome = .snooze(DeliveryAnswer.spread(delay ?? DeliveryAnswer.longPause))
            return
        case .misconfigured(let reason):
            context.log.error("webhooks cannot be sent from here: \(reason)")
            self.init(due, "pending", reason)
            outcome = .snooze(DeliveryAnswer.spread(DeliveryAnswer.longPause))
            return
        }
        attempts = 1
    }

    static func statements(_ answers: [WebhookAnswer], now: Instant) -> [Statement] {
        let pairs = answers.compactMap { answer in answer.due.map { (answer: answer, due: $0) } }
        var statements = [
            Statement(
                WebhookStatements.answer,
                [
                    .int64Array(pairs.map(\.due.id)), .textArray(pairs.map(\.answer.status)),
                    .nullableTextArray(pairs.map(\.answer.reply)),
                    .int16Array(pairs.map(\.answer.attempts)), .timestamp(now),
                ])
        ]
        // That a test fails is what it is for, unless the endpoint asks for nothing any more.
        let tried = pairs.filter { pair in
            let counts = !pair.due.isTest || pair.answer.isGone || pair.answer.status == "delivered"
            return pair.answer.attempts > 0 && counts
        }
        let endpoints = Dictionary(grouping: tried) { $0.due.endpoint?.id ?? 0 }
            .sorted { $0.key < $1.key }
        guard !endpoints.isEmpty else { return statements }
        statements.append(
            Statement(
                WebhookStatements.judge,
                [
                    .int64Array(endpoints.map(\.key)),
                    .boolArray(
                        endpoints.map { $0.value.contains { $0.answer.status == "delivered" } }),
                    .boolArray(endpoints.map { $0.value.contains { $0.answer.isGone } }),
                    .textArray(endpoints.map { $0.value.last?.answer.reply ?? "" }),
                    .timestamp(now), .timestamp(now.adding(.zero - patience)),
                ]))
        return statements
    }
}
