package import ErrandCommand
package import ErrandNotification

/// Room-mates: who lives together, what is to be done, bought and paid.
package struct HouseholdModule: Module, NotifyingModule {
    package let migrations = MigrationLine(
        module: "household", needs: ["notification", "ledger", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let notices = NoticeKind.household
    package let noticeTexts = EmbeddedFiles.notices
    package var fieldNames: [FieldName] { HouseholdFieldNames.all }
    package var commands: [Command] { HouseholdCommands.all }
    package let nouns = [
        "household": "Show groups of room-mates: debts, chores, events; remind debtors"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        HouseholdKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup))
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorHouseholds.findings(of: context)
    }
}
