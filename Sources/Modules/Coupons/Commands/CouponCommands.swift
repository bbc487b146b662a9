import FoundationEssentials
import Errand
import ErrandCommand
import ErrandNotification
import ErrandPostgres
import ErrandTerminal

/// `errand coupon …`.
enum CouponCommands {
    static let all =
        [list, show] + CouponCodeCommands.all + CouponTillCommands.all + [grant, void]
        + CouponEpochCommands.all

    // MARK: ls

    private static let ofPerson = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only this person's coupons")
    private static let ofEstablishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "Only this establishment's coupons")
    private static let states = Option<[CouponState]>.list(
        "state", .choice(of: CouponState.self, "STATE"),
        help: "Only coupons in this state: usable, redeemed, expired, voided or not_yet_valid")
    private static let expiresBefore = Option<Instant?>.value(
        "expires-before", JobInputOptions.time, help: "Only coupons that expire before this time")
    private static let expiresAfter = Option<Instant?>.value(
        "expires-after", JobInputOptions.time,
        help: "Only coupons that expire at or after this time")
    private static let starred = Option.flag("starred", help: "Only starred coupons")

    private static let list = Command(
        "coupon", "ls", effect: .read, summary: "List coupons, newest first",
        discussion: """
            With --expires-before or --expires-after, coupons in the states usable and \
            not_yet_valid are sorted by expiry, unless --person is given.

            A search scans at most 100,000 coupons. A note shows the id at which it stopped; \
            --cursor continues from there. The listing has no codes: 'errand coupon code' shows \
            them.
            """,
        examples: [
            .init("errand coupon ls --person 42", "the coupons of one person"),
            .init(
                "errand coupon ls --state usable --expires-before 2026-12-01T00:00:00Z",
                "coupons that expire soon, earliest first"),
        ],
        options: [
            ofPerson, ofEstablishment, states, expiresBefore, expiresAfter, starred,
            PageOptions.limit, PageOptions.cursor,
        ]
    ) { invocation in
        var filter = CouponFilter()
        filter.personID = invocation[ofPerson].map(Int64.init)
        filter.establishmentID = invocation[ofEstablishment].map(Int64.init)
        filter.states = invocation[states].isEmpty ? nil : invocation[states]
        filter.isStarred = invocation[starred]
        filter.expiresBefore = invocation[expiresBefore]
        filter.expiresFrom = invocation[expiresAfter]
        if let before = filter.expiresBefore, let after = filter.expiresFrom, before <= after {
            throw CommandFailure(
                exit: .usage, message: "no coupon expires before \(before) and after \(after)",
                hint: "--expires-before must be later than --expires-after")
        }
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let page = try await CouponRows(session: try invocation.session()).page(filter)
        let empty = page.stoppedAt == nil ? "no coupons match" : "no matches so far"
        try invocation.output.list(
            page.coupons.map(CouponFormatting.record), columns: listed, empty: empty)
        let more = { (id: Int64) in invocation.line(behind: PageOptions.cursor, String(id)) }
        if let stop = page.stoppedAt {
            let count = HumanFormat.count(Int(CouponRows.reach))
            invocation.output.note(
                "stopped after \(count) coupons, at id \(stop); continue: \(more(stop))")
        } else if page.coupons.count == filter.limit, let last = page.coupons.last {
            invocation.output.note("more: \(more(last.id))")
        }
        return .done
    }

    private static let listed = [
        Column("id"), Column("person"), Column("establishment_name", title: "ESTABLISHMENT"),
        Column("title", isFlexible: true), Column("state"), Column("expires_at"),
    ]

    // MARK: show

    private static let shownNotices = 50

    private static let show = Command(
        "coupon", "show", effect: .read,
        summary: "Show one coupon, its redemption and its notices",
        discussion: """
            The notices are those about this coupon alone, newest first. Mails that list all \
            coupons expiring on a day are not included. Codes are not shown: 'errand coupon code' \
            shows them.
            """,
        examples: [.init("errand coupon show 4711", "why a till refuses it")],
        arguments: [CouponFormatting.id]
    ) { invocation in
        let id = invocation[CouponFormatting.id]
        let session = try invocation.session()
        guard let found = try await CouponRows(session: session).coupon(Int64(id)) else {
            throw CouponFormatting.unknown(id)
        }
        var record = CouponFormatting.record(found.coupon)
        record.append("confirmation", .optional(found.redemption) { .text($0.confirmation) })
        record.append("terminal", .optional(found.redemption) { .text($0.terminal) })
        record.append("request_id", .optional(found.redemption) { .text($0.requestID) })
        var filter = NoticeFilter()
        filter.personID = found.coupon.personID
        filter.subject = "coupon:\(id)"
        filter.limit = shownNotices
        let notices = try await NoticeRows(session: session).page(filter).notices
        let lines = notices.map { notice in
            Record([
                ("id", .id(Int(notice.id))), ("kind", .text(notice.kind)),
                ("status", .marked(notice.status, NotificationFormatting.style(notice.status))),
                ("created_at", notice.createdAt.cell),
                ("reason", .optional(notice.reason) { .text($0) }),
            ])
        }
        if !lines.isEmpty || !invocation.output.isForPeople {
            record.append("notices", .records(lines))
        }
        try invocation.output.show(
            invocation.output.isForPeople ? NotificationFormatting.shortened(record) : record)
        return .done
    }

    // MARK: void

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The coupons' ids")
    private static let why = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500),
        help: "Reason, visible to the person and in the audit log"
    ).required()

    private static let void = Command(
        "coupon", "void", effect: .write, summary: "Void coupons permanently",
        discussion: """
            Tills refuse every code of a voided coupon. A redeemed coupon stays redeemed (exit 4). \
            A coupon that is already voided keeps its first reason.
            """,
        examples: [.init("errand coupon void 4711 --reason 'printed twice'", "asks first")],
        options: [why], arguments: [ids]
    ) { invocation in
        let ids = Set(invocation[ids]).sorted()
        try invocation.confirm(
            "void coupon\(ids.count == 1 ? "" : "s") "
                + ids.prefix(10).map(String.init).joined(separator: ", ")
                + (ids.count > 10 ? " and \(ids.count - 10) more" : "")
                + " permanently?")
        let rows = CouponRows(session: try invocation.session())
        let results = try await rows.void(
            ids.map(Int64.init), by: invocation.operatorName, reason: invocation[why]
        ).sorted { $0.key < $1.key }
        try invocation.output.list(
            results.map { id, result in
                Record([("id", .id(Int(id))), ("result", .text(result.rawValue))])
            })
        let failed = results.filter { $0.value == .unknown || $0.value == .redeemed }
        guard let first = failed.first else { return .done }
        let isUnknown = failed.allSatisfy { $0.value == .unknown }
        if failed.count == 1, isUnknown, results.count == 1 {
            throw CouponFormatting.unknown(Int(first.key))
        }
        throw CommandFailure(
            exit: failed.count < results.count ? .partlyDone : isUnknown ? .notFound : .conflict,
            message: failed.count == 1
                ? "coupon \(first.key) "
                    + (first.value == .unknown ? "does not exist" : "was already redeemed")
                : "\(failed.count) of \(results.count) coupons were not voided",
            hint: "'errand coupon show \(first.key)' shows the details")
    }

    // MARK: grant

    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "The person who gets the coupon"
    ).required()
    private static let establishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "The establishment that accepts the coupon"
    ).required()
    private static let title = Option<String?>.value(
        "title", .line("TEXT", upTo: 200), help: "Title of the coupon, shown to the person"
    ).required()
    private static let expires = Option<Instant?>.value(
        "expires", JobInputOptions.time, help: "Expiry time, such as 2026-12-31T23:00:00Z"
    ).required()
    private static let validFrom = Option<Instant?>.value(
        "valid-from", JobInputOptions.time, help: "Not valid before this time (default: now)")
    private static let origin = Option<String?>.value(
        "origin", .line("NAME", upTo: 100),
        help: "Reason for the grant, such as complaint:88; a person gets one coupon per origin "
            + "(default: a new origin)")

    private static let grant = Command(
        "coupon", "grant", effect: .write, summary: "Grant a coupon to a person",
        discussion: """
            Granting is idempotent by person and --origin: a repeated grant prints the existing \
            coupon. The same --origin with other values is a conflict (exit code 4). People who \
            are under 16, of unknown age or blocked are refused (exit code 5).
            """,
        examples: [
            .init(
                """
                errand coupon grant --person 42 --establishment 7 --title 'A coffee' \
                --expires 2026-12-31T23:00:00Z --origin complaint:88
                """, "a free coffee after a complaint")
        ],
        options: [
            person, establishment, title, expires, validFrom, origin, AuditOptions.reason,
        ]
    ) { invocation in
        let grant = Grant(
            personID: Int64(invocation[person]), establishmentID: Int64(invocation[establishment]),
            title: invocation[title], expiresAt: invocation[expires],
            origin: invocation[origin] ?? "hand:" + UUID().uuidString.lowercased(),
            validFrom: invocation[validFrom])
        let result = try await grant.run(by: try invocation.session()) { id in
            AuditLine(
                operatorName: invocation.operatorName, action: "coupon grant",
                subject: "coupon \(id)", reason: invocation[AuditOptions.reason],
                change: try? AuditLine.json([
                    "person": String(grant.personID),
                    "establishment": String(grant.establishmentID), "origin": grant.origin,
                ]))
        }
        switch result {
        case .granted(let id): try notify(id, "granted", grant, invocation)
        case .existing(let id):
            try notify(id, "existing", grant, invocation)
            invocation.output.note(
                "person \(grant.personID) already has a coupon of this origin; "
                    + "'errand coupon show \(id)' shows it")
        case .unknownPerson: throw NotificationFormatting.unknown(person: invocation[person])
        case .unknownEstablishment:
            throw CouponFormatting.unknown(establishment: invocation[establishment])
        case .expired:
            throw CommandFailure(
                exit: .usage,
                message: "--expires \(grant.expiresAt): the coupon would never be "
                    + "valid", hint: "give a future time after --valid-from")
        case .conflict(let id, let words):
            throw CommandFailure(
                exit: .conflict, message: words,
                hint: "'errand coupon show \(id)' shows it; another coupon needs another --origin")
        case .refused(let words, let hint):
            throw CommandFailure(exit: .refused, message: words, hint: hint)
        }
        return .done
    }

    private static func notify(
        _ id: Int64, _ result: String, _ grant: Grant, _ invocation: Invocation
    ) throws {
        try invocation.output.show(
            Record([
                ("id", .id(Int(id))), ("result", .text(result)),
                ("person", .id(Int(grant.personID))), ("origin", .text(grant.origin)),
            ]))
    }
}
