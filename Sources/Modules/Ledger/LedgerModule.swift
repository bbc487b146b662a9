package import ErrandCommand

/// The double-entry ledger of debts and payments.
package struct LedgerModule: Module {
    package let migrations = MigrationLine(
        module: "ledger", needs: ["notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package var fieldNames: [FieldName] { LedgerFieldNames.all }
    package var commands: [Command] { RewardCommands.all + LedgerCommands.all }
    package let nouns = [
        "ledger": "Show balances and transactions, reverse transactions, prove the ledger",
        "reward": "Show rewards of people and the next pay date",
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) {
        LedgerKinds.add(to: &kinds)
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorLedger.findings(of: context)
    }
}
