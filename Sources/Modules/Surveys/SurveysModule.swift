package import ErrandCommand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// Surveys of establishments: receipts, invitations, answers and their quality.
package struct SurveysModule: Module, NotifyingModule, SealingModule {
    package let migrations = MigrationLine(
        module: "surveys",
        needs: [
            "badges", "coupons", "establishments", "ledger", "missions", "notification", "people",
        ],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let notices = NoticeKind.survey
    package let noticeTexts = EmbeddedFiles.notices
    package let sealedColumns = SurveyKinds.sealed
    package var fieldNames: [FieldName] { SurveyFieldNames.all }
    package var commands: [Command] { SurveyCommands.all }
    package let nouns = [
        "survey": "List, change and review surveys, and manage the keys of receipts"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        let keys = try KeySettings.keys(setup.environment)
        SurveyKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup), sealing: keys)
        if setup.purpose == .listing { kinds.handle(PrepareReceiptKeys.self) { _, _ in } }
        if keys == nil, setup.queues.contains(PrepareReceiptKeys.options.queue) {
            setup.log.info(
                "this worker does not create receipt keys: it has no keys; "
                    + "set \(KeySettings.variable) to the key file")
        }
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorSurveys.findings(of: context)
    }
}
