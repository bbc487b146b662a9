import ErrandDelivery
import FoundationEssentials
import Errand
import ErrandPostgres

/// The result of delivering one event to one endpoint, and of its job.
struct WebhookAnswer: DeliveryResult {
    private(set) var due: DueWebhook
    private(set) var status: String
    private(set) var reply: String
    private(set) var attempts: Int16 = 0
    /// Whether the endpoint is gone: it asked for no more events.
    private(set) var isGone = false
    var outcome: Outcome
    var delivery: Int64 { due.id }

    /// The time after which an endpoint that only fails is disabled.
    static let timeout = Duration.seconds(3 * 86_400)

    /// Ends a delivery without an attempt.
    init(_ due: DueWebhook, _ status: String, _ reply: String) {
        outcome = .discard(reason: "\(status): \(reply)")
        self.due = due
        self.status = status
        self.reply = reply
    }

    /// Creates the result for the client's verdict.
    init(_ verdict: DeliveryVerdict, to due: DueWebhook, _ context: JobContext) {
        switch verdict {
        case .delivered(let reply):
            self.init(due, "delivered", reply)
            outcome = .done
        case .deferred(let reason, let delay), .addressBusy(let reason, let delay):
            let isLast = due.isTest || context.attempt >= context.maxAttempts
            self.init(due, isLast ? "failed" : "pending", reason)
            // A test needs no fix; other events become dead letters.
            if !due.isTest { outcome = .retry(after: delay, reason: reason) }
        case .addressGone(let reason, _):
            self.init(due, "gone", reason)
            isGone = true
        case .bounced(let reason), .rejected(let reason):
            // No dead letter: only the endpoint's owner can fix it.
            self.init(due, "rejected", reason)
        case .unavailable(let reason, let delay):
            self.init(due, "pending", reason)
            outcome = .snooze(DeliveryAnswer.spread(delay ?? DeliveryAnswer.longPause))
            return
        case .misconfigured(let reason):
            context.log.error("this worker cannot send webhooks: \(reason)")
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
        // A failed test does not count against the endpoint, unless the endpoint is gone.
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
                    .timestamp(now), .timestamp(now.adding(.zero - timeout)),
                ]))
        return statements
    }
}
