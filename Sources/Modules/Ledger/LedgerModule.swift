package import ErrandCommand

/// Money that is owed and paid, in double entry.
package struct LedgerModule: Module {
    package let migrations = MigrationLine(
        module: "ledger", needs: ["notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package var fieldNames: [FieldName] { LedgerFieldNames.all }
    package var commands: [Command] { RewardCommands.all + LedgerCommands.all }
    package let nouns = [
        "ledger": "See what accounts hold and how it came about, undo and prove",
        "reward": "See what people have earned, and when it is paid",
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) {
        LedgerKinds.add(to: &kinds)
    }

    package func findings(of checkup: Checkup) async -> [Finding] {
        await DoctorLedger.findings(of: checkup)
    }
}
