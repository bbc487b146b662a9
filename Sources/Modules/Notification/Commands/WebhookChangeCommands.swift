import ErrandKeys
import ErrandCrypto
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
        help: "Wait no longer than this for the answer")
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    private static let test = Command(
        "webhook", "test", effect: .changes,
        summary: "Send an event of the kind webhook.test, and wait for the answer",
        discussion: """
            It takes the way of all events, by a worker of the queue webhooks, once, whatever \
            kinds the endpoint wants. Exits 0 when it was taken, 1 when it was not, and 8 when \
            there was no answer by then.
            """,
        examples: [.init("errand webhook test 7 --timeout 10s", "whether it answers")],
        options: [timeout, AuditOptions.reason], arguments: [WebhookWords.id]
    ) { invocation in
        let endpoint = try await WebhookWords.one(invocation)
        guard endpoint.disabledAt == nil else {
            throw CommandFailure(
                exit: .conflict, message: "endpoint \(endpoint.id) is disabled",
                hint: "'errand webhook enable \(endpoint.id)' first")
        }
        let endpoints = try WebhookWords.endpoints(invocation)
        let limit = invocation[timeout]
        let deadline = ContinuousClock.now + limit
        let id = try await endpoints.test(
            endpoint, for: limit, by: WebhookWords.author(invocation))
        var pause = firstPause
        var event = try await endpoints.event(id)
        while event?.status == "pending", ContinuousClock.now < deadline {
            try await Task.sleep(for: min(pause, max(deadline - .now, .milliseconds(1))))
            pause = min(pause * 2, longestPause)
            event = try await endpoints.event(id)
        }
        guard let event else { throw WebhookWords.unknown(invocation[WebhookWords.id]) }
        try invocation.output.show(WebhookWords.record(event))
        switch event.status {
        case "delivered": return .done
        case "pending":
            throw CommandFailure(
                exit: .timedOut,
                message: "there was no answer by then" + (event.reply.map { ": \($0)" } ?? ""),
                hint: "does a worker work the queue webhooks, with \(KeySettings.variable) set? "
                    + "'errand doctor' tells")
        default:
            throw CommandFailure(
                exit: .failed,
                message: "the event was not taken: \(event.reply ?? event.status)",
                hint: "'errand webhook events --endpoint \(endpoint.id)' lists others")
        }
    }

    // MARK: secret

    private static let rotate = Option.flag(
        "rotate", help: "Make a second secret and print it, once; both sign from now on")
    private static let finish = Option.flag(
        "finish", help: "Let the new secret alone sign from now on")

    private static let secret = Command(
        "webhook", "secret", effect: .changes,
        summary: "Change the secret of an endpoint, in two steps",
        discussion: """
            With --rotate it gets a second secret: give that to its owner. Each event is signed by \
            both until --finish, when the receiver knows the new one.
            """,
        examples: [
            .init("errand webhook secret 7 --rotate", "the new secret, shown once"),
            .init("errand webhook secret 7 --finish", "the old one is worth nothing any more"),
        ],
        options: [rotate, finish, AuditOptions.reason], arguments: [WebhookWords.id]
    ) { invocation in
        guard invocation[rotate] != invocation[finish] else {
            throw CommandFailure(
                exit: .usage, message: "say --rotate or --finish",
                hint: "'errand webhook show \(invocation[WebhookWords.id])' tells how many there "
                    + "are")
        }
        let (endpoints, id) = (
            try WebhookWords.endpoints(invocation), Int64(invocation[WebhookWords.id])
        )
        let author = WebhookWords.author(invocation)
        guard invocation[rotate] else {
            return try await WebhookWords.report(
                try await endpoints.finishSecret(id, by: author), invocation,
                unfit: "has one secret only", hint: "--rotate makes a second one")
        }
        let keys = try KeySettings.needed(invocation.environment)
        let made = try await endpoints.rotateSecret(id, keys: keys, by: author)
        guard let secret = made.secret else {
            return try await WebhookWords.report(
                made.change, invocation, unfit: "has two secrets already",
                hint: "--finish takes the older one away")
        }
        var record = WebhookWords.record(try await WebhookWords.one(invocation))
        record.append("secret", .text(secret))
        try invocation.output.show(record)
        return .done
    }

    // MARK: enable, disable, rm

    private static let enable = Command(
        "webhook", "enable", effect: .changes,
        summary: "Let a disabled endpoint have events again",
        discussion: "From now on: what happened meanwhile is not sent.",
        examples: [.init("errand webhook enable 7 --reason 'it is back'", "after 'webhook test'")],
        options: [AuditOptions.reason], arguments: [WebhookWords.id]
    ) { invocation in
        try await WebhookWords.report(
            try await WebhookWords.endpoints(invocation).enable(
                Int64(invocation[WebhookWords.id]), by: WebhookWords.author(invocation)),
            invocation, unfit: "is enabled",
            hint: "'errand webhook test \(invocation[WebhookWords.id])' tells whether it answers")
    }

    private static let disable = Command(
        "webhook", "disable", effect: .changes,
        summary: "Send an endpoint nothing more",
        discussion: "What is on its way to it is withdrawn. It can be enabled again.",
        examples: [.init("errand webhook disable 7 --reason 'they asked for it'", "until later")],
        options: [AuditOptions.reason], arguments: [WebhookWords.id]
    ) { invocation in
        try await WebhookWords.report(
            try await WebhookWords.endpoints(invocation).disable(
                Int64(invocation[WebhookWords.id]), by: WebhookWords.author(invocation)),
            invocation, unfit: "is disabled already",
            hint: "'errand webhook show \(invocation[WebhookWords.id])' tells why")
    }

    private static let remove = Command(
        "webhook", "rm", effect: .changes,
        summary: "Remove an endpoint with its URL and secret",
        discussion: "The record of what it got stays. 'errand webhook disable' can be undone.",
        examples: [.init("errand webhook rm 7 --yes", "for good")],
        options: [AuditOptions.reason], arguments: [WebhookWords.id]
    ) { invocation in
        let endpoint = try await WebhookWords.one(invocation)
        try invocation.confirm(
            "remove endpoint \(endpoint.id) of \(endpoint.owner) at \(endpoint.place) for good?")
        let removed = try await WebhookWords.endpoints(invocation).remove(
            endpoint.id, by: WebhookWords.author(invocation))
        guard removed == .done else { throw WebhookWords.unknown(Int(endpoint.id)) }
        try invocation.output.show(
            Record([("id", .id(Int(endpoint.id))), ("result", .text("removed"))]))
        return .done
    }
}
