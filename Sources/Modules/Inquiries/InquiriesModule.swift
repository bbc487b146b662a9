package import Errand
package import ErrandCommand
package import ErrandNotification

/// Questions of people, above all of secret shoppers, and the answers of agents.
package struct InquiriesModule: Module, NotifyingModule {
    package let migrations = MigrationLine(
        module: "inquiries", needs: ["missions", "notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let notices = NoticeKind.inquiry
    package let noticeTexts = EmbeddedFiles.notices
    package var fieldNames: [FieldName] { InquiryFieldNames.all }
    package var commands: [Command] { InquiryCommands.all }
    package let nouns = [
        "inquiry": "List, show, answer and close the questions of people"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        InquiryKinds.add(to: &kinds)
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorInquiries.findings(of: context)
    }
}
