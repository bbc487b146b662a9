import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand notification …`.
enum NotificationCommands {
    static let all =
        [list, show, trace] + NotificationWhyCommand.all + NotificationPreviewCommand.all
        + [kinds, devices] + DirectMailCommand.all + [cancel]

    private static let longest = Duration.seconds(100 * 365 * 86_400)
    private static let ofPerson = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only notices to this person")
    private static let ofKind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "Only notices of this kind")
    private static let statuses = Option<[NoticeStatus]>.list(
        "status", .choice(of: NoticeStatus.self, "STATUS"),
        help: "Only notices with this status, such as held, sent, dropped or failed")
    private static let older = Option<Duration?>.duration(
        "older", range: .zero...longest, placeholder: "TIME",
        help: "Only notices recorded more than TIME ago, such as 2h")
    private static let newer = Option<Duration?>.duration(
        "newer", range: .zero...longest, placeholder: "TIME",
        help: "Only notices recorded less than TIME ago")

    private static let list = Command(
        "notification", "ls", effect: .read,
        summary: "List notices, newest first",
        discussion: """
            A page reads at most 20,000 ids. If few notices match, it stops early and prints the \
            command that continues from there. Indexes serve --person and the statuses held, \
            refused, expired, failed and withdrawn. --newer and --older assume that ids grow with \
            time, within ten thousand notices.
            """,
        examples: [
            .init("errand notification ls --person 42", "all notices to one person"),
            .init("errand notification ls --status failed --newer 1d", "failed within a day"),
        ],
        options: [
            ofPerson, ofKind, statuses, newer, older, PageOptions.limit, PageOptions.cursor,
        ]
    ) { invocation in
        var filter = NoticeFilter()
        let now = Instant.now()
        filter.personID = invocation[ofPerson].map(Int64.init)
        filter.kind = invocation[ofKind]
        filter.statuses = invocation[statuses].isEmpty ? nil : invocation[statuses]
        filter.until = invocation[older].map { now.adding(.zero - $0) }
        filter.since = invocation[newer].map { now.adding(.zero - $0) }
        filter.before = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let page = try await NoticeRows(session: try invocation.session()).page(filter)
        let empty = page.stoppedAt == nil ? "no notices match" : "no match so far"
        try invocation.output.list(
            page.notices.map(NotificationFormatting.record), columns: listed, empty: empty)
        if let stop = page.stoppedAt {
            let line = invocation.line(behind: PageOptions.cursor, String(stop))
            invocation.output.note("stopped early, at id \(stop); continue: \(line)")
        } else {
            PageOptions.printMore(
                invocation, count: page.notices.count, last: page.notices.last?.id)
        }
        return .done
    }

    private static let listed = [
        Column("id"), Column("person"), Column("kind"), Column("subject"), Column("status"),
        Column("created_at"), Column("reason", isFlexible: true),
    ]

    private static let show = Command(
        "notification", "show", effect: .read, summary: "Show one notice",
        discussion: "'errand notification trace ID' shows its history.",
        examples: [
            .init("errand notification show 4711", "its status and the reason"),
            .init(
                "errand notification show 4711 --reveal --reason 'ticket 88'",
                "also its facts and the person's address"),
        ],
        options: RevealOptions.all, arguments: [NotificationFormatting.id]
    ) { invocation in
        let id = invocation[NotificationFormatting.id]
        let isRevealed = try await RevealOptions.isGranted(invocation, subject: "notice \(id)")
        let rows = NoticeRows(session: try invocation.session())
        guard let notice = try await rows.notice(Int64(id)) else {
            throw NotificationFormatting.unknown(id)
        }
        var record = NotificationFormatting.record(notice)
        let personal = isRevealed ? try await rows.personal(notice.id) : nil
        record.append("data", personal.map { .json($0.data) } ?? .text("[redacted]"))
        record.append(
            "email", personal.map { .optional($0.email) { .text($0) } } ?? .text("[redacted]"))
        try invocation.output.show(
            invocation.output.isForPeople ? NotificationFormatting.shortened(record) : record)
        return .done
    }

    private static let trace = Command(
        "notification", "trace", effect: .read,
        summary: "Show the history of one notice, from the event to the provider's answer",
        discussion: """
            Shows when and why it was recorded, held, merged and decided, each delivery with its \
            device, its attempts and the provider's answer, and the result.
            """,
        examples: [.init("errand notification trace 4711", "why a notice did not arrive")],
        arguments: [NotificationFormatting.id]
    ) { invocation in
        let id = invocation[NotificationFormatting.id]
        guard let history = try await NotificationFormatting.notices(invocation).history(Int64(id))
        else {
            throw NotificationFormatting.unknown(id)
        }
        var record = NotificationFormatting.record(history.notice)
        if invocation.output.isForPeople {
            // The history has the other fields.
            let head = ["id", "person", "kind", "subject", "status", "decided_by", "dedupe_key"]
            record.fields.removeAll { !head.contains($0.name) }
        } else {
            record.append("deliveries", .records(history.deliveries.map(Self.record)))
        }
        record.append(
            "history",
            .records(
                history.steps.map { step in
                    Record([
                        ("at", .optional(step.at) { $0.cell }), ("text", .text(step.text)),
                    ])
                }))
        try invocation.output.show(record)
        return .done
    }

    private static func record(_ delivery: NoticeHistory.Delivery) -> Record {
        Record([
            ("id", .id(Int(delivery.id))), ("provider", .text(delivery.provider)),
            ("device", .optional(delivery.deviceID) { .id(Int($0)) }),
            ("status", .marked(delivery.status, NotificationFormatting.style(delivery.status))),
            ("attempt", .int(delivery.attempts)),
            ("reply", .optional(delivery.reply) { .text($0) }),
            ("created_at", delivery.createdAt.cell),
            ("ended_at", .optional(delivery.answeredAt) { $0.cell }),
        ])
    }

    // MARK: kinds

    private static let kinds = Command(
        "notification", "kinds", effect: .read,
        summary: "List the kinds of notice that this program knows",
        discussion: "Requires no server.",
        examples: [.init("errand notification kinds", "all kinds, with their facts")]
    ) { invocation in
        let kinds = try NoticeCatalogue.of(
            invocation.modules.all, environment: invocation.environment
        ).kinds.values
        try invocation.output.list(
            kinds.sorted { $0.name < $1.name }.map(Self.record),
            columns: [
                Column("kind"), Column("app"), Column("urgency"), Column("channels"),
                Column("timing"), Column("cooldown"), Column("facts", isFlexible: true),
            ])
        return .done
    }

    private static func record(_ kind: NoticeKind) -> Record {
        Record([
            ("kind", .text(kind.name)), ("app", .text(kind.app.name)),
            ("urgency", .text(kind.urgency.rawValue)),
            ("channels", .list(kind.channels.map(\.rawValue))),
            ("timing", .text(kind.timing == .soon ? "soon" : "own time")),
            ("cooldown", .optional(kind.cooldown) { .duration($0) }),
            ("is_digested", .flag(kind.mergesHeld)),
            ("needs_location", .flag(kind.needsLocationConsent)),
            (
                "facts",
                .list(
                    kind.fields.sorted { $0.key < $1.key }.map { name, type in
                        "\(name):\(type)\(kind.secrets.contains(name) ? ":secret" : "")"
                    })
            ),
        ])
    }

    // MARK: devices

    private static let whose = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "The owner of the devices"
    ).required()

    private static let devices = Command(
        "notification", "devices", effect: .read,
        summary: "List the devices of a person, newest first",
        discussion: "Shows at most the last four characters of a token.",
        examples: [.init("errand notification devices --person 42", "why no push arrives")],
        options: [whose]
    ) { invocation in
        let person = invocation[whose]
        let rows = NoticeRows(session: try invocation.session())
        guard let devices = try await rows.devices(of: Int64(person)) else {
            throw NotificationFormatting.unknown(person: person)
        }
        try invocation.output.list(
            devices.map { device in
                Record([
                    ("id", .id(Int(device.id))), ("person", .id(person)),
                    ("app", .text(device.app)), ("platform", .text(device.platform)),
                    ("environment", .text(device.environment)), ("topic", .text(device.topic)),
                    ("token_end", .text(device.tokenEnd)),
                    ("registered_at", device.registeredAt.cell),
                    ("disabled_at", .optional(device.disabledAt) { $0.cell }),
                    ("disabled_reason", .optional(device.disabledReason) { .text($0) }),
                ])
            },
            columns: [
                Column("id"), Column("app"), Column("platform"),
                Column("token_end", title: "TOKEN"),
                Column("registered_at"), Column("disabled_at"),
                Column("disabled_reason", title: "REASON", isFlexible: true),
            ], empty: "person \(person) has no device")
        return .done
    }

    // MARK: cancel

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The notices' ids")

    private static let cancel = Command(
        "notification", "cancel", effect: .write,
        summary: "Withdraw notices that have not been sent",
        discussion: """
            Withdraws intended, held and pending notices, with their pending deliveries and \
            unread inbox items. A message that is being sent may still arrive. If one channel \
            has already reached the person, only the other deliveries are withdrawn.
            """,
        examples: [
            .init("errand notification cancel 4711 --reason 'wrong date'", "before it is sent")
        ],
        options: [AuditOptions.reason], arguments: [ids]
    ) { invocation in
        let rows = NoticeRows(session: try invocation.session())
        let results = try await rows.withdraw(
            invocation[ids].map(Int64.init), by: invocation.operatorName,
            reason: invocation[AuditOptions.reason], now: Date())
        let sorted = results.sorted { $0.key < $1.key }
        try invocation.output.list(
            sorted.map { id, result in
                Record([("id", .id(Int(id))), ("result", .text(result.rawValue))])
            })
        let failed = sorted.filter { $0.value == .unknown || $0.value == .ended }
        guard let first = failed.first else { return .done }
        let isUnknown = failed.allSatisfy { $0.value == .unknown }
        let why = first.value == .unknown ? "it does not exist" : "it has ended"
        throw CommandFailure(
            exit: failed.count < sorted.count ? .partlyDone : isUnknown ? .notFound : .conflict,
            message: failed.count == 1
                ? "notice \(first.key): \(why)"
                : "\(failed.count) of \(sorted.count) notices were not changed",
            hint: isUnknown
                ? "'errand notification ls' lists the notices"
                : "'errand notification trace ID' shows how one ended")
    }
}
