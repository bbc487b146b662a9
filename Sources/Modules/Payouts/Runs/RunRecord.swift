package import ErrandGregorian
package import ErrandLedger
package import ErrandPostgres
import ErrandRecurrence

/// A run: the payouts of one quarter.
package struct RunRecord: Sendable {
    package var id: Int64
    package var quarter: Quarter
    package var state: RunState
    /// The end of the quarter; the run pays rewards earned before it.
    package var cutOff: Instant
    package var payDate: CivilDate
    package var madeAt: Instant
    package var closingAt: Instant?
    package var closedAt: Instant?
    package var closedBy: String?
    /// The login that started the close; nil for runs of older versions.
    package var closedByLogin: String?
    package var approvedAt: Instant?
    package var approvedBy: String?
    package var approvedByLogin: String?
    package var issuedAt: Instant?
    package var settledAt: Instant?
    /// The number of chunks, and of chunks not closed yet.
    package var chunks: Int
    package var chunksLeft: Int
    /// The deviation from the last preview in percent; nil without a preview.
    package var deviation: String?
    /// The totals by currency, once the close has started.
    package var totals: [RunTotal] = []
    /// The last preview, by currency.
    package var previews: [RunTotal] = []
    /// The current states of its payouts.
    package var states: [StateTotal] = []

    /// Whether its close has started and not ended.
    package var isClosing: Bool { state == .preview && closingAt != nil }
}

/// The result of closing a run in one currency.
package struct RunTotal: Sendable, Equatable {
    package var currency: Currency
    /// Payouts to pay.
    package var payouts: Int
    package var amount: Int64
    /// Payouts held because information is missing.
    package var held: Int
    package var heldAmount: Int64
    /// People carried over to the next run because their balance is below the minimum.
    package var carried: Int
    package var carriedAmount: Int64
    /// The time of a preview.
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

/// The payouts of a run in one state and currency.
package struct StateTotal: Sendable, Equatable {
    package var state: PayoutState
    package var currency: Currency
    package var payouts: Int
    package var amount: Int64
}

extension Row {
    /// A state or method in a column.
    func state<Case: RawRepresentable>(_ name: String) throws -> Case
    where Case.RawValue == String {
        let text = try text(name)
        guard let value = Case(rawValue: text) else {
            throw PostgresError.decoding("unknown \(name) \(text)")
        }
        return value
    }

    /// A date in a text column.
    func civilDate(_ name: String) throws -> CivilDate {
        let parts = try text(name).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3 else { throw PostgresError.decoding("\(name) is not a date") }
        return CivilDate(year: parts[0], month: parts[1], day: parts[2])
    }
}
