import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandTerminal

/// `errand payout voids`: the cheques that a bank must not pay.
enum PayoutVoidsCommand {
    private static let since = Option<Instant?>.value(
        "since", JobInputOptions.time, help: "Only since this time, such as the last report"
    ).required()
    private static let currency = Option<Currency>.value(
        "currency", PayoutFormatting.currency, default: .cad, help: "The currency of the cheques")

    static let command = Command(
        "payout", "voids", effect: .read,
        summary: "Print void cheques for the bank's positive pay",
        discussion: """
            Prints void and returned cheques, sorted by number: account, number, amount, issue \
            date, payee and V. The account is from the profile in ERRAND_PAYOUTS_FILE.
            """,
        examples: [
            .init("errand payout voids --since 2026-10-15T00:00:00Z > voids.csv", "for the bank")
        ],
        options: [since, currency]
    ) { invocation in
        let profile = try PayoutSettings.profile(invocation.environment)
        let session = try invocation.session()
        let list = try await PayoutFormatting.refusing {
            try await VoidCheques.csv(
                in: invocation[currency], since: invocation[since], by: profile, session)
        }
        guard list.lines > 0 else {
            invocation.output.note("no cheques were voided or returned since then")
            return .done
        }
        try invocation.output.screen.write(list.bytes)
        return .done
    }
}
