import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandTerminal

/// `errand establishment paid|correct|account|zone|contacts`: what an establishment owes and paid,
/// and who gets its reports.
enum PaymentCommands {
    static let all = [paid, correct, account, zone, contacts]

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The establishment's id")

    private static func changes(_ invocation: Invocation) throws -> ReportChanges {
        ReportChanges(session: try invocation.session(), actor: invocation.operatorName)
    }

    // MARK: paid, correct

    private static let amount = Argument.required(
        ValueFormat.line("AMOUNT", upTo: 40), help: "What it paid, such as 125.00")
    private static let currency = Option<Currency>.value(
        "currency",
        ValueFormat("CODE", expected: "a currency by its code, such as CAD") { Currency($0) },
        default: .cad, help: "The currency")
    private static let reference = Option<String?>.value(
        "reference", .line("REFERENCE", upTo: 100),
        help: "The bank's reference or the number of the invoice; it names the payment"
    ).required()

    private static let paid = Command(
        "establishment", "paid", effect: .write, summary: "Note what an establishment paid",
        discussion: """
            Posts it in the ledger, from the bank to the establishment's account. The same \
            reference again changes nothing.
            """,
        examples: [
            .init("errand establishment paid 7 125.00 --reference INV-2026-10", "asks first")
        ],
        options: [reference, currency], arguments: [id, amount]
    ) { invocation in
        let money: Money
        do { money = try Money(parsing: invocation[amount], invocation[currency]) } catch {
            throw CommandFailure(exit: .usage, message: "\(error)")
        }
        let (id, reference) = (invocation[id], invocation[reference])
        try invocation.confirm(
            "note that establishment \(id) paid \(money.digits) \(money.currency)?")
        let isNew = try await ReportCommands.refusing {
            try await changes(invocation).paid(
                Int64(id), amount: money.minorUnits, currency: money.currency.code,
                reference: reference)
        }
        if !isNew { invocation.output.note("the payment was already noted") }
        try await show(id, invocation)
        return .done
    }

    private static let why = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500), help: "Why it was wrong; kept in the ledger"
    ).required()

    private static let correct = Command(
        "establishment", "correct", effect: .write,
        summary: "Reverse a payment that was noted by mistake",
        discussion: "The payment and its reversal stay in the ledger and on the statements.",
        examples: [
            .init(
                "errand establishment correct 7 --reference INV-2026-10 --reason 'of another one'",
                "asks first")
        ],
        options: [reference, why], arguments: [id]
    ) { invocation in
        let (id, reference) = (invocation[id], invocation[reference])
        try invocation.confirm("reverse the payment \(reference) of establishment \(id)?")
        let isNew = try await ReportCommands.refusing {
            try await changes(invocation).correct(
                Int64(id), reference: reference, reason: invocation[why])
        }
        if !isNew { invocation.output.note("the payment was already reversed") }
        try await show(id, invocation)
        return .done
    }

    // MARK: account

    private static let account = Command(
        "establishment", "account", effect: .read,
        summary: "Show what an establishment owes, and its payments",
        examples: [.init("errand establishment account 7", "owed, overdue and paid")],
        arguments: [id]
    ) { invocation in
        try await show(invocation[id], invocation)
        return .done
    }

    private static func show(_ id: Int, _ invocation: Invocation) async throws {
        let rows = ReportRows(session: try invocation.session())
        let owed = try await rows.owed(by: Int64(id), now: .now())
        let payments = try await rows.payments(of: Int64(id))
        func cell(_ amount: Int64, _ code: String) -> Cell {
            guard let currency = Currency(code) else { return .int(Int(amount)) }
            return LedgerFormatting.cell(Money(amount, currency), invocation)
        }
        try invocation.output.show(
            Record([
                ("establishment", .id(id)),
                (
                    "owed",
                    .records(
                        owed.map {
                            Record([
                                ("currency", .text($0.currency)),
                                ("amount", cell($0.owed, $0.currency)),
                                ("overdue", cell($0.overdue, $0.currency)),
                            ])
                        })
                ),
                (
                    "payments",
                    .records(
                        payments.map {
                            Record([
                                ("reference", .text($0.reference)),
                                ("amount", cell($0.amount, $0.currency)),
                                ("currency", .text($0.currency)), ("paid_at", $0.paidAt.cell),
                                ("actor", .text($0.actor)),
                                ("transaction", .id(Int($0.transaction))),
                                ("corrected_at", .optional($0.correctedAt) { $0.cell }),
                                ("correction", .optional($0.correction) { .text($0) }),
                            ])
                        })
                ),
            ]))
    }

    // MARK: zone, contacts

    private static let timeZone = Argument.required(
        ValueFormat.line("ZONE", upTo: 100), help: "Such as America/Toronto")

    private static let zone = Command(
        "establishment", "zone", effect: .write,
        summary: "Have reports made for an establishment, in its time zone",
        discussion: "From the current week and month on. Known reports keep their time zone.",
        examples: [.init("errand establishment zone 7 America/Toronto", "Mondays at 06:00 there")],
        arguments: [id, timeZone]
    ) { invocation in
        let (id, name) = (invocation[id], invocation[timeZone])
        try invocation.confirm("make reports of establishment \(id) in \(name)?")
        _ = try await ReportCommands.refusing {
            try await changes(invocation).put(Int64(id), timeZone: name)
        }
        try invocation.output.show(
            Record([("establishment", .id(id)), ("time_zone", .text(name))]))
        return .done
    }

    private static let add = Option<String?>.value(
        "add", .line("ADDRESS", upTo: 254), help: "Add this mail address")
    private static let remove = Option<String?>.value(
        "remove", .line("ADDRESS", upTo: 254), help: "Remove this mail address")
    private static let locale = Option<String>.value(
        "locale", .line("LOCALE", upTo: 6), default: "en", help: "The language of its mails")

    private static let contacts = Command(
        "establishment", "contacts", effect: .write,
        summary: "List who is notified of an establishment's reports, add or remove an address",
        examples: [
            .init("errand establishment contacts 7", "lists them"),
            .init("errand establishment contacts 7 --add office@example.org", "adds one"),
        ],
        options: [add, remove, locale], arguments: [id]
    ) { invocation in
        let id = invocation[id]
        if let email = invocation[add] {
            _ = try await ReportCommands.refusing {
                try await changes(invocation).add(
                    contact: email, locale: invocation[locale], to: Int64(id))
            }
        }
        if let email = invocation[remove] {
            let isRemoved = try await ReportCommands.refusing {
                try await changes(invocation).remove(contact: email, from: Int64(id))
            }
            if !isRemoved { invocation.output.note("it was no contact") }
        }
        let found = try await ReportRows(session: try invocation.session())
            .contacts(of: Int64(id))
        try invocation.output.list(
            found.map { contact in
                Record([
                    ("address", .text(contact.email)), ("locale", .text(contact.locale)),
                    ("added_at", contact.addedAt.cell),
                ])
            },
            columns: [Column("address", isFlexible: true), Column("locale"), Column("added_at")],
            empty: "no contacts: 'errand help establishment contacts'")
        return .done
    }
}
