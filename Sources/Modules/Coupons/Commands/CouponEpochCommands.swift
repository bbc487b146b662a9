import ErrandKeys
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand coupon rotate`, `epochs` and `alerts`: code rotation and bursts of guessed codes.
enum CouponEpochCommands {
    static let all = [rotate, epochs, alerts]

    // MARK: rotate

    private static let replace = Option.flag(
        "replace", help: "Replace all secrets after a leak; needs --reason, and asks first")

    private static let rotate = Command(
        "coupon", "rotate", effect: .write,
        summary: "Rotate the codes of all coupons now, as workers do twice a minute",
        discussion: """
            Creates the secrets of future epochs, destroys the secrets of expired codes, and \
            reopens secrets that PostgreSQL lost in a crash. Raises the alerts of wrong codes in \
            transactions that were rolled back. It needs the keys of \(KeySettings.variable), and \
            can run alongside workers.

            --replace invalidates every code shown so far. Apps request new codes at the next \
            rotation.
            """,
        examples: [
            .init("errand coupon rotate", "for cron, if no worker has the keys"),
            .init("errand coupon rotate --replace --reason 'dump was lost'", "after a leak"),
        ],
        options: [replace, AuditOptions.reason]
    ) { invocation in
        let isReplacing = invocation[replace]
        let reason = invocation[AuditOptions.reason]
        guard !isReplacing || reason != nil else {
            throw CommandFailure(
                exit: .usage, message: "--replace needs --reason TEXT",
                hint: "describe the leak: the audit log keeps the reason")
        }
        let keys = try KeySettings.needed(invocation.environment)
        if isReplacing {
            try invocation.confirm(
                "replace all secrets and invalidate every code shown so far?")
        }
        let rotation = Rotation(sealing: keys, log: try invocation.log)
        let line = AuditLine(
            operatorName: invocation.operatorName, action: "coupon rotate",
            subject: isReplacing ? "all codes, replaced" : "all codes", reason: reason)
        let pool = try invocation.pool()
        let result = try await pool.transaction { transaction in
            let result = try await rotation.run(in: transaction, replacing: isReplacing)
            try await transaction.pipeline([line.statement])
            return result
        }
        _ = try await pool.withSession { session in try await GuessAlert.raise(session) }
        try invocation.output.show(
            Record([
                ("result", .text(isReplacing ? "replaced" : "rotated")),
                ("created", .int(result.made)), ("destroyed", .int(result.destroyed)),
                ("opened", .int(result.opened)),
            ]))
        return .done
    }

    // MARK: epochs

    private static let epochs = Command(
        "coupon", "epochs", effect: .read,
        summary: "List the code epochs: when each starts, and how long its codes are valid",
        discussion: """
            Tills accept codes of an epoch until GOOD UNTIL, even after the next epoch has \
            started. OPEN shows whether PostgreSQL has the secret in memory; without it, codes \
            cannot be created or checked. KEY is the key that sealed the secret. No command shows \
            the secrets.
            """,
        examples: [.init("errand coupon epochs", "check that codes rotate")]
    ) { invocation in
        let epochs = try await EpochRecord.list(try invocation.session())
        try invocation.output.list(
            epochs.map { epoch in
                let state: (String, Style) =
                    epoch.isPresent
                    ? ("present", .green) : epoch.isOver ? ("past", .dim) : ("ahead", .cyan)
                return Record([
                    ("series", .text(epoch.series.rawValue)), ("starts_at", epoch.startsAt.cell),
                    ("ends_at", .optional(epoch.endsAt) { $0.cell }),
                    ("good_until", epoch.goodUntil.cell), ("state", .marked(state.0, state.1)),
                    (
                        "is_open",
                        epoch.isOpen
                            ? .flag(true) : .brief(.marked("no", .red), of: .flag(false))
                    ),
                    ("key", .optional(epoch.key) { .text($0) }), ("slot", .int(epoch.slot)),
                ])
            },
            columns: [
                Column("series"), Column("starts_at"), Column("good_until"), Column("state"),
                Column("is_open", title: "OPEN"), Column("key", isFlexible: true),
            ],
            empty: "no epochs: start a worker with \(KeySettings.variable) and the queue "
                + "\(RotateCodes.options.queue), or run 'errand coupon rotate'")
        return .done
    }

    // MARK: alerts

    private static let ofEstablishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "Only alerts of this establishment")
    private static let newer = Option<Duration?>.duration(
        "newer", range: .zero ... .seconds(100 * 365 * 86_400),
        help: "Only alerts newer than this, e.g. 2h or 7d")

    private static let alerts = Command(
        "coupon", "alerts", effect: .read,
        summary: "List bursts of wrong codes, newest first",
        discussion: """
            An alert is an establishment and a period of five minutes in which its wrong codes \
            reached the limit of coupons.guess_limits (default: 30), or 10 of them were in \
            transactions that were rolled back: no honest till does that. TERMINAL is the terminal \
            of the last guess, if it is known. Tills refuse typed codes of a coupon after 10 \
            guesses of it, and at a terminal after 10, for the rest of the period.
            """,
        examples: [.init("errand coupon alerts --newer 1d", "alerts of the last day")],
        options: [ofEstablishment, newer, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let alerts = try await GuessAlert.list(
            try invocation.session(),
            since: invocation[newer].map { Instant.now().adding(.zero - $0) },
            establishment: invocation[ofEstablishment].map(Int64.init),
            before: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            alerts.map { alert in
                Record([
                    ("id", .id(Int(alert.id))), ("at", alert.at.cell),
                    ("establishment", .id(Int(alert.establishmentID))),
                    ("establishment_name", .optional(alert.establishment) { .text($0) }),
                    ("terminal", .optional(alert.terminal) { .text($0) }),
                    ("guesses", .int(alert.guesses)),
                ])
            },
            columns: [
                Column("id"), Column("at"), Column("establishment"),
                Column("establishment_name", title: "NAME", isFlexible: true), Column("terminal"),
                Column("guesses"),
            ], empty: "no alerts match")
        if alerts.count == invocation[PageOptions.limit], let last = alerts.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }
}
