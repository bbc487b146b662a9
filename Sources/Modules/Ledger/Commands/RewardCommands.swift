import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand reward …`: what people have earned.
enum RewardCommands {
    static let all = [list, show]

    // MARK: ls

    private static let currency = Option<Currency>.value(
        "currency",
        ValueFormat("CODE", expected: "a currency by its code, such as CAD") { Currency($0) },
        default: .cad, help: "The currency")
    private static let least = Option<String?>.text(
        "least", placeholder: "AMOUNT", help: "Only people to whom so much or more is owed")

    private static let list = Command(
        "reward", "ls", effect: .looks, summary: "List people to whom something is owed",
        discussion: """
            In the order of their ids. A balance below zero is what a person owes, such as after \
            a reward that was paid out has been reversed.
            """,
        examples: [
            .init("errand reward ls", "who has something to get"),
            .init("errand reward ls --least 1.00 -ojson", "those who reach the least payout"),
        ],
        options: [currency, least, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let currency = invocation[currency]
        let least = try leastUnits(invocation, currency)
        let limit = invocation[PageOptions.limit]
        let people = try await RewardRows(session: try invocation.session()).page(
            currency, least: least,
            behind: Int64(invocation[PageOptions.cursor] ?? 0), limit: limit)
        try invocation.output.list(
            people.map { person in
                Record([
                    ("person", .id(Int(person.person))),
                    ("currency", .text(person.balance.currency.code)),
                    ("balance", LedgerWords.cell(person.balance)),
                    ("account", .id(Int(person.accountID))),
                ])
            },
            columns: [
                Column("person"), Column("balance"), Column("currency"), Column("account"),
            ],
            empty: "nobody has a balance in \(currency) that passes these filters")
        if people.count == limit, let last = people.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.person)))
        }
        return .done
    }

    /// The least balance to be listed, in minor units.
    private static func leastUnits(
        _ invocation: Invocation, _ currency: Currency
    ) throws(CommandFailure) -> Int64 {
        guard let text = invocation[least] else { return .min }
        do throws(MoneyError) { return try Money(parsing: text, currency).minorUnits } catch {
            throw CommandFailure(exit: .usage, message: "--least: \(error)")
        }
    }

    // MARK: show

    private static let person = Argument.required(
        ValueFormat.integer("PERSON", in: 1...Int.max), help: "The person's id")

    private static let show = Command(
        "reward", "show", effect: .looks,
        summary:
            "Show what is owed to a person, when it is paid, and the lines since a payout",
        discussion: """
            One record a currency. The next pay date is a day of the month after a quarter \
            (ledger.pay_rules), or the next banking day of Canada. Without a payout all lines are \
            shown, the newest first, as many as --limit says.
            """,
        examples: [.init("errand reward show 42", "what somebody has earned, and by what")],
        options: [PageOptions.limit], arguments: [person]
    ) { invocation in
        let id = invocation[person]
        let session = try invocation.session()
        guard
            let rewards = try await RewardRows(session: session).person(
                Int64(id), lines: invocation[PageOptions.limit])
        else {
            throw CommandFailure(
                exit: .notFound, message: "there is no person \(id)",
                hint: "'errand reward ls' lists those who have earned something")
        }
        let date = try await LedgerWords.nextPayDate(session, invocation)
        if rewards.isEmpty {
            try invocation.output.show(
                Record([
                    ("person", .id(id)), ("currency", .text(Currency.cad.code)),
                    ("balance", LedgerWords.cell(.zero(.cad), invocation)), ("next_pay_date", date),
                ]))
        }
        for reward in rewards {
            var record = Record([
                ("person", .id(id)), ("currency", .text(reward.balance.currency.code)),
                ("balance", LedgerWords.cell(reward.balance, invocation)), ("next_pay_date", date),
                ("account", .id(Int(reward.accountID))),
                (
                    "last_payout",
                    .optional(reward.lastPayout) { LedgerWords.cell($0.amount, invocation) }
                ),
                ("last_payout_at", .optional(reward.lastPayout) { $0.at.cell }),
            ])
            let lines = reward.lines.map { line in
                Record([
                    ("transaction", .id(Int(line.transactionID))), ("at", line.at.cell),
                    ("kind", .text(line.kind)), ("source", .optional(line.source) { .text($0) }),
                    ("amount", LedgerWords.cell(line.amount, invocation)),
                ])
            }
            record.append("lines", .records(lines))
            try invocation.output.show(record)
        }
        return .done
    }
}
