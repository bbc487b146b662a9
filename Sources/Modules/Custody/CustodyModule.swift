package import ErrandCommand

/// The destruction of all customer data when a service ends, and its transfer to another company.
package struct CustodyModule: Module {
    package let migrations = MigrationLine(
        module: "custody", needs: ["people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package var commands: [Command] { DestructionCommands.all + TransferCommands.all }
    package var fieldNames: [FieldName] { CustodyFieldNames.all }
    package let nouns = [
        "destruction": "Destroy all customer data when the service ends; needs two operators",
        "transfer": "Export all data, sealed for another company, and import it there",
    ]

    package init() {}
}
