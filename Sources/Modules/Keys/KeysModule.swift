package import ErrandCommand

/// The keys that seal small secrets in the database; it keeps nothing itself.
package struct KeysModule: Module {
    package let migrations = MigrationLine(module: "keys", files: [])
    package var fieldNames: [FieldName] { KeyFieldNames.all }
    package var commands: [Command] { KeyCommands.all }
    package let nouns = [
        "key": "Make and list the keys that seal secrets in the database, and change them"
    ]

    package let variables: [VariableName] = [
        (KeySettings.variable, "A file of the keys that seal secrets, one a line: NAME BASE64.")
    ]

    package init() {}

    package func findings(of checkup: Checkup) async -> [Finding] {
        await DoctorKeys.findings(of: checkup)
    }
}
