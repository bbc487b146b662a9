import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// `errand payout preview`, `close`, `approve`, `settle` and `rules`: the states of a run.
enum PayoutRunCommands {
    static let all = [preview, close, approve, settle, rules]

    private static let quarter = Argument.optional(
        PayoutFormatting.quarter, help: "The quarter, such as 2026-Q3 (default: the last one)")

    /// The quarter of the command, its time zone and the pay rules.
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
        "payout", "preview", effect: .write,
        summary: "Compute and store the result of closing a quarter, without closing it",
        discussion: """
            Balances do not change. The current quarter can be previewed too. Approving a run \
            compares it with its last preview.
            """,
        examples: [.init("errand payout preview", "the day before the close")],
        arguments: [quarter]
    ) { invocation in
        let session = try invocation.unlimitedSession()
        let subject = try await subject(invocation, session)
        try await PayoutFormatting.refusing {
            try await invocation.pool().transaction { transaction in
                let run = try await Closing.run(
                    of: subject.quarter, rules: subject.rules, in: subject.zone, transaction)
                try await Closing.preview(
                    run: run, actor: invocation.operatorName, transaction)
            }
        }
        try await PayoutFormatting.show(
            try await PayoutFormatting.run(subject.quarter, session), invocation)
        return .done
    }

    // MARK: close

    private static let close = Command(
        "payout", "close", effect: .write,
        summary: "Close a quarter: create the payouts of its rewards",
        discussion: """
            The schedule \(CloseQuarter.kind) does so on the third day of each quarter. Workers \
            of the queue \(CloseQuarter.options.queue) run one job per \(Closing.chunkSize) \
            accounts; 'errand payout show' shows the progress. A quarter is closed only once.
            """,
        examples: [
            .init("errand payout close 2026-Q3", "asks first"),
            .init("errand payout close 2026-Q3 --yes", "without asking"),
        ],
        arguments: [quarter]
    ) { invocation in
        let session = try invocation.session()
        let subject = try await subject(invocation, session)
        try await refuseIfStarted(subject.quarter, session)
        try invocation.confirm("close \(subject.quarter) permanently?")
        let client = try await invocation.client()
        let chunks = try await PayoutFormatting.refusing {
            try await invocation.pool().transaction { transaction in
                let run = try await Closing.run(
                    of: subject.quarter, rules: subject.rules, in: subject.zone, transaction)
                return try await Closing.begin(
                    run: run, now: .now(), actor: invocation.operatorName, client: client,
                    transaction)
            }
        }
        guard let chunks else {
            // Another command or job started it at the same time.
            try await refuseIfStarted(subject.quarter, session)
            return .conflict
        }
        try await PayoutFormatting.show(
            try await PayoutFormatting.run(subject.quarter, session), invocation)
        invocation.output.note(
            "workers of the queue \(CloseQuarter.options.queue) close \(chunks) chunks; "
                + "progress: errand payout show \(subject.quarter)")
        return .done
    }

    /// - Throws: `CommandFailure` (conflict) that names who started the close of a quarter.
    private static func refuseIfStarted(_ quarter: Quarter, _ session: Session) async throws {
        guard let run = try await RunRows(session: session).run(of: quarter),
            let began = run.closingAt
        else { return }
        throw CommandFailure(
            exit: .conflict,
            message: "\(quarter) "
                + (run.isClosing ? "is being closed" : "is \(run.state.rawValue)")
                + ": \(run.closedBy ?? "unknown") started the close at \(began)",
            hint: "'errand payout show \(quarter)' shows the details")
    }

    // MARK: approve

    private static let acknowledge = Option.flag(
        "acknowledge", help: "Approve the run despite its deviation from the preview")

    private static let approve = Command(
        "payout", "approve", effect: .write, summary: "Approve a closed run for issue",
        discussion: """
            The person who closed the run cannot approve it, and neither can the login of \
            PostgreSQL that closed it: 'errand payout rules' has --allow-same and \
            --allow-shared-login. Names are compared without case, extra spaces and invisible \
            characters. --acknowledge is required if the run has no preview, or differs from it by \
            more than the limit.
            """,
        examples: [.init("errand payout approve 2026-Q3 --reason 'reviewed'", "asks first")],
        options: [acknowledge, PayoutFormatting.note], arguments: [PayoutFormatting.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutFormatting.run(invocation[PayoutFormatting.run], session)
        let totals = run.totals.map { total in
            "\(total.payouts) payouts of \(Money(total.amount, total.currency))"
        }
        try invocation.confirm(
            "approve \(run.quarter), \(totals.isEmpty ? "empty" : totals.joined(separator: ", "))?")
        try await PayoutFormatting.refusing {
            try await PayoutChanges(session: session, actor: invocation.operatorName).approve(
                run: run.id, reason: invocation[PayoutFormatting.note],
                isAcknowledged: invocation[acknowledge])
        }
        try await PayoutFormatting.show(
            try await PayoutFormatting.run(run.quarter, session), invocation)
        return .done
    }

    // MARK: settle

    private static let deposits = Option.flag(
        "deposits", help: "Settle all deposits of the run: the bank has processed the files")
    private static let cheques = Option<[Int]>.list(
        "cheque", .integer("N", in: 1...999_999_999), help: "Settle cashed cheques by number")
    private static let payouts = Option<[Int]>.list(
        "payout", .integer("ID", in: 1...Int.max), help: "Settle payouts by id")

    private static let chequeCurrency = Option<Currency?>.value(
        "currency", PayoutFormatting.currency,
        help: "Currency of the cheques, if two currencies share numbers")

    /// The payouts of these cheque numbers.
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
                    hint: "'errand payout ls --cheque \(number)' shows its run")
            }
            guard found.count == 1 else {
                let ids = found.map { "payout \($0.id) of \($0.amount)" }
                throw CommandFailure(
                    exit: .usage,
                    message: "cheque \(number) is ambiguous: \(ids.joined(separator: " or "))",
                    hint: "select it with --currency or --payout; nothing was changed")
            }
            ids.append(first.id)
        }
        return ids
    }

    /// Throws a failure that lists the payouts that could not be settled.
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
                hint: "only issued payouts of this run can be settled; 'errand payout show ID' "
                    + "shows the history")
        }
    }

    private static let settle = Command(
        "payout", "settle", effect: .write,
        summary: "Record paid deposits and cashed cheques",
        discussion: """
            Settled payouts stay settled. A run without pending or issued payouts becomes settled \
            too. Record later returns with 'errand payout return'. Exits 7 if a given payout \
            cannot be settled, such as a void cheque.
            """,
        examples: [
            .init("errand payout settle 2026-Q3 --deposits", "two days after the pay date"),
            .init("errand payout settle 2026-Q3 --cheque 1041,1043", "from the bank's list"),
        ],
        options: [deposits, cheques, chequeCurrency, payouts, PayoutFormatting.note],
        arguments: [PayoutFormatting.run]
    ) { invocation in
        let session = try invocation.session()
        let run = try await PayoutFormatting.run(invocation[PayoutFormatting.run], session)
        guard invocation[deposits] || !invocation[cheques].isEmpty || !invocation[payouts].isEmpty
        else {
            throw CommandFailure(
                exit: .usage, message: "nothing to settle",
                hint: "use --deposits, --cheque or --payout")
        }
        let ids =
            try await payouts(
                byCheques: invocation[cheques], in: invocation[chequeCurrency], of: run, session)
            + invocation[payouts].map(Int64.init)
        let note = invocation[PayoutFormatting.note]
        let changes = PayoutChanges(session: session, actor: invocation.operatorName)
        let settled = try await PayoutFormatting.refusing {
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
        let after = try await PayoutFormatting.run(run.quarter, session)
        try invocation.output.show(
            Record([
                ("quarter", .text(run.quarter.description)), ("settled", .int(settled)),
                ("state", PayoutFormatting.state(after)),
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
        help: "Minimum payout, in major units of each currency")
    private static let deviation = Option<String?>.value(
        "deviation", decimals("PERCENT"),
        help: "Maximum deviation of a run from its preview without --acknowledge")
    private static let allowSame = Option<Switch?>.value(
        "allow-same", .choice(of: Switch.self, "on|off"),
        help: "Whether one person may close and approve a run")
    private static let allowSharedLogin = Option<Switch?>.value(
        "allow-shared-login", .choice(of: Switch.self, "on|off"),
        help: "Whether two persons may close and approve a run by one login of PostgreSQL")

    private enum Switch: String, CaseIterable, Sendable { case on, off }

    private static let rules = Command(
        "payout", "rules", effect: .write, summary: "Show or change the rules of payouts",
        discussion: "Shows the rules without options. The audit log records changes.",
        examples: [
            .init("errand payout rules", "the current rules"),
            .init("errand payout rules --minimum 5.00", "carry smaller balances over"),
        ],
        options: [minimum, deviation, allowSame, allowSharedLogin, PayoutFormatting.note]
    ) { invocation in
        let session = try invocation.session()
        let before = try await PayoutRules.read(session)
        var rules = before
        if let given = invocation[minimum] { rules.minimum = given }
        if let given = invocation[deviation] { rules.deviationLimit = given }
        if let given = invocation[allowSame] { rules.allowsSame = given == .on }
        if let given = invocation[allowSharedLogin] { rules.allowsSharedLogin = given == .on }
        if rules != before {
            try invocation.confirm("change the rules of payouts?")
            try await rules.write(
                by: invocation.operatorName, reason: invocation[PayoutFormatting.note], session)
            rules = try await PayoutRules.read(session)
        }
        let pay = try await PayRules.read(session)
        try invocation.output.show(
            Record([
                ("minimum", .text(rules.minimum)),
                ("deviation_limit", .text(rules.deviationLimit + " %")),
                ("allow_same", .text((rules.allowsSame ? Switch.on : .off).rawValue)),
                (
                    "allow_shared_login",
                    .text((rules.allowsSharedLogin ? Switch.on : .off).rawValue)
                ),
                ("time_zone", .text(pay.timeZone)), ("pay_day", .int(pay.payDay)),
            ]))
        return .done
    }
}
