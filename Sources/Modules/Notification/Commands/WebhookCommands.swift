import ErrandKeys
import ErrandCrypto
import ErrandDelivery
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand webhook …`: the endpoints of events.
enum WebhookCommands {
    static let all = [add, list, show, events] + WebhookChangeCommands.all

    // MARK: add

    private static let owner = Option<String?>.text(
        "owner", placeholder: "OWNER", help: "The owner of the events, such as establishment:7"
    ).required()
    private static let url = Option<String?>.text(
        "url", placeholder: "URL", help: "The endpoint: https://…"
    ).required()
    private static let kinds = Option<[String]>.list(
        "events",
        ValueFormat("KIND", expected: "a kind of event such as coupon.redeemed, or *") {
            $0 == "*" || JobKinds.isName($0, limit: 100) ? $0 : nil
        },
        help: "The kinds of event to send, or * for all (default: *)")

    private static let add = Command(
        "webhook", "add", effect: .write,
        summary: "Add an endpoint for an owner's events, and print its secret once",
        discussion: """
            notification.emit() records the events of an owner. Each is sent as a POST signed \
            with the secret (Standard Webhooks), and retried until the endpoint accepts it or it \
            expires. The secret is stored sealed with a key of ERRAND_KEYS_FILE and never \
            shown again: pass it to the receiver.
            """,
        examples: [
            .init(
                "errand webhook add --owner establishment:7 --url https://example.com/hooks",
                "all events of one establishment"),
            .init(
                "errand webhook add --owner app:survey --url https://example.com/hooks --events "
                    + "coupon.redeemed", "only one kind of event"),
        ],
        options: [owner, url, kinds, AuditOptions.reason]
    ) { invocation in
        let keys = try KeySettings.needed(invocation.environment)
        let url = Secret(invocation[url])
        let isOpen = try WebhookChannel.settings(invocation.environment).allowsPrivateAddresses
        guard !WebhookMessage.hasLogin(url.revealed) else {
            throw CommandFailure(
                exit: .usage, message: "--url: expected a URL without user:password@",
                hint: "events are signed: pass the secret that is printed to the receiver")
        }
        guard WebhookMessage.isEndpoint(url.revealed, allowsPlain: isOpen) else {
            // It may be or contain a password: it is not shown.
            throw CommandFailure(
                exit: .usage, message: "--url: expected https://host/… in at most 2000 ASCII bytes",
                hint: "'errand help webhook add' shows an example")
        }
        let owner = invocation[owner]
        guard (1...200).contains(owner.unicodeScalars.count),
            !owner.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw CommandFailure(
                exit: .usage, message: "--owner: expected 1 to 200 characters in one line",
                hint: "use the owner passed to notification.emit(), such as establishment:7")
        }
        let kinds = invocation[kinds].isEmpty ? ["*"] : invocation[kinds]
        let made = try await WebhookFormatting.endpoints(invocation).add(
            owner: owner, url: url, events: Set(kinds).sorted(), keys: keys,
            by: WebhookFormatting.author(invocation))
        guard let endpoint = try await WebhookFormatting.endpoints(invocation).one(made.id) else {
            throw WebhookFormatting.unknown(Int(made.id))
        }
        var record = WebhookFormatting.record(endpoint)
        record.append("secret", .text(made.secret))
        try invocation.output.show(record)
        return .done
    }

    // MARK: ls, show

    private static let ofOwner = Option<String?>.text(
        "owner", placeholder: "OWNER", help: "Only endpoints of this owner")
    private static let failing = Option.flag(
        "failing", help: "Only endpoints that are failing or disabled")

    private static let list = Command(
        "webhook", "ls", effect: .read, summary: "List the endpoints of events",
        discussion: "Shows only the host of a URL; the rest may contain credentials.",
        examples: [
            .init("errand webhook ls --owner establishment:7", "the endpoints of one owner"),
            .init("errand webhook ls --failing", "failing endpoints, and since when"),
        ],
        options: [ofOwner, failing, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let found = try await WebhookFormatting.endpoints(invocation).list(
            owner: invocation[ofOwner], behind: Int64(invocation[PageOptions.cursor] ?? 0),
            limit: invocation[PageOptions.limit])
        let shown = found.filter {
            !invocation[failing] || $0.failingSince != nil || $0.disabledAt != nil
        }
        try invocation.output.list(
            shown.map { WebhookFormatting.record($0) },
            columns: [
                Column("id"), Column("owner"), Column("url"), Column("events"), Column("state"),
                Column("waiting"), Column("failing_since"),
                Column("disabled_reason", title: "REASON", isFlexible: true),
            ], empty: "no endpoints match")
        if found.count == invocation[PageOptions.limit], let last = found.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    private static let show = Command(
        "webhook", "show", effect: .read, summary: "Show one endpoint",
        discussion: "With --reveal, shows the whole URL. The secret is never shown.",
        examples: [
            .init("errand webhook show 7", "its state"),
            .init("errand webhook show 7 --reveal --reason 'ticket 88'", "with the whole URL"),
        ],
        options: RevealOptions.all, arguments: [WebhookFormatting.id]
    ) { invocation in
        let endpoint = try await WebhookFormatting.one(invocation)
        let isRevealed = try await RevealOptions.isGranted(
            invocation, subject: "endpoint \(endpoint.id)")
        try invocation.output.show(WebhookFormatting.record(endpoint, isRevealed: isRevealed))
        return .done
    }

    // MARK: events

    private enum Status: String, CaseIterable, Sendable {
        case pending, delivered, rejected, gone, failed, expired, withdrawn
    }

    private static let endpoint = Option<Int?>.integer(
        "endpoint", range: 1...Int.max, placeholder: "ID", help: "Only events of this endpoint")
    private static let status = Option<Status?>.value(
        "status", .choice(of: Status.self, "STATUS"),
        help: "Only events with this status, such as pending, delivered or failed")

    private static let events = Command(
        "webhook", "events", effect: .read,
        summary: "List deliveries of events, newest first",
        examples: [
            .init("errand webhook events --endpoint 7", "the events and answers of one endpoint"),
            .init("errand webhook events --status failed", "events that were not delivered"),
        ],
        options: [endpoint, status, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let found = try await WebhookFormatting.endpoints(invocation).events(
            endpoint: invocation[endpoint].map(Int64.init), status: invocation[status]?.rawValue,
            before: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            found.map(WebhookFormatting.record),
            columns: [
                Column("id"), Column("endpoint"), Column("kind"), Column("status"),
                Column("attempt"), Column("created_at"), Column("reply", isFlexible: true),
            ], empty: "no events match")
        if found.count == invocation[PageOptions.limit], let last = found.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }
}
