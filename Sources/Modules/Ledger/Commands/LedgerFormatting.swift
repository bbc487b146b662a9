import ErrandCommand
import ErrandGregorian
package import ErrandPostgres
import ErrandRecurrence
package import ErrandTerminal

/// The options and cells that the reward and ledger commands share.
package enum LedgerFormatting {
    package static let currency = Option<Currency?>.value(
        "currency",
        ValueFormat("CODE", expected: "a currency by its code, such as CAD") { Currency($0) },
        help: "Only amounts in this currency")
    /// The cell of an amount: decimals for people, minor units for programs.
    package static func cell(_ money: Money) -> Cell {
        .brief(.text(money.digits), of: .int(Int(money.minorUnits)))
    }

    /// The cell of an amount in a card, which has no short forms.
    package static func cell(_ money: Money, _ invocation: Invocation) -> Cell {
        invocation.output.isForPeople ? .text(money.digits) : .int(Int(money.minorUnits))
    }

    package static func line(_ line: LineRecord) -> Record {
        Record([
            ("transaction", .id(Int(line.transactionID))), ("at", line.at.cell),
            ("kind", .text(line.kind)), ("source", .optional(line.source) { .text($0) }),
            ("account", .id(Int(line.accountID))), ("account_kind", .text(line.accountKind)),
            ("account_owner", .optional(line.owner) { .id(Int($0)) }),
            ("currency", .text(line.amount.currency.code)), ("amount", cell(line.amount)),
        ])
    }

    /// The next pay date of rewards, such as `2026-10-15`; throws if this host lacks the time zone.
    package static func nextPayDate(_ session: Session, _ invocation: Invocation) async throws
        -> Cell
    {
        let rules = try await PayRules.read(session)
        let zone = try invocation.zones.zone(named: rules.timeZone)
        return .text(rules.nextPayDate(at: .now(), in: zone).isoText)
    }
}
