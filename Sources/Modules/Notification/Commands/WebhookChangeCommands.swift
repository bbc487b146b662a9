import ErrandKeys
import ErrandCrypto
import ErrandDelivery
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand webhook test`, `secret`, `enable`, `disable` and `rm`.
enum WebhookChangeCommands {
    static let all = [test, secret, enable, disable, remove]

    // MARK: test

    private static let timeout = Option.duration(
        "timeout", default: .seconds(30), range: .seconds(1) ... .seconds(3_600),
        help: "Wait at most TIME for the answer")
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    private static let test = Command(
        "webhook", "test", effect: .write,
        summary: "Send a test event (webhook.test), and wait for the answer",
        discussion: """
            A worker of the queue webhooks sends the event, once, whatever kinds the endpoint \
            receives. Exits with 0 if the endpoint accepted it, 1 if not, and 8 on a timeout.
            """,
        examples: [.init("errand webhook test 7 --timeout 10s", "check that it answers")],
        options: [timeout, AuditOptions.reason], arguments: [WebhookFormatting.id]
    ) { invocation in
        let endpoint = try await WebhookFormatting.one(invocation)
        guard endpoint.disabledAt == nil else {
            throw CommandFailure(
                exit: .conflict, message: "endpoint \(endpoint.id) is disabled",
                hint: "run 'errand webhook enable \(endpoint.id)' first")
        }
        let endpoints = try WebhookFormatting.endpoints(invocation)
        let limit = invocation[timeout]
        let deadline = ContinuousClock.now + limit
        let id = try await endpoints.test(
            endpoint, for: limit, by: WebhookFormatting.author(invocation))
        var pause = firstPause
        var event = try await endpoints.event(id)
        while event?.status == "pending", ContinuousClock.now < deadline {
            try await Task.sleep(for: min(pause, max(deadline - .now, .milliseconds(1))))
            pause = min(pause * 2, longestPause)
            event = try await endpoints.event(id)
        }
        guard let event else { throw WebhookFormatting.unknown(invocation[WebhookFormatting.id]) }
        try invocation.output.show(WebhookFormatting.record(event))
        switch event.status {
        case "delivered": return .done
        case "pending":
            throw CommandFailure(
                exit: .timedOut,
                message: "timed out: no answer" + (event.reply.map { ": \($0)" } ?? ""),
                hint: "a worker must run the queue webhooks with \(KeySettings.variable) set; "
                    + "see 'errand doctor'")
        default:
            throw CommandFailure(
                exit: .failed,
                message: "the event was not accepted: \(event.reply ?? event.status)",
                hint: "'errand webhook events --endpoint \(endpoint.id)' lists earlier ones")
        }
    }

    // MARK: secret

    private static let rotate = Option.flag(
        "rotate", help: "Create a second secret and print it once; both sign from now on")
    private static let finish = Option.flag(
        "finish", help: "Remove the old secret; only the new one signs from now on")

    private static let secret = Command(
        "webhook", "secret", effect: .write,
        summary: "Rotate the secret of an endpoint, in two steps",
        discussion: """
            --rotate creates a second secret: pass it to the receiver. Both secrets sign each \
            event until --finish. Run it once the receiver uses the new secret.
            """,
        examples: [
            .init("errand webhook secret 7 --rotate", "the new secret, shown once"),
            .init("errand webhook secret 7 --finish", "remove the old one"),
        ],
        options: [rotate, finish, AuditOptions.reason], arguments: [WebhookFormatting.id]
    ) { invocation in
        guard invocation[rotate] != invocation[finish] else {
            throw CommandFailure(
                exit: .usage, message: "either --rotate or --finish is required",
                hint: "'errand webhook show \(invocation[WebhookFormatting.id])' shows the number "
                    + "of secrets")
        }
        let (endpoints, id) = (
            try WebhookFormatting.endpoints(invocation), Int64(invocation[WebhookFormatting.id])
        )
        let author = WebhookFormatting.author(invocation)
        guard invocation[rotate] else {
            return try await WebhookFormatting.report(
                try await endpoints.finishSecret(id, by: author), invocation,
                unfit: "has only one secret", hint: "--rotate creates a second one")
        }
        let keys = try KeySettings.needed(invocation.environment)
        let made = try await endpoints.rotateSecret(id, keys: keys, by: author)
        guard let secret = made.secret else {
            return try await WebhookFormatting.report(
                made.change, invocation, unfit: "already has two secrets",
                hint: "--finish removes the older one")
        }
        var record = WebhookFormatting.record(try await WebhookFormatting.one(invocation))
        record.append("secret", .text(secret))
        try invocation.output.show(record)
        return .done
    }

    // MARK: enable, disable, rm

    private static let enable = Command(
        "webhook", "enable", effect: .write,
        summary: "Enable a disabled endpoint",
        discussion: "Events that occurred while it was disabled are not sent.",
        examples: [.init("errand webhook enable 7 --reason 'it is back'", "after 'webhook test'")],
        options: [AuditOptions.reason], arguments: [WebhookFormatting.id]
    ) { invocation in
        let endpoint = try await WebhookFormatting.one(invocation)
        guard !WebhookMessage.hasLogin(endpoint.url.revealed) else {
            throw CommandFailure(
                exit: .conflict,
                message: "the URL of endpoint \(endpoint.id) contains a login, which is not used",
                hint: "add it again without user:password@: 'errand help webhook add'")
        }
        return try await WebhookFormatting.report(
            try await WebhookFormatting.endpoints(invocation).enable(
                Int64(invocation[WebhookFormatting.id]), by: WebhookFormatting.author(invocation)),
            invocation, unfit: "is already enabled",
            hint: "'errand webhook test \(invocation[WebhookFormatting.id])' sends a test event")
    }

    private static let disable = Command(
        "webhook", "disable", effect: .write,
        summary: "Disable an endpoint",
        discussion: "Withdraws its pending events. 'errand webhook enable' enables it again.",
        examples: [.init("errand webhook disable 7 --reason 'they asked for it'", "until later")],
        options: [AuditOptions.reason], arguments: [WebhookFormatting.id]
    ) { invocation in
        try await WebhookFormatting.report(
            try await WebhookFormatting.endpoints(invocation).disable(
                Int64(invocation[WebhookFormatting.id]), by: WebhookFormatting.author(invocation)),
            invocation, unfit: "is already disabled",
            hint: "'errand webhook show \(invocation[WebhookFormatting.id])' shows why")
    }

    private static let remove = Command(
        "webhook", "rm", effect: .write,
        summary: "Remove an endpoint with its URL and secret",
        discussion: "Keeps the record of its events. 'errand webhook disable' can be undone.",
        examples: [.init("errand webhook rm 7 --yes", "permanently")],
        options: [AuditOptions.reason], arguments: [WebhookFormatting.id]
    ) { invocation in
        let endpoint = try await WebhookFormatting.one(invocation)
        try invocation.confirm(
            "permanently remove endpoint \(endpoint.id) of \(endpoint.owner) at \(endpoint.place)?")
        let removed = try await WebhookFormatting.endpoints(invocation).remove(
            endpoint.id, by: WebhookFormatting.author(invocation))
        guard removed == .done else { throw WebhookFormatting.unknown(Int(endpoint.id)) }
        try invocation.output.show(
            Record([("id", .id(Int(endpoint.id))), ("result", .text("removed"))]))
        return .done
    }
}
