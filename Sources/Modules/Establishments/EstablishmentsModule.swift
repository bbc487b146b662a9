package import ErrandCommand

/// The businesses of coupons and missions, and the locations of their branches.
package struct EstablishmentsModule: Module {
    package let migrations = MigrationLine(
        module: "establishments", needs: ["ledger", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let extensions = ["postgis", "btree_gist"]
    package var fieldNames: [FieldName] { EstablishmentFieldNames.all }
    package var commands: [Command] { EstablishmentCommands.all }
    package let nouns = ["establishment": "Show establishments, their branches and payments"]

    package init() {}
}
