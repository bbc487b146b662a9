package import ErrandCommand

/// The keys that seal secrets in the database; the module has no tables.
package struct KeysModule: Module {
    package let migrations = MigrationLine(module: "keys", files: [])
    package var fieldNames: [FieldName] { KeyFieldNames.all }
    package var commands: [Command] { KeyCommands.all }
    package let nouns = [
        "key": "Create, list and rotate the keys that seal secrets in the database"
    ]

    package let variables: [VariableName] = [
        (KeySettings.variable, "The key file, which seals secrets; one key per line: NAME BASE64.")
    ]

    package init() {}

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorKeys.findings(of: context)
    }
}
