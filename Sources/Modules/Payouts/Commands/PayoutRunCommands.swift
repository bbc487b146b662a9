import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// What brings a run from state to state, and its rules.
enum PayoutRunCommands {
    static let all = [preview, close, approve, settle, rules]

    private static let quarter = Argument.optional(
        PayoutWords.quarter, help: "Such as 2026-Q3 (default: the last one that is over)")

    /// The quarter that is meant, and the zone and rules that it goes by.
    private static func subject(
        _ invocation: Invocation, _ session: Session
    ) async throws -> (quarter: Quarter, zone: Zone, rules: PayRules) {
        let rules = try await PayRules.read(session)
        let zone = try invocation.zones.zone(named: rules.timeZone)
        let quarter = invocation[quarter] ?? Closing.lastQuarter(before: .now(), in: zone)
        return (quarter, zone, rules)
    }

    // MARK: preview

    private static let preview = Command(
        "payout", "preview", effect: .changes,
        summary: "Compute what closing a quarter would do, and write it down",
        discussion: """
            Nobody's balance changes. A quarter that is not over can be previewed too. What was \
            previewed last is held against the run when it is approved.
            """,
        examples: [.init("errand payout preview", "the day before the close")],
        arguments: [quarter]
    ) { invocation in
        let session = try invocation.patientSession()
        let subject = try await subject(invocation, session)
        try await PayoutWords.refusing {
            try await invocation.pool().transaction { transaction in
                let run = try await Closing.run(
                    of: subject.quarter, rules: subject.rules, in: subject.zone, transaction)
                try await Closing.preview(
                    run: run, actor: invocation.operatorName, transaction)
            }
        }
        try await PayoutWords.show(
            try await PayoutWords.run(subject.quarter, session), invocation)
        return .done
    }

    // MARK: close

    private static let close = Command(
        "payout", "close", effect: .changes,
        summary: "Make a quarter's payouts: all that people had earned by its end",
        discussion: """
            The schedule \(CloseQuarter.kind) does so on the third day of each quarter. The work \
            is done by workers of the queue \(CloseQuarter.options.queue), a job for each \
            \(Closing.chunkSize) accounts; 'errand payout show' tells how far they are. A quarter \
            is closed once, whoever asks again.
            """,
        examples: [
            .init("errand payout close 2026-Q3", "asks first"),
            .init("errand payout close 2026-Q3 --yes", "does not ask"),
        ],
        arguments: [quarter]
    ) { invocation in
        let session = try invocation.session()
        let subject = try await subject(invocation, session)
        if let run = try await RunRows(session: session).run(of: subject.quarter),
            let began = run.closingAt
        {
            throw CommandFailure(
                exit: .conflict,
                message: "\(subject.quarter) "
                    + (run.isClosing ? "is being closed" : "is \(run.state.rawValue)")
                    + ": \(run.closedBy ?? "somebody") began to close it at \(began)",
                hint: "'errand payout show \(subject.quarter)' tells more")
        }
        try invocation.confirm("close \(subject.quarter), which cannot be undone?")
        let client = try await invocation.client()
        let chunks = try await PayoutWords.refusing {
            try await invocation.pool().transaction { transaction in
                let run = try await Closing.run(
                    of: subject.quarter, rules: subject.rules, in: subject.zone, transaction)
                return try await Closing.begin(
                    run: run, now: .now(), actor: invocation.operatorName, client: client,
                    transaction)
            }
        }
        try await PayoutWords.show(
            try await PayoutWords.run(subject.quarter, session), invocation)
        invocation.output.note(
            "\(chunks ?? 0) chunks are to be done by workers of the queue "
                + "\(CloseQuarter.options.queue); then: errand payout show \(subject.quarter)")
        return .done
    }

    // MARK: approve

    private static let acknowledge = Option.flag(
        "acknowledge", help: "Approve it although it differs from its preview")

