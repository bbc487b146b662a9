package import ErrandCommand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// Quarterly payouts of people's rewards.
package struct PayoutsModule: Module, NotifyingModule, SealingModule {
    package let migrations = MigrationLine(
        module: "payouts", needs: ["ledger", "notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let notices = NoticeKind.payout
    package let noticeTexts = EmbeddedFiles.notices
    package let sealedColumns = BankBook.sealed
    package var fieldNames: [FieldName] { PayoutFieldNames.all }
    package var commands: [Command] { PayoutCommands.all }
    package let nouns = [
        "payout": "Close quarters, approve and issue payouts, record settlements and returns"
    ]

    package let variables: [VariableName] = [
        (PayoutSettings.variable, "Payout profile: a JSON file with the company and its accounts.")
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        PayoutKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup))
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorPayouts.findings(of: context)
    }
}
