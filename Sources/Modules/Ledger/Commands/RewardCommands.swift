import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand reward …`: the rewards of people.
enum RewardCommands {
    static let all = [list, show]

    // MARK: ls

    private static let currency = Option<Currency>.value(
        "currency",
        ValueFormat("CODE", expected: "a currency by its code, such as CAD") { Currency($0) },
        default: .cad, help: "The currency")
    private static let minBalance = Option<String?>.text(
        "min-balance", placeholder: "AMOUNT", help: "Only people with at least this balance")

    private static let list = Command(
        "reward", "ls", effect: .read, summary: "List people with a reward balance",
        discussion: """
            Sorted by person id. A negative balance is a debt of the person, for example after \
            the reversal of a reward that was already paid out.
            """,
        examples: [
            .init("errand reward ls", "everyone with a balance"),
            .init("errand reward ls --min-balance 1.00 -ojson", "at least the minimum payout"),
        ],
        options: [currency, minBalance, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let currency = invocation[currency]
        let minBalance = try minBalanceUnits(invocation, currency)
        let limit = invocation[PageOptions.limit]
        let people = try await RewardRows(session: try invocation.session()).page(
            currency, minBalance: minBalance,
            behind: Int64(invocation[PageOptions.cursor] ?? 0), limit: limit)
        try invocation.output.list(
            people.map { person in
                Record([
                    ("person", .id(Int(person.person))),
                    ("currency", .text(person.balance.currency.code)),
                    ("balance", LedgerFormatting.cell(person.balance)),
                    ("account", .id(Int(person.accountID))),
                ])
            },
            columns: [
                Column("person"), Column("balance"), Column("currency"), Column("account"),
            ],
            empty: "no people with a balance in \(currency) match")
        if people.count == limit, let last = people.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.person)))
        }
        return .done
    }

    /// The value of --min-balance in minor units.
    private static func minBalanceUnits(
        _ invocation: Invocation, _ currency: Currency
    ) throws(CommandFailure) -> Int64 {
        guard let text = invocation[minBalance] else { return .min }
        do throws(MoneyError) { return try Money(parsing: text, currency).minorUnits } catch {
            throw CommandFailure(exit: .usage, message: "--min-balance: \(error)")
        }
    }

    // MARK: show

    private static let person = Argument.required(
        ValueFormat.integer("PERSON", in: 1...Int.max), help: "The person's id")

    private static let show = Command(
        "reward", "show", effect: .read,
        summary:
            "Show a person's balance, next pay date and lines since the last payout",
        discussion: """
            Prints one record per currency. The next pay date is the pay day in the month after \
            a quarter (ledger.pay_rules), or the next Canadian banking day. Before the first \
            payout, all lines are shown, newest first, up to --limit.
            """,
        examples: [.init("errand reward show 42", "the balance and the rewards of a person")],
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
                hint: "'errand reward ls' lists people with a balance")
        }
        let date = try await LedgerFormatting.nextPayDate(session, invocation)
        if rewards.isEmpty {
            try invocation.output.show(
                Record([
                    ("person", .id(id)), ("currency", .text(Currency.cad.code)),
                    ("balance", LedgerFormatting.cell(.zero(.cad), invocation)),
                    ("next_pay_date", date),
                ]))
        }
        for reward in rewards {
            var record = Record([
                ("person", .id(id)), ("currency", .text(reward.balance.currency.code)),
                ("balance", LedgerFormatting.cell(reward.balance, invocation)),
                ("next_pay_date", date),
                ("account", .id(Int(reward.accountID))),
                (
                    "last_payout",
                    .optional(reward.lastPayout) { LedgerFormatting.cell($0.amount, invocation) }
                ),
                ("last_payout_at", .optional(reward.lastPayout) { $0.at.cell }),
            ])
            let lines = reward.lines.map { line in
                Record([
                    ("transaction", .id(Int(line.transactionID))), ("at", line.at.cell),
                    ("kind", .text(line.kind)), ("source", .optional(line.source) { .text($0) }),
                    ("amount", LedgerFormatting.cell(line.amount, invocation)),
                ])
            }
            record.append("lines", .records(lines))
            try invocation.output.show(record)
        }
        return .done
    }
}
