package import Errand
package import ErrandCommand

/// The people of all apps: their facts, age and consents, their erasure, and how long data about
/// them is kept.
package struct PeopleModule: Module {
    package let migrations = MigrationLine(
        module: "people", files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package var fieldNames: [FieldName] { PeopleFieldNames.all }
    package var commands: [Command] {
        PersonCommands.all + ErasureCommands.all + SuppressionCommands.all + RetentionCommands.all
    }
    package let nouns = [
        "person": "Show, export and erase people, and verify certificates of erasure",
        "retention": "List, run and change how long data about people is kept",
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        PeopleKinds.add(to: &kinds)
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorPeople.findings(of: context)
    }
}
