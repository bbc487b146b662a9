package import ErrandGregorian
package import ErrandLedger
package import ErrandPostgres
import ErrandRecurrence

/// The payouts of one quarter.
package struct RunRecord: Sendable {
    package var id: Int64
    package var quarter: Quarter
    package var state: RunState
    /// What was earned before is paid.
    package var cutOff: Instant
    package var payDate: CivilDate
    package var madeAt: Instant
    package var closingAt: Instant?
    package var closedAt: Instant?
    package var closedBy: String?
    package var approvedAt: Instant?
    package var approvedBy: String?
    package var issuedAt: Instant?
    package var settledAt: Instant?
    /// All chunks, and those that are not closed yet.
    package var chunks: Int
    package var chunksLeft: Int
    /// By how many percent it differs from its last preview; nil when it had none.
    package var deviation: String?
    /// One for each currency, once it is being closed.
    package var totals: [RunTotal] = []
    /// What closing it would have done, when somebody last asked; one for each currency.
    package var previews: [RunTotal] = []
    /// How its payouts stand by now.
    package var states: [StateTotal] = []

    /// Whether it is being closed, and is not yet.
    package var isClosing: Bool { state == .preview && closingAt != nil }
}

/// What closing a run does in one currency.
package struct RunTotal: Sendable, Equatable {
    package var currency: Currency
    /// Paid.
    package var payouts: Int
    package var amount: Int64
    /// Held, because something is missing.
    package var held: Int
    package var heldAmount: Int64
    /// Left for the next run, because it is too little.
    package var carried: Int
    package var carriedAmount: Int64
    /// Of a preview: when it was made.
    package var at: Instant?

    init(_ row: Row) throws {
        currency = try row.currency()
        payouts = Int(try row.int64("payouts"))
        amount = try row.int64("amount")
        held = Int(try row.int64("held"))
        heldAmount = try row.int64("held_amount")
        carried = Int(try row.int64("carried"))
        carriedAmount = try row.int64("carried_amount")
        at = try row.optionalTimestamp("at")
    }
}

/// The payouts of a run that are in one state and currency.
package struct StateTotal: Sendable, Equatable {
    package var state: PayoutState
    package var currency: Currency
    package var payouts: Int
    package var amount: Int64
}

extension Row {
    /// A column of one of the states or methods.
    func state<Case: RawRepresentable>(_ name: String) throws -> Case
    where Case.RawValue == String {
        let text = try text(name)
        guard let value = Case(rawValue: text) else {
            throw PostgresError.decoding("\(name) \(text) is unknown to this version")
        }
        return value
    }

    /// A date that the statement gives as text.
    func civilDate(_ name: String) throws -> CivilDate {
        let parts = try text(name).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3 else { throw PostgresError.decoding("\(name) is no date") }
        return CivilDate(year: parts[0], month: parts[1], day: parts[2])
    }
}
