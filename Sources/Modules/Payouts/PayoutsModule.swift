package import ErrandCommand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// What people have earned is paid to them, a quarter at a time.
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
        "payout": "Close quarters, approve and issue what people are paid, take back what returns"
    ]

    package let variables: [VariableName] = [
        (PayoutSettings.variable, "A file of JSON that says who pays, from which accounts.")
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        PayoutKinds.add(to: &kinds, telling: try NoticeCatalogue.of(setup))
    }

    package func findings(of checkup: Checkup) async -> [Finding] {
        await DoctorPayouts.findings(of: checkup)
    }
}
