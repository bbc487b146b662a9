import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandTerminal

/// `errand payout …`: what is paid, run by run and person by person.
enum PayoutCommands {
    static let all =
        [runs, list, show] + PayoutRunCommands.all + PayoutIssueCommands.all
        + PayoutChangeCommands.all + PayoutDetailCommands.all + [PayoutVoidsCommand.command, prove]

    // MARK: runs

    private static let inState = Option<RunState?>.value(
        "state", .choice(of: RunState.self, "STATE"), help: "Only runs in this state")

    private static let runs = Command(
        "payout", "runs", effect: .looks, summary: "List the quarterly runs, the latest first",
        discussion: "DEVIATION is by how much a run's total differs from its last preview.",
        examples: [.init("errand payout runs", "how far each quarter is")],
        options: [inState, PageOptions.limit]
    ) { invocation in
        let runs = try await RunRows(session: try invocation.session()).page(
            state: invocation[inState], limit: invocation[PageOptions.limit])
        try invocation.output.list(
            runs.map { PayoutWords.record($0) },
            columns: [
                Column("quarter"), Column("state"), Column("pay_date"), Column("chunks_left"),
                Column("deviation"), Column("closed_by"), Column("approved_by"),
            ], empty: "no quarter was previewed or closed")
        return .done
    }

    // MARK: ls

    private static let ofRun = Option<Quarter?>.value(
        "run", PayoutWords.quarter, help: "Only payouts of this quarter's run")
    private static let state = Option<PayoutState?>.value(
        "state", .choice(of: PayoutState.self, "STATE"), help: "Only payouts in this state")
    private static let method = Option<PayoutMethod?>.value(
        "method", .choice(of: PayoutMethod.self, "METHOD"), help: "Only those paid by this means")
    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only this person's")
    private static let cheque = Option<Int?>.integer(
        "cheque", range: 1...999_999_999, placeholder: "N", help: "Only the cheque of this number")

    private static let list = Command(
        "payout", "ls", effect: .looks, summary: "List payouts in the order of their ids",
        discussion: """
            A payout is one payment to one person for one quarter. One that came back is replaced \
            by another one.
            """,
        examples: [
            .init("errand payout ls --run 2026-Q3 --state held", "who cannot be paid, and why"),
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
            payouts.map { PayoutWords.record($0) },
            columns: [
                Column("id"), Column("quarter"), Column("person"), Column("amount"),
                Column("currency"), Column("state"), Column("method"), Column("cheque"),
                Column("reason", isFlexible: true),
            ], empty: "no payout passes these filters")
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
        "payout", "show", effect: .looks,
        summary: "Show a run with its totals, or a payout with its story",
        discussion: """
            Each change stands there with who made it, when and why, and the ledger's transaction \
            that came with it.
            """,
        examples: [
            .init("errand payout show 2026-Q3", "before approving it"),
            .init("errand payout show 4711", "what became of somebody's money"),
        ],
        arguments: [subject]
    ) { invocation in
        let session = try invocation.session()
        switch invocation[subject] {
        case .run(let quarter):
            try await PayoutWords.show(
                try await PayoutWords.run(quarter, session), invocation, changes: shownChanges)
        case .payout(let id):
            let payout = try await PayoutWords.payout(id, session)
            var record = PayoutWords.card(payout, invocation)
            let changes = try await PayoutRows(session: session).changes(ofPayout: payout.id)
            record.append(
                "changes", .records(changes.map { PayoutWords.record($0, invocation) }))
            try invocation.output.show(record)
        }
        return .done
    }

    // MARK: prove

    private static let prove = Command(
        "payout", "prove", effect: .looks,
        summary: "Prove that payouts, the ledger and the files agree to the cent",
        discussion: """
            Compares, as of one moment: what was taken from each person with their payouts; what \
            is in transit and what has left the bank with the payouts' states; chunks, files and \
            numbers of cheques with what they hold. Exits 1 when there is a fault.
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
            exit: .failed, message: "the payouts do not prove: \(first)",
            hint: "pay nothing before it is clear why; 'errand ledger prove' looks at the ledger")
    }
}
