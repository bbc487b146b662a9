import ErrandCommand
import ErrandGregorian
package import ErrandPostgres
import ErrandRecurrence
package import ErrandTerminal

/// What the commands about rewards and the ledger have in common.
package enum LedgerWords {
    package static let currency = Option<Currency?>.value(
        "currency",
        ValueFormat("CODE", expected: "a currency by its code, such as CAD") { Currency($0) },
        help: "Only amounts in this currency")
    /// Decimals for people, minor units for programs.
    package static func cell(_ money: Money) -> Cell {
        .brief(.text(money.digits), of: .int(Int(money.minorUnits)))
    }

    /// The same in a card, where tables' short forms are not used.
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

    /// When rewards are paid next, as `2026-10-15`; a zone that this machine lacks is an error.
    package static func nextPayDate(_ session: Session, _ invocation: Invocation) async throws
        -> Cell
    {
        let rules = try await PayRules.read(session)
        let zone = try invocation.zones.zone(named: rules.timeZone)
        return .text(rules.nextPayDate(at: .now(), in: zone).isoText)
    }
}
