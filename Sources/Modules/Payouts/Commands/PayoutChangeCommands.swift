import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What is done to single payouts.
enum PayoutChangeCommands {
    static let all = [hold, release, void, reissue]

    /// Shows what became of it.
    private static func end(_ id: Int, _ session: Session, _ invocation: Invocation) async throws {
        try invocation.output.show(
            PayoutWords.card(try await PayoutWords.payout(id, session), invocation))
    }

    private static func changes(_ invocation: Invocation, _ session: Session) -> PayoutChanges {
        PayoutChanges(session: session, actor: invocation.operatorName)
    }

    private static let hold = Command(
        "payout", "hold", effect: .changes, summary: "Keep a pending payout from being issued",
        discussion: """
            The money goes back to the person's balance. Later runs hold it as well, until \
            somebody releases it.
            """,
        examples: [.init("errand payout hold 4711 --reason 'address in doubt'", "asks first")],
        options: [PayoutWords.why], arguments: [PayoutWords.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutWords.id], try invocation.session())
        let payout = try await PayoutWords.payout(id, session)
        try invocation.confirm("hold payout \(id) of \(payout.amount)?")
        try await PayoutWords.refusing {
            try await changes(invocation, session).hold(
                Int64(id), reason: invocation[PayoutWords.why])
        }
        try await end(id, session, invocation)
        return .done
    }

    private static let release = Command(
        "payout", "release", effect: .changes, summary: "Let a held payout be issued after all",
        discussion: """
            The next files of its run have it. Refused while the person's name, address or age \
            are missing, and when a later run has paid the money.
            """,
        examples: [.init("errand payout release 4711 --reason 'address given'", "asks first")],
        options: [PayoutWords.note], arguments: [PayoutWords.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutWords.id], try invocation.session())
        let payout = try await PayoutWords.payout(id, session)
        try invocation.confirm("release payout \(id) of \(payout.amount)?")
        try await PayoutWords.refusing {
            try await changes(invocation, session).release(
                Int64(id), reason: invocation[PayoutWords.note])
        }
        try await end(id, session, invocation)
        return .done
    }

    private static let void = Command(
        "payout", "void", effect: .changes,
        summary: "End a payout that is not to be paid, or whose cheque is worthless",
        discussion: """
            The money goes back to the person's balance, and the next run pays it: what must not \
            be paid is held, or its reward is undone. Tell the bank of a cheque that is void; its \
            number is never used again. A deposit that the bank has is not void before it \
            comes back.
            """,
        examples: [.init("errand payout void 4711 --reason 'cheque was lost'", "asks first")],
        options: [PayoutWords.why], arguments: [PayoutWords.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutWords.id], try invocation.session())
        let payout = try await PayoutWords.payout(id, session)
        try invocation.confirm("void payout \(id) of \(payout.amount), which cannot be undone?")
        try await PayoutWords.refusing {
            try await changes(invocation, session).void(
                Int64(id), reason: invocation[PayoutWords.why])
        }
        try await end(id, session, invocation)
        return .done
    }

    private static let method = Option<PayoutMethod?>.value(
        "method", .choice(of: PayoutMethod.self, "METHOD"),
        help: "By this means (default: a deposit if there are bank details, a cheque if not)")

    private static let reissue = Command(
        "payout", "reissue", effect: .changes, summary: "Pay anew what came back or was void",
        discussion: """
            By another payout of the same run, which the next files have. Refused when a later run \
            has paid the money.
            """,
        examples: [
            .init("errand payout reissue 4711 --method cheque", "asks first")
        ],
        options: [method, PayoutWords.note], arguments: [PayoutWords.id]
    ) { invocation in
        let (id, session) = (invocation[PayoutWords.id], try invocation.session())
        let payout = try await PayoutWords.payout(id, session)
        try invocation.confirm("pay payout \(id) of \(payout.amount) anew?")
        let made = try await PayoutWords.refusing {
            try await changes(invocation, session).reissue(
                Int64(id), by: invocation[method], reason: invocation[PayoutWords.note])
        }
        try await end(Int(made), session, invocation)
        return .done
    }
}
