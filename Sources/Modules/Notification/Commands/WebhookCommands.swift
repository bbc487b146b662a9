import ErrandKeys
import ErrandCrypto
import ErrandDelivery
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand webhook …`: where events go.
enum WebhookCommands {
    static let all = [add, list, show, events] + WebhookChangeCommands.all

    // MARK: add

    private static let owner = Option<String?>.text(
        "owner", placeholder: "OWNER", help: "Whose events it gets, such as establishment:7"
    ).required()
    private static let url = Option<String?>.text(
        "url", placeholder: "URL", help: "Where they go: https://…"
    ).required()
    private static let kinds = Option<[String]>.list(
        "events",
        ValueFormat("KIND", expected: "a kind of event such as coupon.redeemed, or *") {
            $0 == "*" || JobKinds.isName($0, limit: 100) ? $0 : nil
        },
        help: "The kinds of event that it wants, or * for all (default: *)")

    private static let add = Command(
        "webhook", "add", effect: .changes,
        summary: "Let an owner's events go to a URL; prints its secret, once",
        discussion: """
            Events are those that notification.emit() tells for this owner. Each goes as a POST \
            that is signed by the secret (Standard Webhooks), and is tried again until it is \
            taken or expires. The secret is kept sealed, by a key of ERRAND_KEYS_FILE, and is \
            shown nowhere again: give it to those who receive the events.
            """,
        examples: [
            .init(
                "errand webhook add --owner establishment:7 --url https://example.com/hooks",
                "all events of one establishment"),
            .init(
                "errand webhook add --owner app:survey --url https://example.com/hooks --events "
                    + "coupon.redeemed", "only such events"),
        ],
        options: [owner, url, kinds, AuditOptions.reason]
    ) { invocation in
        let keys = try KeySettings.needed(invocation.environment)
        let url = Secret(invocation[url])
        let isOpen = try WebhookChannel.settings(invocation.environment).allowsPrivateAddresses
        guard WebhookMessage.isEndpoint(url.revealed, allowsPlain: isOpen) else {
            // It may hold a password, or be one: it is not shown.
            throw CommandFailure(
                exit: .usage, message: "--url: expected https://host/… in at most 2000 ASCII bytes",
                hint: "'errand help webhook add' has an example")
        }
        let owner = invocation[owner]
        guard (1...200).contains(owner.unicodeScalars.count),
            !owner.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw CommandFailure(
                exit: .usage, message: "--owner: expected 1 to 200 characters in one line",
                hint: "the name by which notification.emit() is called, such as establishment:7")
        }
        let kinds = invocation[kinds].isEmpty ? ["*"] : invocation[kinds]
        let made = try await WebhookWords.endpoints(invocation).add(
            owner: owner, url: url, events: Set(kinds).sorted(), keys: keys,
            by: WebhookWords.author(invocation))
        guard let endpoint = try await WebhookWords.endpoints(invocation).one(made.id) else {
            throw WebhookWords.unknown(Int(made.id))
        }
        var record = WebhookWords.record(endpoint)
        record.append("secret", .text(made.secret))
        try invocation.output.show(record)
        return .done
    }

    // MARK: ls, show

    private static let ofOwner = Option<String?>.text(
        "owner", placeholder: "OWNER", help: "Only endpoints of this owner")
    private static let failing = Option.flag(
        "failing", help: "Only those that take nothing now or are disabled")

    private static let list = Command(
        "webhook", "ls", effect: .looks, summary: "List the endpoints that events go to",
        discussion: "Of a URL it shows the host; the rest may hold credentials.",
        examples: [
            .init("errand webhook ls --owner establishment:7", "where its events go"),
            .init("errand webhook ls --failing", "who takes nothing, and since when"),
        ],
        options: [ofOwner, failing, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let found = try await WebhookWords.endpoints(invocation).list(
            owner: invocation[ofOwner], behind: Int64(invocation[PageOptions.cursor] ?? 0),
            limit: invocation[PageOptions.limit])
        let shown = found.filter {
            !invocation[failing] || $0.failingSince != nil || $0.disabledAt != nil
        }
        try invocation.output.list(
            shown.map { WebhookWords.record($0) },
            columns: [
                Column("id"), Column("owner"), Column("url"), Column("events"), Column("state"),
                Column("waiting"), Column("failing_since"),
                Column("disabled_reason", title: "REASON", isFlexible: true),
            ], empty: "no endpoint passes these filters")
        if found.count == invocation[PageOptions.limit], let last = found.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    private static let show = Command(
        "webhook", "show", effect: .looks, summary: "Show one endpoint",
        discussion: "With --reveal also its whole URL; its secret is shown by nothing.",
        examples: [
            .init("errand webhook show 7", "how it stands"),
            .init("errand webhook show 7 --reveal --reason 'ticket 88'", "also where it is"),
        ],
        options: RevealOptions.all, arguments: [WebhookWords.id]
    ) { invocation in
        let endpoint = try await WebhookWords.one(invocation)
        let isRevealed = try await RevealOptions.isGranted(
            invocation, subject: "endpoint \(endpoint.id)")
        try invocation.output.show(WebhookWords.record(endpoint, isRevealed: isRevealed))
        return .done
    }

    // MARK: events

    private enum Status: String, CaseIterable, Sendable {
        case pending, delivered, rejected, gone, failed, expired, withdrawn
    }

    private static let endpoint = Option<Int?>.integer(
        "endpoint", range: 1...Int.max, placeholder: "ID", help: "Only what goes to this endpoint")
    private static let status = Option<Status?>.value(
        "status", .choice(of: Status.self, "STATUS"),
        help: "Only those of which this became, such as pending, delivered or failed")

    private static let events = Command(
        "webhook", "events", effect: .looks,
        summary: "List events on their way to endpoints, the newest first",
        examples: [
            .init("errand webhook events --endpoint 7", "what one endpoint got, and its answers"),
            .init("errand webhook events --status failed", "what reached nobody"),
        ],
        options: [endpoint, status, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let found = try await WebhookWords.endpoints(invocation).events(
            endpoint: invocation[endpoint].map(Int64.init), status: invocation[status]?.rawValue,
            before: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            found.map(WebhookWords.record),
            columns: [
                Column("id"), Column("endpoint"), Column("kind"), Column("status"),
                Column("attempt"), Column("created_at"), Column("reply", isFlexible: true),
            ], empty: "no event passes these filters")
        if found.count == invocation[PageOptions.limit], let last = found.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }
}
