package import Errand
package import ErrandCommand
package import ErrandNotification

/// Reports and statements of establishments, as CSV and PDF, and what establishments paid.
package struct ReportsModule: Module, NotifyingModule {
    package let migrations = MigrationLine(
        module: "reports",
        needs: [
            "coupons", "establishments", "ledger", "missions", "notification", "people", "surveys",
        ], files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let notices = NoticeKind.report
    package let noticeTexts = EmbeddedFiles.notices
    package var fieldNames: [FieldName] { ReportFieldNames.all }
    package var commands: [Command] { ReportCommands.all + PaymentCommands.all }
    package let nouns = ["report": "Show, make, check and resend reports of establishments"]
    package let variables = ReportSettings.variables

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        let folder = try ReportSettings.folder(setup.environment)
        ReportKinds.add(to: &kinds, folder: folder, isListing: setup.purpose != .working)
        if folder == nil, setup.queues.contains(MakeReport.options.queue) {
            setup.log.info(
                "this worker makes no reports: set \(ReportSettings.variable) to their folder")
        }
    }

    package func settings(forKind kind: String, queue: String) -> String? {
        kind == MakeReport.kind ? ReportSettings.variable : nil
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorReports.findings(of: context)
    }
}
