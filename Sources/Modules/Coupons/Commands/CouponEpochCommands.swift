import ErrandKeys
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand coupon rotate`, `epochs` and `alerts`: what keeps codes turning, and who guesses them.
enum CouponEpochCommands {
    static let all = [rotate, epochs, alerts]

    // MARK: rotate

    private static let replace = Option.flag(
        "replace", help: "Destroy all secrets, after a leak: needs --reason, and asks")

    private static let rotate = Command(
        "coupon", "rotate", effect: .changes,
        summary: "Turn the codes of all coupons now, as workers do twice a minute",
        discussion: """
            Makes the secrets of epochs to come, destroys those whose codes are good no more, and \
            opens those that a crash of PostgreSQL has taken from its memory. It needs the keys \
            that \(KeySettings.variable) names, and does no harm beside workers.

            With --replace no code that was ever shown is good any more: apps have to ask for new \
            ones, which they do when a code turns.
            """,
        examples: [
            .init("errand coupon rotate", "for cron, where no worker has the keys"),
            .init("errand coupon rotate --replace --reason 'dump was lost'", "after a leak"),
        ],
        options: [replace, AuditOptions.reason]
    ) { invocation in
        let isReplacing = invocation[replace]
        let reason = invocation[AuditOptions.reason]
        guard !isReplacing || reason != nil else {
            throw CommandFailure(
                exit: .usage, message: "--replace needs --reason TEXT",
                hint: "say what has leaked: it stays in the audit")
        }
        let keys = try KeySettings.needed(invocation.environment)
        if isReplacing {
            try invocation.confirm(
                "destroy the secrets of all codes, so that none that was shown is good any more?")
        }
        let rotation = Rotation(sealing: keys, log: try invocation.log)
        let line = AuditLine(
            operatorName: invocation.operatorName, action: "coupon rotate",
            subject: isReplacing ? "all codes, replaced" : "all codes", reason: reason)
        let result = try await invocation.pool().transaction { transaction in
            let result = try await rotation.run(in: transaction, replacing: isReplacing)
            try await transaction.pipeline([line.statement])
            return result
        }
        try invocation.output.show(
            Record([
                ("result", .text(isReplacing ? "replaced" : "rotated")),
                ("made", .int(result.made)), ("destroyed", .int(result.destroyed)),
                ("opened", .int(result.opened)),
            ]))
        return .done
    }

    // MARK: epochs

    private static let epochs = Command(
        "coupon", "epochs", effect: .looks,
        summary: "List the epochs of the codes: when each starts, and until when it is good",
        discussion: """
            Codes of an epoch are taken until GOOD UNTIL, though the next one has started. OPEN \
            says whether PostgreSQL has its secret in memory, without which no code can be made or \
            checked; KEY is the key that has sealed it. The secrets themselves nobody is shown.
            """,
        examples: [.init("errand coupon epochs", "whether codes turn")]
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
            empty: "there are none: no worker with \(KeySettings.variable) and the queue "
                + "\(RotateCodes.options.queue) was there yet, nor 'errand coupon rotate'")
        return .done
    }

    // MARK: alerts

    private static let ofEstablishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID", help: "Only those there")
    private static let newer = Option<Duration?>.duration(
        "newer", range: .zero ... .seconds(100 * 365 * 86_400),
        help: "Only those of the last 2h, 7d or so")

    private static let alerts = Command(
        "coupon", "alerts", effect: .looks,
        summary: "List bursts of wrong codes, the newest first",
        discussion: """
            One for an establishment and five minutes in which it sent as many wrong codes as \
            coupons.guess_limits says (30, unless it was changed). TERMINAL is the one that \
            guessed last; after 10 guesses a terminal is locked until the five minutes are over.
            """,
        examples: [.init("errand coupon alerts --newer 1d", "who guesses codes")],
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
                    ("terminal", .text(alert.terminal)), ("guesses", .int(alert.guesses)),
                ])
            },
            columns: [
                Column("id"), Column("at"), Column("establishment"),
                Column("establishment_name", title: "NAME", isFlexible: true), Column("terminal"),
                Column("guesses"),
            ], empty: "nobody has guessed codes that pass these filters")
        if alerts.count == invocation[PageOptions.limit], let last = alerts.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }
}
