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
        "establishment", range: 1...Int.max, placeholder: "ID", help: "Only coupons for there")
    private static let states = Option<[CouponState]>.list(
        "state", .choice(of: CouponState.self, "STATE"),
        help: "Only coupons that are usable, redeemed, expired, voided or not_yet_valid now")
    private static let expiresBefore = Option<Instant?>.value(
        "expires-before", JobWords.time, help: "Only those that expire before this time")
    private static let expiresAfter = Option<Instant?>.value(
        "expires-after", JobWords.time, help: "Only those that expire at this time or later")
    private static let starred = Option.flag("starred", help: "Only those that people starred")

    private static let list = Command(
        "coupon", "ls", effect: .looks, summary: "List coupons, the newest first",
        discussion: """
            Coupons that are usable or not yet valid, asked for with --expires-before or \
            --expires-after, come in the order in which they expire, unless they are one person's.

            A listing answers at once: where few coupons pass, it ends after 100,000 that it \
            looked through, and a note says where; it goes on from there with --cursor. Codes are \
            not shown: that is what 'errand coupon code' is for.
            """,
        examples: [
            .init("errand coupon ls --person 42", "what somebody has"),
            .init(
                "errand coupon ls --state usable --expires-before 2026-12-01T00:00:00Z",
                "what expires soon, the soonest first"),
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
                exit: .usage, message: "nothing expires before \(before) and after \(after)",
                hint: "--expires-before is to be the later of the two")
        }
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let page = try await CouponRows(session: try invocation.session()).page(filter)
        let empty = page.stoppedAt == nil ? "no coupon passes these filters" : "none so far"
        try invocation.output.list(
            page.coupons.map(CouponWords.record), columns: listed, empty: empty)
        let more = { (id: Int64) in invocation.line(behind: PageOptions.cursor, String(id)) }
        if let stop = page.stoppedAt {
            let count = HumanFormat.count(Int(CouponRows.reach))
            invocation.output.note(
                "looked through \(count) coupons, as far as id \(stop); go on: \(more(stop))")
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
        "coupon", "show", effect: .looks,
        summary: "Show one coupon: its life, its redemption, and what its person was told of it",
        discussion: """
            Notices that are about this coupon alone are listed, the newest first; mails that \
            gather all that expire on a day are not among them. Codes are not shown: that is what \
            'errand coupon code' is for.
            """,
        examples: [.init("errand coupon show 4711", "why a till refuses it")],
        arguments: [CouponWords.id]
    ) { invocation in
        let id = invocation[CouponWords.id]
        let session = try invocation.session()
        guard let found = try await CouponRows(session: session).coupon(Int64(id)) else {
            throw CouponWords.unknown(id)
        }
        var record = CouponWords.record(found.coupon)
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
                ("status", .marked(notice.status, NotificationWords.style(notice.status))),
                ("created_at", notice.createdAt.cell),
                ("reason", .optional(notice.reason) { .text($0) }),
            ])
        }
        if !lines.isEmpty || !invocation.output.isForPeople {
            record.append("notices", .records(lines))
        }
        try invocation.output.show(
            invocation.output.isForPeople ? NotificationWords.shortened(record) : record)
        return .done
    }

    // MARK: void

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The coupons' ids")
    private static let why = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500),
        help: "Why; its person may read it, and it is in the audit"
    ).required()

    private static let void = Command(
        "coupon", "void", effect: .changes, summary: "Make coupons worthless, for good",
        discussion: """
            No code of theirs is taken any more. One that was redeemed stays so (exit 4); one that \
            was voided before keeps its first reason.
            """,
        examples: [.init("errand coupon void 4711 --reason 'printed twice'", "asks first")],
        options: [why], arguments: [ids]
    ) { invocation in
        let ids = Set(invocation[ids]).sorted()
        try invocation.confirm(
            "void coupon\(ids.count == 1 ? "" : "s") "
                + ids.prefix(10).map(String.init).joined(separator: ", ")
                + (ids.count > 10 ? " and \(ids.count - 10) more" : "")
                + ", which cannot be undone?")
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
            throw CouponWords.unknown(Int(first.key))
        }
        throw CommandFailure(
            exit: failed.count < results.count ? .partlyDone : isUnknown ? .notFound : .conflict,
            message: failed.count == 1
                ? "coupon \(first.key) "
                    + (first.value == .unknown ? "is not there" : "was redeemed before")
                : "\(failed.count) of \(results.count) coupons were left as they are",
            hint: "'errand coupon show \(first.key)' tells more")
    }

    // MARK: grant

    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Who gets it"
    ).required()
    private static let establishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID", help: "Where it counts"
    ).required()
    private static let title = Option<String?>.value(
        "title", .line("TEXT", upTo: 200), help: "What it is for, as its person sees it"
    ).required()
    private static let expires = Option<Instant?>.value(
        "expires", JobWords.time, help: "When it expires, such as 2026-12-31T23:00:00Z"
    ).required()
    private static let validFrom = Option<Instant?>.value(
        "valid-from", JobWords.time, help: "Not valid before this time (default: now)")
    private static let origin = Option<String?>.value(
        "origin", .line("NAME", upTo: 100),
        help: "What earned it, such as complaint:88: a person gets one for each (default: a new "
            + "one)")

    private static let grant = Command(
        "coupon", "grant", effect: .changes, summary: "Give somebody a coupon by hand",
        discussion: """
            The same person and --origin again get no second one: the coupon that is there is \
            named, as it was granted.
            """,
        examples: [
            .init(
                """
                errand coupon grant --person 42 --establishment 7 --title 'A coffee' \
                --expires 2026-12-31T23:00:00Z --origin complaint:88
                """, "a coffee for one's trouble")
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
        case .granted(let id): try tell(id, "granted", grant, invocation)
        case .existing(let id):
            try tell(id, "existing", grant, invocation)
            invocation.output.note(
                "person \(grant.personID) was given it before, for the same origin; "
                    + "'errand coupon show \(id)' shows it")
        case .unknownPerson: throw NotificationWords.unknown(person: invocation[person])
        case .unknownEstablishment:
            throw CouponWords.unknown(establishment: invocation[establishment])
        case .expired:
            throw CommandFailure(
                exit: .usage,
                message: "--expires \(grant.expiresAt): the coupon would never be "
                    + "valid", hint: "name a time to come, behind that of --valid-from")
        }
        return .done
    }

    private static func tell(
        _ id: Int64, _ result: String, _ grant: Grant, _ invocation: Invocation
    ) throws {
        try invocation.output.show(
            Record([
                ("id", .id(Int(id))), ("result", .text(result)),
                ("person", .id(Int(grant.personID))), ("origin", .text(grant.origin)),
            ]))
    }
}
