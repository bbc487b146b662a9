import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandTerminal

/// `errand payout …`: payouts by run and by person.
enum PayoutCommands {
    static let all =
        [runs, list, show] + PayoutRunCommands.all + PayoutIssueCommands.all
        + PayoutChangeCommands.all + PayoutDetailCommands.all + [PayoutVoidsCommand.command, prove]

    // MARK: runs

    private static let inState = Option<RunState?>.value(
        "state", .choice(of: RunState.self, "STATE"), help: "Only runs in this state")

    private static let runs = Command(
        "payout", "runs", effect: .read, summary: "List the quarterly runs, latest first",
        discussion: "DEVIATION is the difference between a run's total and its last preview.",
        examples: [.init("errand payout runs", "the state of each quarter")],
        options: [inState, PageOptions.limit]
    ) { invocation in
        let runs = try await RunRows(session: try invocation.session()).page(
            state: invocation[inState], limit: invocation[PageOptions.limit])
        try invocation.output.list(
            runs.map { PayoutFormatting.record($0) },
            columns: [
                Column("quarter"), Column("state"), Column("pay_date"), Column("chunks_left"),
                Column("deviation"), Column("closed_by"), Column("approved_by"),
            ], empty: "no runs: no quarter was previewed or closed")
        return .done
    }

    // MARK: ls

    private static let ofRun = Option<Quarter?>.value(
        "run", PayoutFormatting.quarter, help: "Only payouts of this quarter's run")
    private static let state = Option<PayoutState?>.value(
        "state", .choice(of: PayoutState.self, "STATE"), help: "Only payouts in this state")
    private static let method = Option<PayoutMethod?>.value(
        "method", .choice(of: PayoutMethod.self, "METHOD"), help: "Only payouts by this method")
    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only this person's payouts")
    private static let cheque = Option<Int?>.integer(
        "cheque", range: 1...999_999_999, placeholder: "N", help: "Only cheque number N")

    private static let list = Command(
        "payout", "ls", effect: .read, summary: "List payouts, sorted by id",
        discussion: """
            A payout is one payment to one person for one quarter. Reissuing a returned payout \
            creates another one.
            """,
        examples: [
            .init("errand payout ls --run 2026-Q3 --state held", "held payouts and the reasons"),
            .init("errand payout ls --run 2026-Q3 -ocsv --limit 100000", "for a spreadsheet"),
        ],
        options: [ofRun, state, method, person, cheque, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = PayoutFilter()
        filter.quarter = invocation[ofRun]
        filter.state = invocation[state]
        filter.method = invocation[method]
        filter.person = invocation[person].map(Int64.init)
        filter.chequeNumber = invocation[cheque].map(Int64.init)
        filter.behind = Int64(invocation[PageOptions.cursor] ?? 0)
        filter.limit = invocation[PageOptions.limit]
        let payouts = try await PayoutRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            payouts.map { PayoutFormatting.record($0) },
            columns: [
                Column("id"), Column("quarter"), Column("person"), Column("amount"),
                Column("currency"), Column("state"), Column("method"), Column("cheque"),
                Column("reason", isFlexible: true),
            ], empty: "no payouts match")
        if payouts.count == filter.limit, let last = payouts.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    // MARK: show

    /// A run by its quarter, or a payout by its id or reference.
    private enum Subject: Sendable {
        case run(Quarter)
        case payout(Int)
    }

    private static let subject = Argument.required(
        ValueFormat<Subject>(
            "QUARTER|ID", expected: "a quarter such as 2026-Q3, or the id of a payout"
        ) { text in
            if let quarter = Quarter(text) { return .run(quarter) }
            if let id = PayoutReference.id(of: text) { return .payout(Int(id)) }
            return Int(text).flatMap { $0 > 0 ? .payout($0) : nil }
        }, help: "A run's quarter, or a payout's id or reference, such as P4711")
    private static let shownChanges = 20

    private static let show = Command(
        "payout", "show", effect: .read,
        summary: "Show a run with its totals, or a payout with its history",
        discussion: """
            Each change has its actor, time, reason and transaction of the ledger.
            """,
        examples: [
            .init("errand payout show 2026-Q3", "before approving it"),
            .init("errand payout show 4711", "the history of a payout"),
        ],
        arguments: [subject]
    ) { invocation in
        let session = try invocation.session()
        switch invocation[subject] {
        case .run(let quarter):
            try await PayoutFormatting.show(
                try await PayoutFormatting.run(quarter, session), invocation, changes: shownChanges)
        case .payout(let id):
            let payout = try await PayoutFormatting.payout(id, session)
            var record = PayoutFormatting.card(payout, invocation)
            let changes = try await PayoutRows(session: session).changes(ofPayout: payout.id)
            record.append(
                "changes", .records(changes.map { PayoutFormatting.record($0, invocation) }))
            try invocation.output.show(record)
        }
        return .done
    }

    // MARK: prove

    private static let prove = Command(
        "payout", "prove", effect: .read,
        summary: "Verify that payouts, the ledger and the files agree to the cent",
        discussion: """
            Reads one snapshot and compares the debits of each person with their payouts, the \
            balances in transit and at the bank with the states of payouts, and chunks, files and \
            cheque numbers with their contents. Exits 1 on a fault.
            """,
        examples: [.init("errand payout prove", "before the files go to the bank")]
    ) { invocation in
        let proof = try await PayoutProof.make(try invocation.pool())
        try invocation.output.show(
            Record([
                (
                    "result",
                    proof.faults.isEmpty ? .marked("proved", .green) : .marked("broken", .red)
                ),
                ("payouts", .int(proof.payouts)), ("faults", .int(proof.faults.count)),
                ("examples", .list(proof.faults)),
            ]))
        guard let first = proof.faults.first else { return .done }
        throw CommandFailure(
            exit: .failed, message: "the proof of the payouts failed: \(first)",
            hint: "stop payouts until this is explained; 'errand ledger prove' checks the ledger")
    }
}
