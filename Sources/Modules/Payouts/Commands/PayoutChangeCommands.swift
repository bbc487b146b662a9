import Errand
import ErrandCommand
import ErrandLedger
import ErrandNotification
import ErrandPostgres
import ErrandTerminal

/// `errand payout hold`, `release`, `void`, `reissue` and `forfeit`.
enum PayoutChangeCommands {
    static let all = [hold, release, void, reissue, forfeit]

    /// Shows the changed payout.
    private static func end(_ id: Int, _ session: Session, _ invocation: Invocation) async throws {
        try invocation.output.show(
            PayoutFormatting.card(try await PayoutFormatting.payout(id, session), invocation))
    }

    private static func changes(_ invocation: Invocation, _ session: Session) -> PayoutChanges {
        PayoutChanges(session: session, actor: invocation.operatorName)
    }

    private static let hold = Command(
        "payout", "hold", effect: .write, summary: "Hold a pending payout",
        discussion: """
            A held payout is not issued, and the money returns to the person's balance. Later \
            runs hold it too, until 'errand payout release'.
            """,
        examples: [.init("errand payout hold 4711 --reason 'address in doubt'", "asks first")],
        options: [PayoutFormatting.why], arguments: [PayoutFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutFormatting.id], try invocation.session())
        let payout = try await PayoutFormatting.payout(id, session)
        try invocation.confirm("hold payout \(id) of \(payout.amount)?")
        try await PayoutFormatting.refusing {
            try await changes(invocation, session).hold(
                Int64(id), reason: invocation[PayoutFormatting.why])
        }
        try await end(id, session, invocation)
        return .done
    }

    private static let release = Command(
        "payout", "release", effect: .write, summary: "Release a held payout",
        discussion: """
            The next issue of its run includes the payout. Refused if the person's name, address \
            or age is missing, or if a later run has paid the money.
            """,
        examples: [.init("errand payout release 4711 --reason 'address given'", "asks first")],
        options: [PayoutFormatting.note], arguments: [PayoutFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutFormatting.id], try invocation.session())
        let payout = try await PayoutFormatting.payout(id, session)
        try invocation.confirm("release payout \(id) of \(payout.amount)?")
        try await PayoutFormatting.refusing {
            try await changes(invocation, session).release(
                Int64(id), reason: invocation[PayoutFormatting.note])
        }
        try await end(id, session, invocation)
        return .done
    }

    private static let void = Command(
        "payout", "void", effect: .write,
        summary: "Void an unpaid payout or a cheque",
        discussion: """
            The money returns to the person's balance, and the next run pays it. To prevent the \
            payment, hold the payout or reverse its reward instead. Report void cheques to the \
            bank ('errand payout voids'); their numbers are never reused. An issued deposit \
            cannot be voided until the bank returns it.
            """,
        examples: [.init("errand payout void 4711 --reason 'cheque was lost'", "asks first")],
        options: [PayoutFormatting.why], arguments: [PayoutFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutFormatting.id], try invocation.session())
        let payout = try await PayoutFormatting.payout(id, session)
        try invocation.confirm("void payout \(id) of \(payout.amount) permanently?")
        try await PayoutFormatting.refusing {
            try await changes(invocation, session).void(
                Int64(id), reason: invocation[PayoutFormatting.why])
        }
        try await end(id, session, invocation)
        return .done
    }

    private static let method = Option<PayoutMethod?>.value(
        "method", .choice(of: PayoutMethod.self, "METHOD"),
        help: "Payment method (default: deposit with bank details, otherwise cheque)")

    private static let reissue = Command(
        "payout", "reissue", effect: .write, summary: "Reissue a returned or void payout",
        discussion: """
            Creates another payout of the same run, which its next issue includes. Refused if a \
            later run has paid the money.
            """,
        examples: [
            .init("errand payout reissue 4711 --method cheque", "asks first")
        ],
        options: [method, PayoutFormatting.note], arguments: [PayoutFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutFormatting.id], try invocation.session())
        let payout = try await PayoutFormatting.payout(id, session)
        try invocation.confirm("reissue payout \(id) of \(payout.amount)?")
        let made = try await PayoutFormatting.refusing {
            try await changes(invocation, session).reissue(
                Int64(id), by: invocation[method], reason: invocation[PayoutFormatting.note])
        }
        try await end(Int(made), session, invocation)
        return .done
    }

    private static let forfeit = Command(
        "payout", "forfeit", effect: .write, summary: "Give up what a person is owed, as they say",
        discussion: """
            For a person who wants to be erased without waiting for the next pay date. Voids their \
            payouts that are pending, held or returned, and posts their balance to the account \
            forfeited. Issued payouts are paid. 'errand ledger reverse' undoes the posting. Apps \
            call payouts.forfeit.
            """,
        examples: [.init("errand payout forfeit 42 --reason 'letter of 5 March'", "asks first")],
        options: [PayoutFormatting.why], arguments: [PayoutFormatting.person]
    ) { invocation in
        let (person, session) = (invocation[PayoutFormatting.person], try invocation.session())
        guard try await Payee.read(Int64(person), session) != nil else {
            throw NotificationFormatting.unknown(person: person)
        }
        try invocation.confirm("give up all that person \(person) is owed?")
        let amounts = try await PayoutFormatting.refusing {
            try await changes(invocation, session).forfeit(
                person: Int64(person), reason: invocation[PayoutFormatting.why])
        }
        try invocation.output.list(
            amounts.map { amount in
                Record([
                    ("person", .id(person)), ("amount", LedgerFormatting.cell(amount)),
                    ("currency", .text(amount.currency.code)),
                ])
            }, columns: [Column("person"), Column("amount"), Column("currency")],
            empty: "nothing is owed to person \(person)")
        return .done
    }
}
