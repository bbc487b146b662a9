package import Errand
package import ErrandCommand
package import ErrandNotification

/// Badges of people for what they did, such as coupons used and surveys done.
package struct BadgesModule: Module, NotifyingModule {
    package let migrations = MigrationLine(
        module: "badges", needs: ["establishments", "notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let notices = NoticeKind.badge
    package let noticeTexts = EmbeddedFiles.notices
    package var fieldNames: [FieldName] { BadgeFieldNames.all }
    package var commands: [Command] { BadgeCommands.all }
    package let nouns = [
        "badge": "Show the badges of people, and recount what earns them"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        BadgeKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup))
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorBadges.findings(of: context)
    }
}
