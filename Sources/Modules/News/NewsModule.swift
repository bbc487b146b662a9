package import Errand
package import ErrandCommand
import ErrandNotification

/// Terms and news of the company, sent to many people in chunks.
package struct NewsModule: Module {
    package let migrations = MigrationLine(
        module: "news", needs: ["notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package var fieldNames: [FieldName] { NewsFieldNames.all }
    package var commands: [Command] { NewsCommands.all }
    package let nouns = [
        "news": "Send terms and news of the company to many people; watch, pause and resume"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        NewsKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup))
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorNews.findings(of: context)
    }
}
