import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand ledger …`: accounts, lines and transactions.
enum LedgerCommands {
    static let all = [balance, lines, show, reverse] + LedgerProofCommands.all

    // MARK: balance

    private static let kind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "List the accounts of this kind, such as establishment")
    private static let owner = Option<Int?>.integer(
        "owner", range: 1...Int.max, placeholder: "ID",
        help: "List the accounts of this person or establishment")
    private static let at = Option<Instant?>.value(
        "at", JobInputOptions.time, help: "Balances of the transactions before this time")

    private static let balance = Command(
        "ledger", "balance", effect: .read,
        summary: "Show the trial balance, or the balances of accounts",
        discussion: """
            Without --kind and --owner, prints the trial balance: a line for each account kind \
            and currency, with equal total debits and credits. Amounts owed to people are \
            credits; amounts owed by establishments are debits.
            """,
        examples: [
            .init("errand ledger balance", "the trial balance"),
            .init("errand ledger balance --kind establishment", "the debts of establishments"),
            .init("errand ledger balance --at 2026-10-01T04:00:00Z", "at the end of a quarter"),
        ],
        options: [
            kind, owner, LedgerFormatting.currency, at, PageOptions.limit, PageOptions.cursor,
        ]
    ) { invocation in
        let rows = AccountRows(session: try invocation.session())
        var filter = AccountFilter()
        filter.kind = invocation[kind]
        filter.owner = invocation[owner].map(Int64.init)
        filter.currency = invocation[LedgerFormatting.currency]
        filter.at = invocation[at]
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let isTotal = filter.kind == nil && filter.owner == nil
        if let kind = filter.kind {
            let kinds = try await rows.kinds()
            guard kinds.contains(kind) else {
                throw CommandFailure(
                    exit: .usage, message: "--kind \(kind): no such kind of account",
                    hint: "expected " + kinds.joined(separator: ", "))
            }
        }
        let accounts = try await isTotal ? rows.totals(filter) : rows.page(filter)
        try invocation.output.list(
            accounts.map(record),
            columns: (isTotal ? [Column("count", title: "ACCOUNTS")] : [Column("account")])
                + [Column("account_kind", title: "KIND")]
                + (isTotal ? [] : [Column("account_owner", title: "OWNER")])
                + [Column("currency"), Column("debit"), Column("credit")],
            empty: isTotal ? "the ledger is empty" : "no accounts match")
        if !isTotal, accounts.count == filter.limit, let last = accounts.last?.id {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last)))
        }
        return .done
    }

    private static func record(_ account: AccountRecord) -> Record {
        let money = account.balance
        // A zero balance is shown on the account's normal side.
        let isCredit =
            money.minorUnits == 0 ? account.side == .credit : money.minorUnits > 0
        let amount = Money(isCredit ? money.minorUnits : 0 &- money.minorUnits, money.currency)
        return Record([
            ("account", .optional(account.id) { .id(Int($0)) }),
            ("account_kind", .text(account.kind)),
            ("account_owner", .optional(account.owner) { .id(Int($0)) }),
            ("count", .int(account.count)), ("currency", .text(money.currency.code)),
            ("balance", LedgerFormatting.cell(money)),
            ("debit", isCredit ? .missing : LedgerFormatting.cell(amount)),
            ("credit", isCredit ? LedgerFormatting.cell(amount) : .missing),
        ])
    }

    // MARK: lines

    private static let account = Option<Int?>.integer(
        "account", range: 1...Int.max, placeholder: "ID", help: "Only lines of this account")
    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only lines of this person")
    private static let source = Option<String?>.text(
        "source", placeholder: "SOURCE", help: "Only lines with this source, such as survey:12")
    private static let since = Option<Instant?>.value(
        "since", JobInputOptions.time, help: "Only lines at or after this time")
    private static let before = Option<Instant?>.value(
        "before", JobInputOptions.time, help: "Only lines before this time")

    private static let lines = Command(
        "ledger", "lines", effect: .read, summary: "List the lines of accounts, newest first",
        discussion: """
            A line is the posting of a transaction to one account: a positive amount credits the \
            account, a negative one debits it. The lines of a transaction stay on one page, which \
            may exceed --limit.
            """,
        examples: [
            .init("errand ledger lines --person 42", "the lines behind a balance"),
            .init("errand ledger lines --source survey:12", "the cost of a survey"),
        ],
        options: [account, person, source, since, before, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = LineFilter()
        filter.account = invocation[account].map(Int64.init)
        filter.person = invocation[person].map(Int64.init)
        filter.source = invocation[source]
        filter.since = invocation[since]
        filter.before = invocation[before]
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let lines = try await TransactionRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            lines.map(LedgerFormatting.line),
            columns: [
                Column("transaction"), Column("at"), Column("kind"),
                Column("source", isFlexible: true), Column("account_kind", title: "ACCOUNT"),
                Column("account_owner", title: "OWNER"), Column("amount"), Column("currency"),
            ], empty: "no lines match")
        if lines.count >= filter.limit, let last = lines.last {
            invocation.output.note(
                "more: "
                    + invocation.line(behind: PageOptions.cursor, String(last.transactionID)))
        }
        return .done
    }

    // MARK: show

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The transaction's id")

    private static let show = Command(
        "ledger", "show", effect: .read, summary: "Show one transaction with its lines",
        discussion: "Transactions never change; 'errand ledger reverse' undoes a wrong one.",
        examples: [.init("errand ledger show 4711", "its actor and its lines")],
        arguments: [id]
    ) { invocation in
        try invocation.output.show(record(try await transaction(invocation), invocation))
        return .done
    }

    private static func transaction(_ invocation: Invocation) async throws -> TransactionRecord {
        let rows = TransactionRows(session: try invocation.session())
        guard let found = try await rows.transaction(Int64(invocation[id])) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no transaction \(invocation[id])",
                hint: "'errand ledger lines' lists the transactions")
        }
        return found
    }

    private static func record(
        _ transaction: TransactionRecord, _ invocation: Invocation
    ) -> Record {
        Record([
            ("transaction", .id(Int(transaction.id))), ("kind", .text(transaction.kind)),
            ("at", transaction.at.cell), ("made_at", transaction.madeAt.cell),
            ("source", .optional(transaction.source) { .text($0) }),
            ("idempotency_key", .text(transaction.key)), ("actor", .text(transaction.actor)),
            ("note", .optional(transaction.note) { .text($0) }),
            ("reverses", .optional(transaction.reverses) { .id(Int($0)) }),
            ("reversed_by", .optional(transaction.reversedBy) { .id(Int($0)) }),
            (
                "lines",
                .records(
                    transaction.lines.map { line in
                        Record([
                            ("account", .id(Int(line.accountID))),
                            ("account_kind", .text(line.accountKind)),
                            ("account_owner", .optional(line.owner) { .id(Int($0)) }),
                            ("amount", LedgerFormatting.cell(line.amount, invocation)),
                            ("currency", .text(line.amount.currency.code)),
                        ])
                    })
            ),
        ])
    }

    // MARK: reverse

    private static let reason = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500),
        help: "Reason, without personal data; the ledger and the audit log keep it"
    ).required()

    private static let reverse = Command(
        "ledger", "reverse", effect: .write, summary: "Reverse a transaction",
        discussion: """
            Posts a transaction with the same lines and opposite signs, effective now. A \
            transaction is reversed at most once; a reversal can be reversed too. A reversed \
            reward cannot be credited again for the same source.
            """,
        examples: [
            .init("errand ledger reverse 4711 --reason 'survey was cancelled'", "asks first"),
            .init("errand ledger reverse 4711 --reason 'by hand' --yes", "without asking"),
        ],
        options: [reason], arguments: [id]
    ) { invocation in
        let found = try await transaction(invocation)
        let taken = { (other: Int64) in
            CommandFailure(
                exit: .conflict,
                message: "transaction \(found.id) is already reversed by \(other)",
                hint: "'errand ledger show \(other)' shows the actor and the reason")
        }
        if let other = found.reversedBy { throw taken(other) }
        let amounts = found.lines.filter { $0.amount.minorUnits > 0 }.map(\.amount.description)
        try invocation.confirm(
            "reverse transaction \(found.id) (\(found.kind), "
                + "\(amounts.prefix(3).joined(separator: " and ")))?")
        let rows = TransactionRows(session: try invocation.session())
        let reversal: Int64
        do {
            reversal = try await rows.reverse(
                found.id, by: invocation.operatorName, reason: invocation[reason])
        } catch let error as PostgresError where error.sqlState == "23505" {
            guard let other = try await rows.transaction(found.id)?.reversedBy else { throw error }
            throw taken(other)
        } catch PostgresError.server(let error) where error.sqlState == "23514" {
            throw CommandFailure(exit: .refused, message: error.message, hint: error.hint)
        }
        guard let made = try await rows.transaction(reversal) else { return .done }
        try invocation.output.show(record(made, invocation))
        return .done
    }
}
