package import ErrandCommand
package import ErrandNotification

/// Secret shoppers: who they are, what they are sent on, and what they bring back.
package struct MissionsModule: Module, NotifyingModule {
    package let migrations = MigrationLine(
        module: "missions",
        needs: ["coupons", "establishments", "ledger", "notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let extensions = ["postgis"]
    package let notices = NoticeKind.mission
    package let noticeTexts = EmbeddedFiles.notices
    package var fieldNames: [FieldName] { MissionFieldNames.all }
    package var commands: [Command] { MissionCommands.all + ShopperCommands.all }
    package let nouns = [
        "mission": "Show, assign, offer, withdraw and review missions",
        "shopper": "Show, hire, refuse and suspend shoppers",
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        MissionKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup))
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorMissions.findings(of: context)
    }
}
