import ErrandGregorian
import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandTerminal

/// The arguments, errors and records that the payout commands share.
enum PayoutFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The payout's id")
    static let quarter = ValueFormat<Quarter>("QUARTER", expected: "a quarter such as 2026-Q3") {
        Quarter($0)
    }
    static let run = Argument.required(quarter, help: "The run's quarter, such as 2026-Q3")
    static let person = Argument.required(
        ValueFormat.integer("PERSON", in: 1...Int.max), help: "The person's id")
    static let why = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500),
        help: "Reason, kept with the payout and visible to its person"
    ).required()
    static let note = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500), help: "Reason, kept in the history")

    static let currency = ValueFormat<Currency>(
        "CODE", expected: "a currency by its code, such as CAD"
    ) { Currency($0) }

    /// The run of a quarter with its totals.
    static func run(_ quarter: Quarter, _ session: Session) async throws -> RunRecord {
        guard let run = try await RunRows(session: session).run(of: quarter) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no run for \(quarter)",
                hint: "'errand payout preview \(quarter)' creates one; 'errand payout runs' lists "
                    + "the runs")
        }
        return run
    }

    static func payout(_ id: Int, _ session: Session) async throws -> PayoutRecord {
        guard let payout = try await PayoutRows(session: session).payout(Int64(id)) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no payout \(id)",
                hint: "'errand payout ls' lists the payouts")
        }
        return payout
    }

    /// Turns refusals of the schema's functions into command failures.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as PayoutError {
            throw failure(error)
        }
    }

    static func failure(_ error: PayoutError) -> CommandFailure {
        switch error {
        case .notFound(let words): CommandFailure(exit: .notFound, message: words)
        case .conflict(let words): CommandFailure(exit: .conflict, message: words)
        case .refused(let words, let hint):
            CommandFailure(exit: .refused, message: words, hint: hint)
        case .invalid(let words): CommandFailure(exit: .usage, message: words)
        }
    }

    // MARK: Cells

    static func state(_ state: PayoutState) -> Cell {
        let style: Style =
            switch state {
            case .pending, .issued: .cyan
            case .settled: .green
            case .returned, .held: .yellow
            case .reissued, .void: .dim
            }
        return .marked(state.rawValue, style)
    }

    static func state(_ run: RunRecord) -> Cell {
        if run.isClosing { return .marked("closing", .yellow) }
        let style: Style =
            switch run.state {
            case .preview: .dim
            case .closed, .approved, .issued: .cyan
            case .settled: .green
            }
        return .marked(run.state.rawValue, style)
    }

    /// The record of a payout, with the field names that scripts rely on.
    ///
    /// - Parameter amount: the cell of the amount; nil for the form of a list.
    static func record(_ payout: PayoutRecord, amount: Cell? = nil) -> Record {
        Record([
            ("id", .id(Int(payout.id))), ("quarter", .text(payout.quarter.description)),
            ("person", .id(Int(payout.person))),
            ("amount", amount ?? LedgerFormatting.cell(payout.amount)),
            ("currency", .text(payout.amount.currency.code)), ("state", state(payout.state)),
            ("method", .optional(payout.method) { .text($0.rawValue) }),
            ("reference", .text(payout.reference)),
            ("cheque", .optional(payout.chequeNumber) { .int(Int($0)) }),
            ("in_file", .optional(payout.fileID) { .id(Int($0)) }),
            ("reason", .optional(payout.reason) { .text($0) }),
            ("pay_date", .text(payout.payDate.isoText)),
            ("account", .id(Int(payout.accountID))),
            ("replaces", .optional(payout.replaces) { .id(Int($0)) }),
            ("replaced_by", .optional(payout.replacedBy) { .id(Int($0)) }),
        ])
    }

    /// The record of a payout for a card.
    static func card(_ payout: PayoutRecord, _ invocation: Invocation) -> Record {
        record(payout, amount: LedgerFormatting.cell(payout.amount, invocation))
    }

    static func record(_ run: RunRecord) -> Record {
        Record([
            ("quarter", .text(run.quarter.description)), ("state", state(run)),
            ("cut_off", run.cutOff.cell), ("pay_date", .text(run.payDate.isoText)),
            ("chunks", .int(run.chunks)), ("chunks_left", .int(run.chunksLeft)),
            ("deviation", .optional(run.deviation) { .text($0 + " %") }),
            ("closed_at", .optional(run.closedAt) { $0.cell }),
            ("closed_by", .optional(run.closedBy) { .text($0) }),
            ("closed_by_login", .optional(run.closedByLogin) { .text($0) }),
            ("approved_at", .optional(run.approvedAt) { $0.cell }),
            ("approved_by", .optional(run.approvedBy) { .text($0) }),
            ("approved_by_login", .optional(run.approvedByLogin) { .text($0) }),
            ("issued_at", .optional(run.issuedAt) { $0.cell }),
            ("settled_at", .optional(run.settledAt) { $0.cell }),
        ])
    }

    static func record(_ total: RunTotal, _ invocation: Invocation) -> Record {
        func cell(_ amount: Int64) -> Cell {
            LedgerFormatting.cell(Money(amount, total.currency), invocation)
        }
        return Record([
            ("currency", .text(total.currency.code)), ("payouts", .int(total.payouts)),
            ("amount", cell(total.amount)), ("held_payouts", .int(total.held)),
            ("held_amount", cell(total.heldAmount)), ("carried", .int(total.carried)),
            ("carried_amount", cell(total.carriedAmount)),
            ("at", .optional(total.at) { $0.cell }),
        ])
    }

    static func record(_ change: ChangeRecord, _ invocation: Invocation) -> Record {
        Record([
            ("at", change.at.cell), ("action", .text(change.action)),
            ("actor", .text(change.actor)), ("login", .optional(change.login) { .text($0) }),
            ("reason", .optional(change.reason) { .text($0) }),
            ("payouts", .optional(change.payouts) { .int($0) }),
            ("amount", .optional(change.amount) { LedgerFormatting.cell($0, invocation) }),
            ("currency", .optional(change.amount) { .text($0.currency.code) }),
            ("transaction", .optional(change.transactionID) { .id(Int($0)) }),
        ])
    }

    /// Shows a run with its totals, previews, states and changes.
    static func show(_ run: RunRecord, _ invocation: Invocation, changes: Int = 0) async throws {
        var record = record(run)
        record.append("totals", .records(run.totals.map { Self.record($0, invocation) }))
        record.append("previews", .records(run.previews.map { Self.record($0, invocation) }))
        record.append(
            "states",
            .records(
                run.states.map { total in
                    Record([
                        ("state", state(total.state)), ("payouts", .int(total.payouts)),
                        (
                            "amount",
                            LedgerFormatting.cell(Money(total.amount, total.currency), invocation)
                        ),
                        ("currency", .text(total.currency.code)),
                    ])
                }))
        if changes > 0 {
            let rows = PayoutRows(session: try invocation.session())
            let list = try await rows.changes(ofRun: run.id, limit: changes)
            record.append("changes", .records(list.map { Self.record($0, invocation) }))
        }
        try invocation.output.show(record)
    }
}
