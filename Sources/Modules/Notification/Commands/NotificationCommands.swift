import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand notification …`.
enum NotificationCommands {
    static let all =
        [list, show, trace] + NotificationWhyCommand.all + NotificationPreviewCommand.all
        + [kinds, devices, cancel]

    private static let longest = Duration.seconds(100 * 365 * 86_400)
    private static let ofPerson = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only notices to this person")
    private static let ofKind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "Only notices of this kind")
    private static let statuses = Option<[NoticeStatus]>.list(
        "status", .choice(of: NoticeStatus.self, "STATUS"),
        help: "Only notices of which this became, such as held, sent, dropped or failed")
    private static let older = Option<Duration?>.duration(
        "older", range: .zero...longest, placeholder: "TIME",
        help: "Only those recorded longer ago, such as 2h")
    private static let newer = Option<Duration?>.duration(
        "newer", range: .zero...longest, placeholder: "TIME",
        help: "Only those recorded since then")

    private static let list = Command(
        "notification", "ls", effect: .looks,
        summary: "List notices, the newest first",
        discussion: """
            A listing answers at once: where few notices pass, it ends after 20,000 ids that it \
            looked through, and a note says where; it goes on from there with --cursor. Of those \
            that were held or not told (held, refused, expired, failed, withdrawn) only such are \
            looked through, and of a person's all. --newer and --older trust ids to follow the \
            times, give or take ten thousand notices.
            """,
        examples: [
            .init("errand notification ls --person 42", "what one person was told, or not"),
            .init("errand notification ls --status failed --newer 1d", "what reached nobody"),
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
        let empty = page.stoppedAt == nil ? "no notice passes these filters" : "none so far"
        try invocation.output.list(
            page.notices.map(NotificationWords.record), columns: listed, empty: empty)
        if let stop = page.stoppedAt {
            let line = invocation.line(behind: PageOptions.cursor, String(stop))
            invocation.output.note("looked through all notices down to id \(stop); go on: \(line)")
        } else {
            PageOptions.tellMore(
                invocation, count: page.notices.count, last: page.notices.last?.id)
        }
        return .done
    }

    private static let listed = [
        Column("id"), Column("person"), Column("kind"), Column("subject"), Column("status"),
        Column("created_at"), Column("reason", isFlexible: true),
    ]

    private static let show = Command(
        "notification", "show", effect: .looks, summary: "Show one notice",
        discussion: "'errand notification trace ID' tells its story.",
        examples: [
            .init("errand notification show 4711", "what became of it"),
            .init(
                "errand notification show 4711 --reveal --reason 'ticket 88'",
                "also its facts and the person's address"),
        ],
        options: RevealOptions.all, arguments: [NotificationWords.id]
    ) { invocation in
        let id = invocation[NotificationWords.id]
        let isRevealed = try await RevealOptions.isGranted(invocation, subject: "notice \(id)")
        let rows = NoticeRows(session: try invocation.session())
        guard let notice = try await rows.notice(Int64(id)) else {
            throw NotificationWords.unknown(id)
        }
        var record = NotificationWords.record(notice)
        let personal = isRevealed ? try await rows.personal(notice.id) : nil
        record.append("data", personal.map { .json($0.data) } ?? .text("[redacted]"))
        record.append(
            "email", personal.map { .optional($0.email) { .text($0) } } ?? .text("[redacted]"))
        try invocation.output.show(
            invocation.output.isForPeople ? NotificationWords.shortened(record) : record)
        return .done
    }

    private static let trace = Command(
        "notification", "trace", effect: .looks,
        summary: "Tell the story of one notice, from the event to the provider's answer",
        discussion: """
            When it was recorded, held, merged, decided and why, each delivery with its device, \
            its attempts and the provider's answer, and how it ended.
            """,
        examples: [.init("errand notification trace 4711", "why somebody was told nothing")],
        arguments: [NotificationWords.id]
    ) { invocation in
        let id = invocation[NotificationWords.id]
        guard let story = try await NotificationWords.notices(invocation).story(Int64(id)) else {
            throw NotificationWords.unknown(id)
        }
        var record = NotificationWords.record(story.notice)
        if invocation.output.isForPeople {
            // The story tells the others.
            let head = ["id", "person", "kind", "subject", "status", "told_by", "dedupe_key"]
            record.fields.removeAll { !head.contains($0.name) }
        } else {
            record.append("deliveries", .records(story.deliveries.map(Self.record)))
        }
        record.append(
            "story",
            .records(
                story.steps.map { step in
                    Record([
                        ("at", .optional(step.at) { $0.cell }), ("text", .text(step.text)),
                    ])
                }))
        try invocation.output.show(record)
        return .done
    }

    private static func record(_ delivery: NoticeStory.Delivery) -> Record {
        Record([
            ("id", .id(Int(delivery.id))), ("provider", .text(delivery.provider)),
            ("device", .optional(delivery.deviceID) { .id(Int($0)) }),
            ("status", .marked(delivery.status, NotificationWords.style(delivery.status))),
            ("attempt", .int(delivery.attempts)),
            ("reply", .optional(delivery.reply) { .text($0) }),
            ("created_at", delivery.createdAt.cell),
            ("ended_at", .optional(delivery.answeredAt) { $0.cell }),
        ])
    }

    // MARK: kinds

    private static let kinds = Command(
        "notification", "kinds", effect: .looks,
        summary: "List the kinds of notice that this program knows",
        discussion: "Needs no server.",
        examples: [.init("errand notification kinds", "what people can be told")]
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
            ("facts", .list(kind.fields.sorted { $0.key < $1.key }.map { "\($0):\($1)" })),
        ])
    }

    // MARK: devices

    private static let whose = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Whose devices"
    ).required()

    private static let devices = Command(
        "notification", "devices", effect: .looks,
        summary: "List the devices of a person, the newest first",
        discussion: "Of a token nobody sees more than the last four characters.",
        examples: [.init("errand notification devices --person 42", "why no push arrives")],
        options: [whose]
    ) { invocation in
        let person = invocation[whose]
        let rows = NoticeRows(session: try invocation.session())
        guard let devices = try await rows.devices(of: Int64(person)) else {
            throw NotificationWords.unknown(person: person)
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
        "notification", "cancel", effect: .changes,
        summary: "Take back notices that nobody was told yet",
        discussion: """
            What is intended, held or on its way becomes withdrawn, with its deliveries and what \
            is unread in the inbox. What a provider is taking at this moment may still arrive; \
            where one way had led to the person before, only the others are withdrawn.
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
        let why = first.value == .unknown ? "there is no such notice" : "it has ended"
        throw CommandFailure(
            exit: failed.count < sorted.count ? .partlyDone : isUnknown ? .notFound : .conflict,
            message: failed.count == 1
                ? "notice \(first.key): \(why)"
                : "\(failed.count) of \(sorted.count) notices were left as they are",
            hint: isUnknown
                ? "'errand notification ls' lists what there is"
                : "'errand notification trace ID' tells how one ended")
    }
}
