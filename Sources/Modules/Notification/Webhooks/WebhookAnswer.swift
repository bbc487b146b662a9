import ErrandDelivery
import FoundationEssentials
import Errand
import ErrandPostgres

/// What became of one event on its way to one endpoint, and of its job.
struct WebhookAnswer: BookedAnswer {
    private(set) var due: DueWebhook
    private(set) var status: String
    private(set) var reply: String
    private(set) var attempts: Int16 = 0
    /// Whether the endpoint asks for nothing any more.
    private(set) var isGone = false
    var outcome: Outcome
    var delivery: Int64 { due.id }

    /// An endpoint that took nothing for so long since the first failure is disabled.
    static let patience = Duration.seconds(3 * 86_400)

    /// Ends a delivery without an attempt.
    init(_ due: DueWebhook, _ status: String, _ reply: String) {
        outcome = .discard(reason: "\(status): \(reply)")
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
        var statements = [
            Statement(
                WebhookStatements.answer,
                [
                    .int64Array(answers.map(\.due.id)), .textArray(answers.map(\.status)),
                    .textArray(answers.map(\.reply)), .int16Array(answers.map(\.attempts)),
                    .timestamp(now),
                ])
        ]
        // That a test fails is what it is for, unless the endpoint asks for nothing any more.
        let tried = answers.filter { answer in
            let counts = !answer.due.isTest || answer.isGone || answer.status == "delivered"
            return answer.attempts > 0 && counts
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
                        endpoints.map { $0.value.contains { $0.status == "delivered" } }),
                    .boolArray(endpoints.map { $0.value.contains { $0.isGone } }),
                    .textArray(
                        endpoints.map {
                            ($0.value.last(where: \.isGone) ?? $0.value.last)?.reply ?? ""
                        }),
                    .timestamp(now), .timestamp(now.adding(.zero - patience)),
                ]))
        return statements
    }
}
