package import Errand
package import ErrandCommand

/// Codes that prove an address, links that reset a password, and invitations by mail.
package struct AccountsModule: Module {
    package let migrations = MigrationLine(
        module: "accounts", needs: ["notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package var fieldNames: [FieldName] { AccountFieldNames.all }
    package var commands: [Command] { AccountCommands.all }
    package let nouns = [
        "account": "Show codes, reset links and invitations; unlock addresses; set link templates"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        AccountKinds.add(to: &kinds)
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorAccounts.findings(of: context)
    }
}