    private static let approve = Command(
        "payout", "approve", effect: .changes, summary: "Let a closed run be issued",
        discussion: """
            By somebody else than who closed it, unless 'errand payout rules --allow-same on' was \
            given. A run that differs from its preview by more than the rules allow, or had none, \
            needs --acknowledge.
            """,
        examples: [.init("errand payout approve 2026-Q3 --reason 'looked at it'", "asks first")],
        options: [acknowledge, PayoutWords.note], arguments: [PayoutWords.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutWords.run(invocation[PayoutWords.run], session)
        let totals = run.totals.map { total in
            "\(total.payouts) payouts of \(Money(total.amount, total.currency))"
        }
        try invocation.confirm(
            "approve \(run.quarter), \(totals.isEmpty ? "empty" : totals.joined(separator: ", "))?")
        try await PayoutWords.refusing {
            try await PayoutChanges(session: session, actor: invocation.operatorName).approve(
                run: run.id, reason: invocation[PayoutWords.note],
                isAcknowledged: invocation[acknowledge])
        }
        try await PayoutWords.show(try await PayoutWords.run(run.quarter, session), invocation)
        return .done
    }

    // MARK: settle

    private static let deposits = Option.flag(
        "deposits", help: "All deposits of the run: the bank has carried the files out")
    private static let cheques = Option<[Int]>.list(
        "cheque", .integer("N", in: 1...999_999_999), help: "Cheques that were cashed")
    private static let payouts = Option<[Int]>.list(
        "payout", .integer("ID", in: 1...Int.max), help: "Single payouts, by their ids")

    private static let chequeCurrency = Option<Currency?>.value(
        "currency", PayoutWords.currency,
        help: "Of the cheques, where two currencies have the same numbers")

    /// The payouts that were paid by cheques of these numbers.
    private static func payouts(
        byCheques numbers: [Int], in currency: Currency?, of run: RunRecord, _ session: Session
    ) async throws -> [Int64] {
        var ids: [Int64] = []
        for number in numbers {
            var filter = PayoutFilter()
            filter.quarter = run.quarter
            filter.chequeNumber = Int64(number)
            let found = try await PayoutRows(session: session).page(filter)
                .filter { currency == nil || $0.amount.currency == currency }
            guard let first = found.first else {
                throw CommandFailure(
                    exit: .notFound, message: "\(run.quarter) has no such cheque \(number)",
                    hint: "'errand payout ls --cheque \(number)' tells which run has it")
            }
            guard found.count == 1 else {
                let ids = found.map { "payout \($0.id) of \($0.amount)" }
                throw CommandFailure(
                    exit: .usage,
                    message: "cheque \(number) may be \(ids.joined(separator: " or "))",
                    hint: "say which with --currency or --payout; nothing was changed")
            }
            ids.append(first.id)
        }
        return ids
    }

    /// Tells of what was named and could not be settled.
    private static func expectSettled(_ ids: [Int64], _ session: Session) async throws {
        var others: [String] = []
        for id in ids {
            let payout = try await PayoutRows(session: session).payout(id)
            if payout?.state != .settled {
                others.append("\(id) (\(payout?.state.rawValue ?? "unknown"))")
            }
        }
        guard others.isEmpty else {
            throw CommandFailure(
                exit: .partlyDone, message: "not settled: payout \(others.joined(separator: ", "))",
                hint: "only what is issued by this run is settled; 'errand payout show ID' tells "
                    + "what became of it")
        }
    }

    private static let settle = Command(
        "payout", "settle", effect: .changes,
        summary: "Take note that the bank has paid deposits, or cheques were cashed",
        discussion: """
            What was settled before stays so. A run of which nothing is under way any more is \
            settled itself. What comes back later is told by 'errand payout return'. Exits 7 when \
            something that was named is not to be settled, such as a cheque that is void.
            """,
        examples: [
            .init("errand payout settle 2026-Q3 --deposits", "two days after the pay date"),
            .init("errand payout settle 2026-Q3 --cheque 1041,1043", "from the bank's list"),
        ],
        options: [deposits, cheques, chequeCurrency, payouts, PayoutWords.note],
        arguments: [PayoutWords.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutWords.run(invocation[PayoutWords.run], session)
        guard invocation[deposits] || !invocation[cheques].isEmpty || !invocation[payouts].isEmpty
        else {
            throw CommandFailure(
                exit: .usage, message: "nothing to settle was named",
                hint: "--deposits, --cheque and --payout say what the bank has paid")
        }
        let ids =
            try await payouts(
                byCheques: invocation[cheques], in: invocation[chequeCurrency], of: run, session)
            + invocation[payouts].map(Int64.init)
        let note = invocation[PayoutWords.note]
        let changes = PayoutChanges(session: session, actor: invocation.operatorName)
        let settled = try await PayoutWords.refusing {
            var settled = 0
            if invocation[deposits] {
                settled += try await changes.settleDeposits(run: run.id, reason: note)
            }
            if !ids.isEmpty {
                settled += try await changes.settle(ids, run: run.id, reason: note)
            }
            try await changes.endRun(run.id)
            return settled
        }
        let after = try await PayoutWords.run(run.quarter, session)
        try invocation.output.show(
            Record([
                ("quarter", .text(run.quarter.description)), ("settled", .int(settled)),
                ("state", PayoutWords.state(after)),
            ]))
        try await expectSettled(ids, session)
        return .done
    }

    // MARK: rules

    private static func decimals(_ name: String) -> ValueFormat<String> {
        ValueFormat(name, expected: "a number such as 1.00") { text in
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            let isNumber =
                (1...2).contains(parts.count)
                && parts.allSatisfy { part in
                    !part.isEmpty && part.utf8.allSatisfy { (48...57).contains($0) }
                }
            guard isNumber, parts[0].count <= 4, parts.count == 1 || parts[1].count <= 2
            else { return nil }
            return text
        }
    }
    private static let minimum = Option<String?>.value(
        "minimum", decimals("AMOUNT"),
        help: "The least that is paid, in whole units of each currency")
    private static let deviation = Option<String?>.value(
        "deviation", decimals("PERCENT"),
        help: "By how much a run may differ from its preview, to be approved without more ado")
    private static let allowSame = Option<Switch?>.value(
        "allow-same", .choice(of: Switch.self, "on|off"),
        help: "Whether who has closed a run may approve it")

    private enum Switch: String, CaseIterable, Sendable { case on, off }

    private static let rules = Command(
        "payout", "rules", effect: .changes, summary: "Show or change what is paid, and how",
        discussion: "Without options they are shown. Changes are in the audit.",
        examples: [
            .init("errand payout rules", "what is in force"),
            .init("errand payout rules --minimum 5.00", "smaller balances wait"),
        ],
        options: [minimum, deviation, allowSame, PayoutWords.note]
    ) { invocation in
        let session = try invocation.session()
        let before = try await PayoutRules.read(session)
        var rules = before
        if let given = invocation[minimum] { rules.minimum = given }
        if let given = invocation[deviation] { rules.deviationLimit = given }
        if let given = invocation[allowSame] { rules.allowsSame = given == .on }
        if rules != before {
            try invocation.confirm("change the rules of payouts?")
            try await rules.write(
                by: invocation.operatorName, reason: invocation[PayoutWords.note], session)
            rules = try await PayoutRules.read(session)
        }
        let pay = try await PayRules.read(session)
        try invocation.output.show(
            Record([
                ("minimum", .text(rules.minimum)),
                ("deviation_limit", .text(rules.deviationLimit + " %")),
                ("allow_same", .text((rules.allowsSame ? Switch.on : .off).rawValue)),
                ("time_zone", .text(pay.timeZone)), ("pay_day", .int(pay.payDay)),
            ]))
        return .done
    }
}
