import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandTerminal

/// The list of cheques that a bank must not pay any more.
enum PayoutVoidsCommand {
    private static let since = Option<Instant?>.value(
        "since", JobWords.time, help: "From when on: when the bank was told last"
    ).required()
    private static let currency = Option<Currency>.value(
        "currency", PayoutWords.currency, default: .cad, help: "The currency of the cheques")

    static let command = Command(
        "payout", "voids", effect: .looks,
        summary: "Print the cheques that the bank must not pay any more, for its positive pay",
        discussion: """
            Those that were void and those that the post brought back, ascending: the account, the \
            number, the amount, the day of issue, the payee and V. The profile of \
            ERRAND_PAYOUTS_FILE has the account.
            """,
        examples: [
            .init("errand payout voids --since 2026-10-15T00:00:00Z > voids.csv", "for the bank")
        ],
        options: [since, currency]
    ) { invocation in
        let profile = try PayoutSettings.profile(invocation.environment)
        let session = try invocation.session()
        let list = try await PayoutWords.refusing {
            try await VoidCheques.csv(
                in: invocation[currency], since: invocation[since], by: profile, session)
        }
        guard list.lines > 0 else {
            invocation.output.note("no cheque was void, or came back, since then")
            return .done
        }
        try invocation.output.screen.write(list.bytes)
        return .done
    }
}
